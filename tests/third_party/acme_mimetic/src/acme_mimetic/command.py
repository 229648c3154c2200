"""A command."""

import argparse


def run(argv: list[str]) -> int:
    """Greet."""
    parser = argparse.ArgumentParser("mimetic acme-hello", description="Greet from Acme.")
    parser.add_argument("names", metavar="NAME", nargs="*", help="whom")
    print("hello from acme", *parser.parse_args(argv).names)
    return 0
