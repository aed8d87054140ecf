"""What is varied: arguments of the script, of its DataLoaders, and the precision; every combination is one run.

`batch-size=8,16,32` gives the script `--batch-size 8` and so on; `batch-size=8..1024` doubles until memory runs out;
`amp` runs without and with `--amp`; `-b=8,16` and `--lr=1,2` are taken as they are written. `TASK_QUEUE_ENABLE=1,2`
varies the environment; values that hold commas are parted by `|`, and `unset` takes the variable away."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar

DOUBLING = re.compile(r"(\d+)\.\.(\d+)")
#: Our name -> DataLoader's argument
LOADER = {"workers": "num_workers", "pin_memory": "pin_memory", "prefetch_factor": "prefetch_factor"}
AUTOCAST = "autocast"
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
UNSET = "unset"
MOST = 64


@dataclass(frozen=True)
class Axis:
    """`kind`: argument (of the script), loader, environment, or autocast. `doubling`: the first that runs out of memory
    ends it."""

    name: str
    kind: str
    values: tuple[Scalar, ...]
    doubling: bool = False


@dataclass(frozen=True)
class Configuration:
    """One combination: words for the script's command line, arguments for its DataLoaders, autocast or not; variables
    of its environment (None: without it), and `child`: what the run's plugin sets in the process."""

    name: str
    settings: dict[str, Scalar] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    loader: dict[str, Scalar] = field(default_factory=dict)
    autocast: bool = False
    environment: dict[str, str | None] = field(default_factory=dict)
    child: dict[str, Scalar] = field(default_factory=dict)


def parse_axes(
    sweep: Sequence[str] = (), loader: Sequence[str] = (), autocast: bool = False, env: Sequence[str] = ()
) -> list[Axis]:
    """Parse what is to be varied; raises WorkbookError for what cannot be read, naming it."""
    parsed = [_parse_argument(text) for text in sweep] + [_parse_loader(text) for text in loader]
    parsed += [_parse_environment(text) for text in env]
    names = [axis.name for axis in parsed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise WorkbookError("benchmark.axis_twice", name=twice)
    return parsed + ([Axis(AUTOCAST, "autocast", (False, True))] if autocast else [])


def from_words(text: str) -> dict[str, object]:
    """Read one line such as `batch-size=8,16 workers=0,2 autocast TASK_QUEUE_ENABLE=1,2 preset=jemalloc` as the options
    sweep, loader, autocast, env (what is written in capitals) and preset."""
    words = shlex.split(text)
    loader = [word for word in words if word.partition("=")[0] in LOADER]
    env = [word for word in words if VARIABLE.fullmatch(word.partition("=")[0]) and "=" in word]
    preset = [word.partition("=")[2] for word in words if word.startswith("preset=")]
    others = [word for word in words if not word.startswith("preset=") and word != AUTOCAST]
    sweep = [word for word in others if word not in (*loader, *env)]
    return {"sweep": sweep, "loader": loader, "autocast": AUTOCAST in words, "env": env, "preset": preset}


def combine_axes(varied: Sequence[Axis]) -> list[Configuration]:
    """Return all combinations of the axes' values in the order given, the last axis fastest. Raises WorkbookError where
    there are too many."""
    many = list(itertools.islice(itertools.product(*(axis.values for axis in varied)), MOST + 1))
    if len(many) > MOST:
        raise WorkbookError("benchmark.too_many", most=MOST)
    return [_make_configuration(varied, values) for values in many]


def _make_configuration(varied: Sequence[Axis], values: tuple[Scalar, ...]) -> Configuration:
    """Make the configuration of one value for each axis."""
    settings = {axis.name.lstrip("-"): value for axis, value in zip(varied, values)}
    args: list[str] = []
    loader: dict[str, Scalar] = {}
    environment: dict[str, str | None] = {}
    for axis, value in zip(varied, values):
        if axis.kind == "argument":
            option = axis.name if axis.name.startswith("-") else f"--{axis.name}"
            args += [option, str(value)] if not isinstance(value, bool) else [option] * value
        elif axis.kind == "loader":
            loader[LOADER[axis.name]] = value
        elif axis.kind == "environment":
            environment[axis.name] = None if value == UNSET else str(value)
    words = ((name, ("off", "on")[value] if isinstance(value, bool) else value) for name, value in settings.items())
    title = ", ".join(f"{name}={word}" for name, word in words)
    return Configuration(title, settings, tuple(args), loader, settings.get(AUTOCAST) is True, environment)


def _parse_argument(text: str) -> Axis:
    """Parse an axis of the script's arguments: `batch-size=8,16`, `batch-size=8..1024` or `amp`."""
    name, equals, values = text.partition("=")
    if not name.strip("-"):
        raise WorkbookError("benchmark.bad_axis", given=text)
    if not equals:
        return Axis(name, "argument", (False, True))
    if doubling := DOUBLING.fullmatch(values):
        first, last = int(doubling[1]), int(doubling[2])
        if not 0 < first < last:
            raise WorkbookError("benchmark.bad_axis", given=text)
        sizes = tuple(str(first << power) for power in range(last.bit_length()) if first << power <= last)
        return Axis(name, "argument", sizes, doubling=True)
    words = tuple(word.strip() for word in values.split(","))
    if not all(words) or len(set(words)) < len(words):
        raise WorkbookError("benchmark.bad_axis", given=text)
    return Axis(name, "argument", words)


def _parse_environment(text: str) -> Axis:
    """Parse an axis of the environment: `TASK_QUEUE_ENABLE=1,2`; of values with commas `A=x:1,y:2|unset`."""
    name, equals, values = text.partition("=")
    words = tuple(word.strip() for word in values.split("|" if "|" in values else ","))
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or not equals or not all(words) or len(set(words)) < len(words):
        raise WorkbookError("benchmark.bad_variable", given=text)
    return Axis(name, "environment", words)


def _parse_loader(text: str) -> Axis:
    """Parse an axis of the DataLoaders: `workers=0,2`, `pin_memory` or `prefetch_factor=2,4`."""
    name, equals, values = text.partition("=")
    if name not in LOADER:
        raise WorkbookError("benchmark.no_loader_axis", given=name, known=list(LOADER))
    if name == "pin_memory" and not equals:
        return Axis(name, "loader", (False, True))
    words = [part.strip() for part in values.split(",")]
    switches = {"on": True, "off": False}
    if name == "pin_memory" and set(words) <= set(switches):
        return Axis(name, "loader", tuple(switches[word] for word in words))
    if name == "pin_memory" or not all(word.isdecimal() for word in words):
        raise WorkbookError("benchmark.bad_axis", given=text)
    return Axis(name, "loader", tuple(int(word) for word in words))
