"""What requirements.txt asks for, and what this Python has."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
#: What starts, builds or compares notebooks; one that is running needs none of them.
STARTERS = ("jupyterlab", "ipykernel", "papermill", "nbval", "jupytext")


def required() -> dict[str, str]:
    """Name to pip's requirement (`msgspec<1,>=0.18`); empty where requirements.txt is not beside the package."""
    file = PROJECT / "requirements.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = (re.match(r"([\w\-.]+)[^\s#]*", line) for line in lines if not line.startswith("#"))
    return {spelled(one[1]): one[0] for one in found if one}


def installed() -> dict[str, str]:
    """Name to version of every installed distribution; of two with one name that which an import would find."""
    folders = [entry for entry in sys.path if not entry.endswith("_vendor")]  # setuptools adds its private copies
    found = [(each.metadata["Name"], each.version) for each in metadata.distributions(path=folders)]
    return {spelled(name): version for name, version in reversed(found) if name and version}


def lacking() -> list[str]:
    """What a running notebook needs and this Python has not."""
    here = installed()
    return [name for name in required() if name not in here and name not in STARTERS]


def older() -> list[str]:
    """`matplotlib 3.5.1 (>=3.9,<4)`: what a running notebook uses and this Python has older than asked."""
    here, found = installed(), []
    for name, line in required().items():
        least = re.search(r">=([\d.]+)", line)
        if name in here and name not in STARTERS and least and _numbers(here[name]) < _numbers(least[1]):
            found.append(f"{name} {here[name]} ({line[len(name):]})")
    return found


def _numbers(version: str) -> list[int]:
    """`3.10.0rc1` -> 3, 10, 0; without a number nothing, which is older than everything."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return [int(part) for part in leading[0].split(".")] if leading else []


def spelled(name: str) -> str:
    """One spelling for a distribution's name: `torch_npu`."""
    return name.lower().replace("-", "_")
