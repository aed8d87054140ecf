"""What requirements.txt asks for, and what this Python has."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
#: What starts, builds or compares notebooks; one that is running needs none of them.
STARTERS = ("jupyterlab", "ipykernel", "papermill", "nbval", "jupytext")


def read_requirements() -> dict[str, str]:
    """Return each name with pip's requirement (`msgspec<1,>=0.18`); empty where requirements.txt is not beside the
    package.
    """
    file = PROJECT / "requirements.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    matches = (re.match(r"([\w\-.]+)[^\s#]*", line) for line in lines if not line.startswith("#"))
    return {normalize_name(match[1]): match[0] for match in matches if match}


def installed_versions() -> dict[str, str]:
    """Return name to version of every installed distribution; of two with one name the one an import would find."""
    folders = [entry for entry in sys.path if not entry.endswith("_vendor")]  # setuptools adds its private copies
    pairs = [
        (distribution.metadata["Name"], distribution.version) for distribution in metadata.distributions(path=folders)
    ]
    return {normalize_name(name): version for name, version in reversed(pairs) if name and version}


def missing_packages() -> list[str]:
    """Return what a running notebook needs and this Python has not."""
    here = installed_versions()
    return [name for name in read_requirements() if name not in here and name not in STARTERS]


def outdated_packages() -> list[str]:
    """Return `matplotlib 3.5.1 (>=3.9,<4)`: what a running notebook uses and this Python has older than asked."""
    here, outdated = installed_versions(), []
    for name, line in read_requirements().items():
        least = re.search(r">=([\d.]+)", line)
        if name in here and name not in STARTERS and least and _parse_numbers(here[name]) < _parse_numbers(least[1]):
            outdated.append(f"{name} {here[name]} ({line[len(name) :]})")
    return outdated


def _parse_numbers(version: str) -> list[int]:
    """Return the numbers of a version: `3.10.0rc1` -> 3, 10, 0; without a number nothing, which is older than
    everything.
    """
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return [int(part) for part in leading[0].split(".")] if leading else []


def normalize_name(name: str) -> str:
    """Return the one spelling for a distribution's name: `torch_npu`."""
    return name.lower().replace("-", "_")
