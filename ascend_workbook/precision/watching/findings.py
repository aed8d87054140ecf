"""What is said of a watched run: each alarm with its step, its parameter and the next command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.child.watch_rules import FEWEST, REMARKS
from ascend_workbook.precision.watching.reading import Watched
from ascend_workbook.storage.names import read_user_output

# ruff: noqa: SIM905 - a column of names reads better without quotes
NAN, SPIKE, GONE, UPDATE, SCALE, CHANGED, DEVICE, INCOMPLETE = """
nan spike gone update scale changed device incomplete
""".split()
#: What `--fail-on` names.
CLASSES = (NAN, SPIKE, GONE, UPDATE, SCALE, CHANGED, DEVICE, INCOMPLETE)
#: An alarm's kind -> its rule, the class, and what it makes of a run.
RULES: dict[str, tuple[str, str, Status]] = {
    "nonfinite": ("ACC241", NAN, Status.FIX),
    "spike": ("ACC242", SPIKE, Status.LOOK),
    "gone": ("ACC243", GONE, Status.LOOK),
    "update": ("ACC244", UPDATE, Status.LOOK),
    "scale": ("ACC245", SCALE, Status.LOOK),
    "changed": ("ACC246", CHANGED, Status.FIX),
}
CLASS_OF = {rule: name for rule, name, _ in RULES.values()} | {"ACC247": DEVICE, "ACC249": INCOMPLETE}
#: Alarms of a rule that are listed one by one.
TOLD = 5
#: What torch_npu prints: "Feature value detection" of its guide to moving a training, by what each says.
SPOKEN = {
    "checksum": re.compile(r"The result of Matmul checksum is abnormal"),
    "feature": re.compile(r"feature detection detects abnormal results"),
    "event": re.compile(r"A grad-norm spike may happen"),
}


def judge_watched(watched: Watched, about: Mapping[str, Any]) -> list[Finding]:
    """The findings of one process, in order of steps."""
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    steps = ((int(record["step"]), int(record.get("skipped", 0))) for record in watched.records)
    attempts = {step: step - 1 + skipped for step, skipped in steps}
    for alarm in watched.alarms:
        rule, _, status = RULES[alarm["key"]]
        counts[rule] = counts.get(rule, 0) + 1
        if counts[rule] <= TOLD:
            findings.append(_describe_alarm(alarm, watched, about, attempts, rule, status))
    for rule, count in counts.items():
        if count > TOLD:
            args: dict[str, Scalar] = {"rule": rule, "count": count - TOLD}
            findings.append(Finding("ACC248", Status.NOTE, "ACC248.more", args))
    return findings


def _describe_alarm(
    alarm: Mapping[str, Any],
    watched: Watched,
    about: Mapping[str, Any],
    attempts: Mapping[int, int],
    rule: str,
    status: Status,
) -> Finding:
    step = int(alarm["step"])
    names: Scalar = list(alarm.get("names", ()))
    args: dict[str, Scalar] = {"step": step, "names": names or Sentence("watch.no_parameter")}
    args.update(count=alarm.get("count", 0), value=_as_scalar(alarm.get("value")), level=_as_scalar(alarm.get("level")))
    args["rank"] = Sentence("watch.of_rank", rank=watched.rank) if watched.rank else ""
    state = watched.states.get(step)
    args["state"] = Sentence("watch.state", path=f"states/{state}") if state else ""
    args["next"] = _next_command(about, attempts.get(step, step - 1))
    kind = f".{alarm['kind']}" if "kind" in alarm else ".fell"
    if alarm.get("kind") in REMARKS:
        status = Status.NOTE
    elif alarm.get("kind") in ("program", "moments"):  # a script's own write may be what is seen
        status = Status.LOOK
    weight = 300.0 - min(step, 10**6) * 1e-4
    return Finding(rule, status, f"{rule}{kind}", args, place=Place(str(watched.path)), weight=weight)


def _as_scalar(value: object) -> Scalar:
    return f"{value:.4g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _next_command(about: Mapping[str, Any], attempt: int) -> Sentence:
    """The command that captures this step; of a run that watched itself with SCRIPT in its place."""
    words = [str(about.get("script", "train.py")), *map(str, about.get("args", ()))]
    line = f"ascend-workbook capture --steps {attempt + 1} --dump-steps {attempt} --out runs/step{attempt} "
    return Sentence("watch.next", command=line + shlex.join(words), attempt=attempt)


def find_unlooked(watched: Watched) -> list[Finding]:
    """What could not be looked at, or not wholly."""
    path = str(watched.path)
    findings: list[Finding] = []

    def add(key: str, status: Status, **args: Scalar) -> None:
        findings.append(Finding("ACC249", status, f"ACC249.{key}", {"path": path, **args}))

    steps, end = len(watched.records), watched.end
    if steps <= FEWEST:
        add("short", Status.NOT_LOOKED, steps=steps, fewest=FEWEST)
    if not end:
        add("killed", Status.NOTE, steps=steps)
    if watched.cut:
        add("cut", Status.NOTE, count=watched.cut)
    if end.get("error"):
        add("stopped", Status.NOT_LOOKED, error=str(end["error"]), steps=steps)
    if end.get("unchecked"):
        add("unchecked", Status.NOT_LOOKED, error=str(end["unchecked"]))
    if end.get("thinned"):
        add("thinned", Status.NOTE, count=int(end["thinned"]))
    why = str(end.get("why_not") or "")
    if why.startswith("size"):
        add("no_state", Status.NOTE, mib=round(int(why.split()[1]) / 2**20))
    if watched.head.get("exact") not in (None, "all"):
        add("in_turn", Status.NOTE, share=str(watched.head["exact"]))
    return findings


def read_device_words(output: Path, switched_on: bool) -> list[Finding]:
    """What torch_npu's feature value detection said in the run's output."""
    findings: list[Finding] = []
    try:
        lines = read_user_output(output).splitlines()
    except OSError:
        return []
    for kind, pattern in SPOKEN.items():
        places = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
        if places:
            status = {"checksum": Status.FIX, "feature": Status.LOOK, "event": Status.NOTE}[kind]
            args: dict[str, Scalar] = {"count": len(places), "line": places[0]}
            place = Place(str(output), places[0])
            findings.append(Finding("ACC247", status, f"ACC247.{kind}", args, place=place, weight=280))
    if not findings and switched_on:
        findings.append(Finding("ACC247", Status.GOOD, "ACC247.silent"))
    return findings


def fail_classes(findings: Iterable[Finding], wanted: Sequence[str]) -> list[Finding]:
    """Make findings of the wanted classes errors: what was not looked at too."""
    result = []
    for finding in findings:
        is_wanted = CLASS_OF.get(finding.rule) in wanted and finding.status >= Status.NOT_LOOKED
        result.append(replace(finding, status=Status.FIX) if is_wanted else finding)
    return result
