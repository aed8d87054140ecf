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
        for answer in (resolve_requirements(machine, python), resolve_pair(machine, python))
    ]
    print(render_table(answers))
    if args.json:
        args.json.write_text(json.dumps([vars(answer) for answer in answers], indent=1) + "\n", encoding="utf-8")
    return 1 if any(answer.why for answer in answers if answer.what == "requirements.txt") else 0


def resolve_requirements(machine: str, python: str) -> Answer:
    """Resolve requirements.txt with all it brings."""
    return ask_pip(machine, python, "requirements.txt", ["-r", str(ROOT / "requirements.txt")])


def resolve_pair(machine: str, python: str) -> Answer:
    """Resolve the two of requirements-torch.txt alone: an image brings its own."""
    return ask_pip(machine, python, "requirements-torch.txt", ["--no-deps", "-r", str(ROOT / "requirements-torch.txt")])


def ask_pip(machine: str, python: str, what: str, options: list[str]) -> Answer:
    """Make one dry run of pip. Raises RuntimeError where pip answered for another environment."""
    changes = marker_environment(machine, python)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [
            *pip_words(machine, python, "install"),
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--target",
            folder,
            "--report",
            str(report),
            *options,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            return Answer(machine, python, what, {}, find_error(done.stderr))
        report_read = json.loads(report.read_text(encoding="utf-8"))
    if any(report_read["environment"][name] != value for name, value in changes.items()):
        raise RuntimeError(f"pip answered for {report_read['environment']}, asked for {changes}")
    named = (metadata["metadata"] for metadata in report_read["install"])
    return Answer(machine, python, what, {metadata["name"]: metadata["version"] for metadata in named})


def marker_environment(machine: str, python: str) -> dict[str, str]:
    """Return what markers are to see: a Linux with this Python on this machine."""
    return {
        "platform_machine": machine,
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
    }


def pip_words(machine: str, python: str, action: str) -> list[str]:
    """Return the words of a pip that answers for that machine: its `install` or `download`, of wheels alone."""
    return [
        sys.executable,
        "-c",
        PIP.format(changes=marker_environment(machine, python)),
        action,
        "--only-binary=:all:",
        "--python-version",
        python,
        *platform_options(machine),
    ]


def platform_options(machine: str) -> list[str]:
    """Return pip's options for wheels that a system with glibc 2.28 takes."""
    tags = [*(f"manylinux_{glibc}_{machine}" for glibc in GLIBCS), f"manylinux2014_{machine}"]
    return [part for tag in tags for part in ("--platform", tag)]


def find_error(text: str) -> str:
    """Return pip's last line that names what it could not find."""
    lines = [line for line in text.splitlines() if line.startswith("ERROR:")]
    named = [line for line in lines if "No matching distribution" in line] or lines
    return (named or text.strip().splitlines() or ["pip said nothing"])[-1].replace("ERROR: ", "")[:160]


def render_table(answers: Sequence[Answer]) -> str:
    """Return a table in Markdown: a row per machine, Python and file."""
    shown = ("numpy", "papermill", "mindstudio-probe", "torch", "torch_npu", "torch-npu")
    lines = ["| machine | Python | file | packages | of them |", "|---|---|---|---|---|"]
    for answer in answers:
        some = ", ".join(f"{name} {answer.packages[name]}" for name in shown if name in answer.packages)
        count = str(len(answer.packages)) if not answer.why else "**none**"
        lines.append(f"| {answer.machine} | {answer.python} | {answer.what} | {count} | {answer.why or some} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
