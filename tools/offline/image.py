"""The wheels that a notebook needs in an image that has torch: of the image's Python and processor, never an engine.

pip alone would take markers (`python_version < "3.11"`) from the Python that it runs in; tools/resolve.py has a pip
that takes them from the image's.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.machine.packages import (
    ENGINE,
    STARTERS,
    make_constraints,
    normalize_name,
    read_requirements,
)
from tools import bootstrap
from tools.resolve import MACHINES, PYTHONS, pip_words

#: What runs notebooks without a browser; whatever else starts or compares notebooks stays out.
HEADLESS = "papermill"


def wanted_machine(kind: str) -> dict[str, str]:
    """Return `3.11-aarch64` as install.py asks for a machine. Raises SetupError."""
    python, _, machine = kind.partition("-")
    if python not in PYTHONS or machine not in MACHINES:
        raise bootstrap.SetupError(
            f"{kind!r} is no Python and processor.",
            f"Give such as 3.11-aarch64: one of {', '.join(PYTHONS)} and one of {', '.join(MACHINES)}.",
        )
    return {"implementation": "CPython", "python": python, "system": "Linux", "machine": machine}


def download_image_wheels(wheels: Path, machine: Mapping[str, str], installed: Path | None) -> None:
    """Download the wheels, and those that they need; less what the image has, where `installed` names it.

    Raises SetupError where pip finds none that fit, where a torch would come along, and for a list that is none.
    """
    image = read_pip_list(installed) if installed else {}
    held = wheels / "held.txt"
    held.write_text(make_constraints(image), encoding="utf-8")
    needed = [name for name in read_requirements() if name not in STARTERS or name == HEADLESS]
    lines = [read_requirements()[name] for name in needed if name not in image]
    command = [
        *pip_words(machine["machine"], machine["python"], "download"),
        "--quiet",
        "--dest",
        str(wheels),
        "-c",
        str(held),
    ]
    if lines and subprocess.run([*command, *lines], check=False).returncode:
        raise bootstrap.SetupError(
            f"pip found no wheels that fit: Python {machine['python']}, {machine['machine']}.",
            "Its lines above name the package; PIP_INDEX_URL takes another index.",
        )
    held.unlink()
    names = {path: normalize_name(path.name.partition("-")[0]) for path in wheels.glob("*.whl")}
    engines = sorted(path.name for path, name in names.items() if name in ENGINE and name not in image)
    if engines:
        raise bootstrap.SetupError(
            f"a package asks for {engines[0]}, which belongs to the image.",
            "Give --installed with what the image has, torch among it.",
        )
    for path, name in names.items():
        if name in image:
            path.unlink()


def read_pip_list(file: Path) -> dict[str, str]:
    """Return name to version of `pip list --format=freeze`. Raises SetupError where it is another list, or none."""
    try:
        lines = file.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise bootstrap.SetupError(f"{file}: {error}", "Give the file that pip list wrote there.") from error
    parts = [line.partition("==") for line in lines]
    versions = {normalize_name(name): version for name, _, version in parts if version}
    if not versions or len(versions) != len(lines):
        raise bootstrap.SetupError(
            f"{file} is no list of packages.", "Write it there: python -m pip list --format=freeze > FILE"
        )
    return versions
