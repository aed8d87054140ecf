"""What a repository has beside Python files: launch scripts, requirements, settings, notebooks.

shell.py, requirements.py, settings.py and containers.py judge lines of text and have CODE, KNOWN and `check(source)`
like a rule file; requirements.py also tells which lines are requirements, pins.py which torch they ask for.
notebook.py gives a notebook's cells to the Python rules, embedded.py the Python inside launch scripts;
read_cell tells Python from IPython's magics and shell commands.
"""

from __future__ import annotations

from pathlib import Path

from ascend_workbook.migration.reading.source import Source, decode_bytes
from ascend_workbook.migration.reading.undecoded import LARGEST_BYTES, Unreadable, guess_encoding, refuse_large
from ascend_workbook.migration.texts.lines import is_text, scan_lines, text_source

__all__ = ["decode_text", "is_text", "read_text", "scan_text", "text_source"]
scan_text = scan_lines
#: A notebook holds the pictures that it drew.
LARGEST_NOTEBOOK_BYTES = 64 << 20


def read_text(file: Path, name: str) -> Source:
    """A text in its own encoding: a shell asks for none. Raises Unreadable or OSError."""
    is_notebook = file.suffix == ".ipynb"
    refuse_large(file.stat().st_size, LARGEST_NOTEBOOK_BYTES if is_notebook else LARGEST_BYTES)
    data = file.read_bytes()
    text, encoding, bom = decode_bytes(data) if is_notebook else decode_text(data)
    return text_source(text, name, encoding, bom, file)


def decode_text(data: bytes) -> tuple[str, str, bytes]:
    """Decode text that is no Python; every byte is a character of Latin-1. Raises Unreadable for UTF-16."""
    try:
        return decode_bytes(data)
    except Unreadable:
        if b"\0" in data:
            raise
    encoding = guess_encoding(data) or "latin-1"
    return data.decode(encoding), encoding, b""
