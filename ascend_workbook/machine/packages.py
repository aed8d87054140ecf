"""The workbook's packages in the Python that runs: which are missing, and how pip adds them.

What is installed stays as it is, above all an image's pair: every installed version goes to pip as a constraint; pip's
own plan is read before anything is installed and refused where it would change something; and what was there is looked
at again afterwards.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar

PROJECT = Path(__file__).resolve().parents[2]
#: What starts, builds or compares notebooks; one that is running needs none of them.
STARTERS = ("jupyterlab", "ipykernel", "papermill", "nbval", "jupytext")


def read_requirements() -> dict[str, str]:
    """Return each name with pip's requirement (`msgspec<1,>=0.18`); empty without requirements.txt."""
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


def fitting_companion(name: str, torch: str | None = None) -> str:
    """Return the requirement of a package that must be of torch's release, where it is known; else its name.

    torchvision 0.N goes with torch 2.(N-15) (https://github.com/pytorch/vision#installation), torchaudio had torch's
    own number until 2.8 (https://github.com/pytorch/audio).
    """
    release = re.match(r"2\.(\d+)\.", installed_versions().get("torch", "") if torch is None else torch)
    minor = int(release[1]) if release else -1
    if name == "torchvision" and minor >= 0:
        return f"torchvision==0.{minor + 15}.*"
    return f"torchaudio==2.{minor}.*" if name == "torchaudio" and 0 <= minor <= 8 else name


def _parse_numbers(version: str) -> list[int]:
    """Return a version's numbers: `3.10.0rc1` -> 3, 10, 0; without one nothing, older than everything."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return [int(part) for part in leading[0].split(".")] if leading else []


def normalize_name(name: str) -> str:
    """Return the one spelling for a distribution's name: `torch_npu`."""
    return name.lower().replace("-", "_")


#: What pip never brings here: a notebook's kernel has its pair, or is the wrong kernel.
ENGINE = ("torch", "torch_npu", "torchvision", "torchaudio")
#: The packages and what they need unpacked, with pip's temporary copies; below, pip would stop in the middle.
LEAST_FREE_MIB = 400
#: Below this pip keeps no copies of what it downloads.
CACHE_FREE_MIB = 2048
#: Versions that pip takes as a constraint (PEP 440); images hold others too (`2.1.16.2ae09d45`), which no index has.
VERSION = re.compile(r"(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+([._-][a-z0-9]+)*)?", re.I)
#: Wheels that an archive made for this image has beside the package (tools/offline).
WHEELS = PROJECT / "wheels"
#: What a line of pip on a connection that failed holds.
CONNECTION = re.compile(r"connection broken|Connection(Error|Refused)|NewConnectionError|Timeout|ProxyError|SSLError")


def add(names: Sequence[str]) -> list[str]:
    """Install the packages into this Python and return `name version` of all that came.

    pip's settings (PIP_NO_INDEX, PIP_FIND_LINKS among them), the proxy's variables and ASCEND_WORKBOOK_MIRROR hold;
    wheels that came along are taken, without asking an index unless a mirror is named. Raises WorkbookError
    `packages.no_torch`, `packages.no_room`, `packages.mirror`, `packages.pip`, `packages.wheels` (pip's failure with
    wheels that came along) and, where something would change, `packages.would_change`.
    """
    before = installed_versions()
    if "torch" not in before:
        raise WorkbookError("packages.no_torch", python=sys.prefix, names=[*names])
    environ = {**os.environ, **mirror_settings()}
    lines = read_requirements()
    with tempfile.TemporaryDirectory(prefix="held-") as work:
        held = Path(work, "held.txt")
        held.write_text(make_constraints(before), encoding="utf-8")
        options = ["-c", str(held), *options_for_room()]
        if any(WHEELS.glob("*.whl")):  # without a network an index would be asked for minutes; a named mirror is asked
            options += ["--find-links", str(WHEELS), *([] if environ.get("ASCEND_WORKBOOK_MIRROR") else ["--no-index"])]
        options += [lines[name] for name in names]
        _run_pip(["--dry-run", "--report", str(Path(work, "plan.json")), *options], environ)
        items = json.loads(Path(work, "plan.json").read_text(encoding="utf-8"))["install"]
        plan = {normalize_name(item["metadata"]["name"]): item["metadata"]["version"] for item in items}
        wrong = {name: version for name, version in plan.items() if name in before or name in ENGINE}
        if wrong:
            changes = [f"{name} {before.get(name, '-')} -> {version}" for name, version in wrong.items()]
            raise WorkbookError("packages.would_change", changes=list[Scalar](changes))
        _run_pip(options, environ)
    # pip installs into the user's folder where this Python's own cannot be written; a kernel that began before that
    # folder existed does not look there
    folder = site.getusersitepackages()
    if site.ENABLE_USER_SITE and folder not in sys.path and Path(folder).is_dir():
        site.addsitedir(folder)
    importlib.invalidate_caches()
    after = installed_versions()
    changed = [name for name, version in before.items() if after.get(name) != version]
    if changed:
        raise WorkbookError("packages.changed", names=changed)
    return [f"{name} {version}" for name, version in sorted(after.items()) if name not in before]


def make_constraints(before: Mapping[str, str]) -> str:
    """Return pip's constraints: all that is installed, as it is."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(before.items()) if VERSION.fullmatch(version))


def options_for_room() -> list[str]:
    """Return pip's option for a disk that is short of room. Raises `packages.no_room` where it would not do."""
    for place in (Path(sysconfig.get_path("purelib")), Path(tempfile.gettempdir())):
        free = shutil.disk_usage(place).free >> 20
        if free < LEAST_FREE_MIB:
            raise WorkbookError("packages.no_room", path=str(place), free=free, least=LEAST_FREE_MIB)
    return ["--no-cache-dir"] if shutil.disk_usage(Path.home()).free >> 20 < CACHE_FREE_MIB else []


def mirror_settings() -> dict[str, str]:
    """Return what ASCEND_WORKBOOK_MIRROR means to pip: set-up's file, which is started by path, is run here."""
    set_up = runpy.run_path(str(PROJECT / "tools" / "bootstrap.py"))
    try:
        settings: dict[str, str] = set_up["mirror_settings"](os.environ.get(set_up["MIRROR"], ""))
    except set_up["SetupError"] as error:
        raise WorkbookError("packages.mirror", said=" ".join(map(str, error.args))) from error
    return settings


def _run_pip(words: Sequence[str], environ: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=dict(environ), check=False)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or [f"pip: {done.returncode}"]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        # pip warns of a connection that failed, and its errors then name no reason
        failed = [line[:400] for line in lines if CONNECTION.search(line) and line not in errors[-2:]]
        summary = " / ".join([*failed[-1:], *errors[-2:]])[-1000:]
        if str(WHEELS) in words:
            raise WorkbookError("packages.wheels", said=summary, path=str(WHEELS))
        raise WorkbookError("packages.pip", said=summary)
