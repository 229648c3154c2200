"""The command ``mimetic``."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and give its exit status."""
    raise NotImplementedError
