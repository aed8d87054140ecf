"""Options of ours that stand behind a script: argparse gives them to the script."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

#: What runs: all that stands before one of these belongs to a launcher.
SCRIPTS = (".py", ".pyw", ".ipynb", ".sh", ".bash")
MOST_MODULES, LARGEST_BYTES = 50, 1 << 20


def find_swallowed(args: argparse.Namespace, line: list[str]) -> tuple[str, list[str]]:
    """Return a script, and the words behind it that are options of ours: the script got them and does not know them.

    None where the command line has a `--`, which argparse may not keep: all behind it is the script's. Nor for an
    option that the script's text names.
    """
    script = getattr(args, "script", None) or []
    words = [*([script] if isinstance(script, str) else script), *getattr(args, "args", [])]
    at = next((at for at, word in enumerate(words) if word.endswith(SCRIPTS)), len(words))
    if "--" in line or at == len(words):
        return "", []
    option_words = [word.partition("=")[0] for word in words[at + 1 :] if word.startswith("--")]
    text = _read_script(Path(words[at])) if option_words else ""
    return words[at], [word for word in dict.fromkeys(option_words) if word in args.own and not _has_option(text, word)]


def _read_script(script: Path) -> str:
    """Return the script with the modules of its folder that it imports; empty where it cannot be read."""
    from ascend_workbook.migration.closure import list_imported_modules

    try:
        files = list_imported_modules(script)[:MOST_MODULES] if script.suffix == ".py" else [script]
        return "\n".join(file.read_bytes()[:LARGEST_BYTES].decode("utf-8", "replace") for file in files)
    except OSError:
        return ""


def _has_option(text: str, option: str) -> bool:
    """Return whether the text has the option: in quotes (argparse, click, absl), as a field or as an argument."""
    plain, name = re.escape(option.lstrip("-")), re.escape(option.lstrip("-").replace("-", "_"))
    quoted = rf"['\"]--?(?:{plain}|{name})\b|['\"]{name}['\"]"
    return re.search(rf"{quoted}|^[ \t]+{name}[ \t]*:|\bdef\b[^\n]*\b{name}\b", text, re.MULTILINE) is not None
