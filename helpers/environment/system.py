"""The machine as files, tools and variables. Tests give a folder as root and scripts as tools."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, Union

from helpers import bounded
from helpers.environment.process import Process
from helpers.errors import reason
from helpers.rules import CannotCheck
from helpers.words import Scalar

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


def told(value: Told[Value]) -> Value:
    """The value; where it could not be told, the rule that asks becomes SKIPPED with the reason."""
    if isinstance(value, Untold):
        raise CannotCheck(value.key, **value.args)
    return value


def shown(path: str) -> str:
    """A path as a report shows it: short below the project or the home folder, whole elsewhere. Facts keep it whole."""
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

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def name(self, path: Path) -> str:
        """The name on the machine of a path under the root."""
        return "/" + path.relative_to(self.root.resolve()).as_posix() if self.root != Path("/") else str(path)

    def read(self, name: str) -> Told[str]:
        """The text of a file in /proc, /sys or /etc."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return Untold("untold.file", {"path": name, "error": reason(error)})

    def text(self, name: str) -> str:
        """As `read`, with an empty text where there is none: for files that need not exist."""
        found = self.read(name)
        return "" if isinstance(found, Untold) else found

    def glob(self, pattern: str) -> list[str]:
        """Absolute names (without the root) that match, sorted."""
        found: Iterable[Path] = self.root.glob(pattern.lstrip("/"))
        return sorted("/" + path.relative_to(self.root).as_posix() for path in found)

    def which(self, tool: str) -> str | None:
        return shutil.which(tool, path=self.environ.get("PATH"))

    def tool(self, name: str, *args: str) -> Told[bounded.Output]:
        """Runs a tool of the PATH with a time limit and plain English output."""
        program = self.which(name)
        if program is None:
            return Untold("untold.no_tool", {"tool": name})
        try:
            done = bounded.run(
                [program, *args], env={**self.environ, "LC_ALL": "C", "LANG": "C"}, timeout_s=self.timeout_s
            )
        except OSError as error:
            return Untold("untold.tool", {"tool": name, "error": reason(error)})
        if done.timed_out:
            return Untold("untold.timeout", {"tool": name, "seconds": f"{self.timeout_s:g}"})
        return done
