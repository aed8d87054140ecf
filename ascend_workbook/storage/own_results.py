"""What the workbook writes is no code of the user's: a folder of results carries a mark, by which a scan of the project
around it leaves it out. Otherwise each run would find, and judge, what the one before it wrote.
"""

from __future__ import annotations

from pathlib import Path

MARK = ".ascend-workbook-results"


def mark_results(folder: Path) -> None:
    """Make the folder, where it is not there, and mark it as one of results."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()


def is_marked(folder: Path) -> bool:
    return (folder / MARK).exists()
