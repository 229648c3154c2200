"""``python -m mimetic`` is the command ``mimetic``."""

import sys

from mimetic.cli import main

if __name__ == "__main__":
    sys.exit(main())
