"""Entry point of the command `ascend-workbook`.

It stands outside the package so that a user's own `helpers.py` on PYTHONPATH or in the current folder cannot take
the place of ours: our folder goes first on this process's path before anything of ours is imported.
"""

import sys
from pathlib import Path


def main() -> int:
    """Runs the verb; the exit code (0 good, 1 the verdict is FAIL, 2 could not run)."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from helpers.__main__ import main as run_verb

    return run_verb()


if __name__ == "__main__":
    sys.exit(main())
