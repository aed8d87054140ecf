"""A. A server whose torch and torch_npu are no pair: find the pair that belongs there, and the command.

Judged by what the command would leave: its packages are put into the machine's facts, and `check`'s rules say the rest.
"""

from __future__ import annotations

import re
import shlex

from ascend_workbook.environment.installing.plan import wheel_fits
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.readiness import report_on
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import versions
from course.exercises import machines
from course.exercises.data import as_typed
from course.exercises.drawing import pick_one
from course.exercises.task import Found, Place, Task

ORDER = 1
FIELDS = ("torch", "torch_npu", "command")
#: pip options that stand alone, or take a value; with another the outcome cannot be told.
ALONE = ("--no-deps", "--upgrade", "-U", "--quiet", "-q", "--no-cache-dir", "--force-reinstall")
WITH_VALUE = ("--index-url", "-i", "--extra-index-url", "-c", "--constraint", "--trusted-host")


def machine(student: str) -> Machine:
    return machines.unpaired_machine(pick_one(student, "env", machines.TORCHES))


def broken(student: str) -> Report:
    """Return what `check` says of the server as it was left."""
    return report_on(machine(student), {})


def check(answer: object, place: Place) -> Found:
    if not isinstance(answer, dict) or any(not isinstance(answer.get(name), str) for name in FIELDS):
        raise WorkbookError("course.env.fields", fields=list(FIELDS), given=type(answer).__name__)
    versions_named = {name: as_typed(answer[name]) for name in FIELDS[:2]}
    for name, version in versions_named.items():
        try:
            versions.parse_version(version)
        except versions.NotAVersion as error:
            raise WorkbookError("course.env.no_version", field=name, given=version[:80]) from error
    command = answer["command"].strip()
    before = machine(place.student)
    points = _judge_pair(versions_named, before)
    try:
        installed = outcome_of(command, before.python.packages)
    except WorkbookError as error:
        return _make_found([*points, (False, Sentence(error.key, **error.arguments))])
    after = machines.machine_after(before, installed)
    left = {name: installed[name] for name in versions_named}
    points.append((left == versions_named, Sentence("course.env.command_leaves", **left)))
    stays = left["torch"] == before.python.packages["torch"]
    points.append((stays, Sentence("course.env.torch_kept" if stays else "course.env.torch_replaced", **left)))
    findings = report_on(after, {}).findings
    failed = [finding for finding in findings if finding.status is Status.FIX and finding.rule != "ENV000"]
    points += [
        (False, Sentence("course.env.rule", rule=finding.rule, said=Sentence(finding.key, **finding.args)))
        for finding in failed[:2]
    ]
    return _make_found(points if failed else [*points, (True, Sentence("course.env.ready"))])


def _make_found(points: list[tuple[bool, Sentence]]) -> Found:
    """Return what is right, which counts only where torch and torch_npu match: all else is there from the start."""
    judged = Found.of_points(points)
    return judged if points[0][0] else Found(missing=judged.missing)


def _judge_pair(versions_named: dict[str, str], before: Machine) -> list[tuple[bool, Sentence]]:
    matches = versions.pair_torch(versions_named["torch"], versions_named["torch_npu"]) == "matches"
    fits = versions.pair_cann(versions_named["torch_npu"], machines.CANN) in ("recommended", "compatible")
    points = [
        (matches, Sentence("course.env.pair" if matches else "course.env.no_pair", **versions_named)),
        (fits, Sentence("course.env.cann" if fits else "course.env.no_cann", cann=machines.CANN, **versions_named)),
    ]
    if fits and not wheel_fits(before, versions_named["torch_npu"]):
        points.append((False, Sentence("course.env.no_wheel", python=before.python.version, **versions_named)))
    return points


def outcome_of(command: str, packages: dict[str, str]) -> dict[str, str]:
    """Return the packages after a `pip install`. Raises WorkbookError `course.env.…` where that cannot be told.

    Without --no-deps a torch_npu brings the torch that its wheel requires, whatever is installed.
    """
    for at, character in enumerate(command, 1):
        if not (character.isascii() and (character.isprintable() or character.isspace())):
            raise WorkbookError("course.env.strange", at=at, code=f"U+{ord(character):04X}", given=character)
    try:
        words = shlex.split(command.lstrip("!%"))  # as a cell has it
    except ValueError as error:
        raise WorkbookError("course.env.command", why=str(error)) from error
    while words and re.fullmatch(r"(?:\S*/)?python[\d.]*|-m", words[0]):
        words = words[1:]
    if not words or not re.fullmatch(r"(?:\S*/)?pip[\d.]*", words[0]) or words[1:2] != ["install"]:
        raise WorkbookError("course.env.command", why="pip install")
    wanted, no_deps = {}, "--no-deps" in words
    rest = iter(words[2:])
    for word in rest:
        if word in WITH_VALUE:
            next(rest, None)
        elif word not in ALONE and not word.startswith(tuple(f"{name}=" for name in WITH_VALUE)):
            pinned = re.fullmatch(r"(torch|torch[-_]npu)==(\d[\w.+]*)", word)
            if not pinned:
                raise WorkbookError("course.env.command", why=word[:80])
            wanted[pinned[1].replace("-", "_")] = pinned[2]
    if not wanted:
        raise WorkbookError("course.env.command", why="torch_npu==")
    after = {**packages, **wanted}
    if not no_deps and "torch_npu" in wanted:
        needs = versions.base_version(wanted["torch_npu"])
        if "torch" in wanted and versions.base_version(wanted["torch"]) != needs:
            raise WorkbookError("course.env.conflict", torch=wanted["torch"], torch_npu=wanted["torch_npu"])
        if versions.base_version(after["torch"]) != needs:
            after["torch"] = needs
    return after


TASK = Task("env", "environment", check, seconds=10)
