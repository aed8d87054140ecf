"""The machine as files, tools and variables. Tests give a folder as root and scripts as tools."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, Union

from ascend_workbook.environment.process import Process
from ascend_workbook.findings.errors import explain_os_error
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine import bounded

PROJECT = Path(__file__).resolve().parents[2]
Value = TypeVar("Value")
#: Arguments of a finding's sentence.
Args = dict[str, Scalar]


@dataclass(frozen=True)
class Untold:
    """A fact that could not be told, and why; `key` and `args` make the sentence."""

    key: str
    args: dict[str, Scalar] = field(default_factory=dict)


Told = Union[Value, Untold]


def require_fact(value: Told[Value]) -> Value:
    """Return the value; where it could not be told, the rule that asks becomes SKIPPED with the reason."""
    if isinstance(value, Untold):
        raise CannotCheck(value.key, **value.args)
    return value


def shorten_path(path: str) -> str:
    """Return a path as a report shows it: short below the project or the home folder, whole elsewhere. Facts keep it
    whole.
    """
    bases = ((PROJECT, ""), (Path.home(), "~/")) if (PROJECT / "pyproject.toml").is_file() else ((Path.home(), "~/"),)
    for base, prefix in bases:
        if Path(path).is_absolute() and Path(path).is_relative_to(base):
            return prefix + Path(path).relative_to(base).as_posix()
    return path


@dataclass(frozen=True)
class System:
    """`root` stands before every path read; tools are looked up on the PATH of `environ`.

    Everything the check learns comes through here: files, tools, variables, and what `process` says.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    timeout_s: float = 10.0
    process: Process = field(default_factory=Process)

    def path_of(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def name_of(self, path: Path) -> str:
        """Return the name on the machine of a path under the root."""
        return "/" + path.relative_to(self.root.resolve()).as_posix() if self.root != Path("/") else str(path)

    def read_file(self, name: str) -> Told[str]:
        """Read the text of a file in /proc, /sys or /etc."""
        try:
            return self.path_of(name).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return Untold("untold.file", {"path": name, "error": explain_os_error(error)})

    def text_or_empty(self, name: str) -> str:
        """Read a file that need not exist; an empty text where there is none."""
        text = self.read_file(name)
        return "" if isinstance(text, Untold) else text

    def glob_names(self, pattern: str) -> list[str]:
        """Return absolute names (without the root) that match, sorted."""
        paths: Iterable[Path] = self.root.glob(pattern.lstrip("/"))
        return sorted("/" + path.relative_to(self.root).as_posix() for path in paths)

    def find_tool(self, tool: str) -> str | None:
        return shutil.which(tool, path=self.environ.get("PATH"))

    def run_tool(self, name: str, *args: str) -> Told[bounded.Output]:
        """Run a tool of the PATH with a time limit and plain English output."""
        program = self.find_tool(name)
        if program is None:
            return Untold("untold.no_tool", {"tool": name})
        try:
            done = bounded.run_bounded(
                [program, *args], env={**self.environ, "LC_ALL": "C", "LANG": "C"}, timeout_s=self.timeout_s
            )
        except OSError as error:
            return Untold("untold.tool", {"tool": name, "error": explain_os_error(error)})
        if done.timed_out:
            return Untold("untold.timeout", {"tool": name, "seconds": f"{self.timeout_s:g}"})
        return done
