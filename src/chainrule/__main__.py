"""The command: `chainrule`, or `python -m chainrule`, where it is not on the path.

An installer's script imports this and does a little work of its own before it calls `main`: Ctrl-C is ours at once.
"""

import sys

from chainrule.cli import main, ready

ready()
if __name__ == "__main__":
    sys.exit(main())
