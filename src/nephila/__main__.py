"""`python -m nephila`."""

import sys

from nephila.cli import main

if __name__ == "__main__":
    sys.exit(main())
