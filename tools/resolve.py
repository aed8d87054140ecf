"""Asks pip which wheels each Python would take on each kind of machine, and prints a table. Installs nothing.

    python -m tools.resolve [--python 3.9 --python 3.11] [--machine aarch64] [--json FILE]

pip takes tags from --platform, but markers (`platform_machine == "x86_64"`, `python_version < "3.10"`) from the Python
it runs in: resolved elsewhere they would answer for the wrong machine. So pip is started in a child that is told the
environment asked for, and the report it writes must name that environment, or the answer is thrown away.
What an index lacks is said of that index: another may have it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")
MACHINES = ("aarch64", "x86_64")
#: Newest first, as pip asks for them; 2.28 is what torch_npu's wheels from 2.7.1 on need.
GLIBCS = ("2_28", "2_27", "2_26", "2_24", "2_17")
LIMIT_S = 600
#: pip as it is, with the markers' environment replaced.
PIP = """
import sys
from pip._vendor.packaging import markers
real, changes = markers.default_environment, {changes!r}
markers.default_environment = lambda: dict(real(), **changes)
from pip._internal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Answer:
    """What pip would install; or `why` it cannot, in its own words."""

    machine: str
    python: str
    what: str
    packages: dict[str, str]
    why: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--python", action="append", choices=PYTHONS, help="only this Python (may be repeated)")
    parser.add_argument("--machine", action="append", choices=MACHINES, help="only this machine (may be repeated)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every package's version too")
    args = parser.parse_args(arguments)
    answers = [
        answer
        for machine in args.machine or MACHINES
        for python in args.python or PYTHONS
        for answer in (requirements(machine, python), pair(machine, python))
    ]
    print(table(answers))
    if args.json:
        args.json.write_text(json.dumps([vars(one) for one in answers], indent=1) + "\n", encoding="utf-8")
    return 1 if any(one.why for one in answers if one.what == "requirements.txt") else 0


def requirements(machine: str, python: str) -> Answer:
    """requirements.txt with all it brings."""
    return ask(machine, python, "requirements.txt", ["-r", str(ROOT / "requirements.txt")])


def pair(machine: str, python: str) -> Answer:
    """The two of requirements-torch.txt alone: an image brings its own."""
    return ask(machine, python, "requirements-torch.txt", ["--no-deps", "-r", str(ROOT / "requirements-torch.txt")])


def ask(machine: str, python: str, what: str, options: list[str]) -> Answer:
    """One dry run of pip. Raises RuntimeError where pip answered for another environment."""
    changes = environment(machine, python)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [*pip(machine, python, "install"), "--quiet", "--dry-run", "--ignore-installed", "--target", folder,
                   "--report", str(report), *options]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            return Answer(machine, python, what, {}, error(done.stderr))
        found = json.loads(report.read_text(encoding="utf-8"))
    if any(found["environment"][name] != value for name, value in changes.items()):
        raise RuntimeError(f"pip answered for {found['environment']}, asked for {changes}")
    named = (each["metadata"] for each in found["install"])
    return Answer(machine, python, what, {each["name"]: each["version"] for each in named})


def environment(machine: str, python: str) -> dict[str, str]:
    """What markers are to see: a Linux with this Python on this machine."""
    return {"platform_machine": machine, "python_version": python, "python_full_version": f"{python}.0",
            "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}  # fmt: skip


def pip(machine: str, python: str, action: str) -> list[str]:
    """The words of a pip that answers for that machine: its `install` or `download`, of wheels alone."""
    return [sys.executable, "-c", PIP.format(changes=environment(machine, python)), action, "--only-binary=:all:",
            "--python-version", python, *platforms(machine)]  # fmt: skip


def platforms(machine: str) -> list[str]:
    """pip's options for wheels that a system with glibc 2.28 takes."""
    tags = [*(f"manylinux_{glibc}_{machine}" for glibc in GLIBCS), f"manylinux2014_{machine}"]
    return [part for tag in tags for part in ("--platform", tag)]


def error(text: str) -> str:
    """pip's last line that names what it could not find."""
    lines = [line for line in text.splitlines() if line.startswith("ERROR:")]
    named = [line for line in lines if "No matching distribution" in line] or lines
    return (named or text.strip().splitlines() or ["pip said nothing"])[-1].replace("ERROR: ", "")[:160]


def table(answers: Sequence[Answer]) -> str:
    """Markdown: a row per machine, Python and file."""
    shown = ("numpy", "papermill", "mindstudio-probe", "torch", "torch_npu", "torch-npu")
    lines = ["| machine | Python | file | packages | of them |", "|---|---|---|---|---|"]
    for one in answers:
        some = ", ".join(f"{name} {one.packages[name]}" for name in shown if name in one.packages)
        count = str(len(one.packages)) if not one.why else "**none**"
        lines.append(f"| {one.machine} | {one.python} | {one.what} | {count} | {one.why or some} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
