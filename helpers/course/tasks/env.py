"""A. A server whose torch and torch_npu are no pair: find the pair that belongs there, and the command.

Judged by what the command would leave: its packages are put into the machine's facts, and `check`'s rules say the rest.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from helpers import versions
from helpers.course import machines
from helpers.course.data import as_typed
from helpers.course.drawing import pick
from helpers.course.task import Found, Place, Sentence, Task, sentence
from helpers.environment.installing.plan import wheel_fits
from helpers.environment.machine import Machine
from helpers.environment.readiness import report_on
from helpers.finding import Status
from helpers.report import Report

ORDER = 1
FIELDS = ("torch", "torch_npu", "command")
#: pip options that stand alone, or take a value; with another the outcome cannot be told.
ALONE = ("--no-deps", "--upgrade", "-U", "--quiet", "-q", "--no-cache-dir", "--force-reinstall")
WITH_VALUE = ("--index-url", "-i", "--extra-index-url", "-c", "--constraint", "--trusted-host")


def machine(student: str) -> Machine:
    return machines.unpaired(pick(student, "env", machines.TORCHES))


def broken(student: str) -> Report:
    """What `check` says of the server as it was left."""
    return report_on(machine(student), {})


def check(answer: Any, place: Place) -> Found:
    given, trouble = _given(answer)
    if trouble:
        return Found(missing=(trouble,))
    before = machine(place.student)
    installed, trouble = outcome_of(given["command"], before.python.packages)
    said = {name: given[name] for name in FIELDS[:2]}
    points = [*_pair(said, before)]
    if trouble:
        points.append((False, trouble))
        return _found(points)
    after = machines.after(before, installed)
    left = {name: installed[name] for name in said}
    points.append((left == said, sentence("course.env.command_leaves", **left)))
    kept = left["torch"] == before.python.packages["torch"]
    points.append((kept, sentence("course.env.torch_kept" if kept else "course.env.torch_replaced", **left)))
    failed = [one for one in report_on(after, {}).findings if one.status is Status.FAIL and one.rule != "ENV000"]
    if failed:
        points += [(False, sentence("course.env.rule", rule=one.rule, said={"say": one.key, "args": one.args}))
                   for one in failed[:2]]  # fmt: skip
    else:
        points.append((True, sentence("course.env.ready")))
    return _found(points)


def _found(points: list[tuple[bool, Sentence]]) -> Found:
    """What is right counts only where torch and torch_npu match: all else is there from the start."""
    missing = tuple(said for good, said in points if not good)
    right = tuple(said for good, said in points if good)
    return Found(right if points[0][0] else (), missing)


def _given(answer: Any) -> tuple[dict[str, str], Sentence | None]:
    if not isinstance(answer, dict) or any(not isinstance(answer.get(name), str) for name in FIELDS):
        return {}, sentence("course.env.fields", fields=list(FIELDS), given=type(answer).__name__)
    given = {name: as_typed(answer[name]) for name in FIELDS[:2]}
    for name, version in given.items():
        try:
            versions.parse(version)
        except versions.NotAVersion:
            return {}, sentence("course.env.no_version", field=name, given=version[:80])
    return {**given, "command": answer["command"].strip()}, None


def _pair(said: dict[str, str], before: Machine) -> list[tuple[bool, Sentence]]:
    matches = versions.pair_torch(said["torch"], said["torch_npu"]) == "matches"
    fits = versions.pair_cann(said["torch_npu"], machines.CANN) in ("recommended", "compatible")
    points = [
        (matches, sentence("course.env.pair" if matches else "course.env.no_pair", **said)),
        (fits, sentence("course.env.cann" if fits else "course.env.no_cann", cann=machines.CANN, **said)),
    ]
    if fits and not wheel_fits(before, said["torch_npu"]):
        points.append((False, sentence("course.env.no_wheel", python=before.python.version, **said)))
    return points


def outcome_of(command: str, packages: dict[str, str]) -> tuple[dict[str, str], Sentence | None]:
    """The packages after a `pip install`, or why that cannot be told.

    Without --no-deps a torch_npu brings the torch that its wheel requires, whatever is installed.
    """
    strange = next((one for one in command if not (one.isascii() and (one.isprintable() or one.isspace()))), "")
    if strange:
        code = f"U+{ord(strange):04X}"
        return {}, sentence("course.env.strange", at=command.index(strange) + 1, code=code, given=strange)
    try:
        words = shlex.split(command.lstrip("!%"))  # as a cell has it
    except ValueError as error:
        return {}, sentence("course.env.command", why=str(error))
    while words and re.fullmatch(r"(?:\S*/)?python[\d.]*|-m", words[0]):
        words = words[1:]
    if not words or not re.fullmatch(r"(?:\S*/)?pip[\d.]*", words[0]) or words[1:2] != ["install"]:
        return {}, sentence("course.env.command", why="pip install")
    wanted, no_deps = {}, "--no-deps" in words
    rest = iter(words[2:])
    for word in rest:
        if word in WITH_VALUE:
            next(rest, None)
        elif word not in ALONE and not word.startswith(tuple(f"{name}=" for name in WITH_VALUE)):
            pinned = re.fullmatch(r"(torch|torch[-_]npu)==(\d[\w.+]*)", word)
            if not pinned:
                return {}, sentence("course.env.command", why=word[:80])
            wanted[pinned[1].replace("-", "_")] = pinned[2]
    if not wanted:
        return {}, sentence("course.env.command", why="torch_npu==")
    after = {**packages, **wanted}
    if not no_deps and "torch_npu" in wanted:
        needs = versions.base(wanted["torch_npu"])
        if "torch" in wanted and versions.base(wanted["torch"]) != needs:
            return {}, sentence("course.env.conflict", torch=wanted["torch"], torch_npu=wanted["torch_npu"])
        if versions.base(after["torch"]) != needs:
            after["torch"] = needs
    return after, None


TASK = Task("env", "environment", check, seconds=10)
