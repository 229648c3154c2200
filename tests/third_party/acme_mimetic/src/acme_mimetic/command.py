"""A command."""


def run(argv: list[str]) -> int:
    """Greet."""
    print("hello from acme", *argv)
    return 0
