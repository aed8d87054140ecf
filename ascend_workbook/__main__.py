"""`python -m ascend_workbook`, or this folder's path, is the command `ascend-workbook`."""

import sys
from pathlib import Path

if not __package__:  # started by the folder's path: imports begin where the folder lies, not inside it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

try:
    from ascend_workbook.cli.main import main
except KeyboardInterrupt:  # stopped before there is a command that could say so
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
