"""`python -m chainrule.cli` is `chainrule`."""

import sys

from chainrule.cli import main

if __name__ == "__main__":
    sys.exit(main())
