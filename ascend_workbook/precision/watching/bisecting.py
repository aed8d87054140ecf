"""From an alarm to its cause: the step is run again from the kept state, then captured, here and on a baseline.

replaying (does it come again?) -> capture from the same state (which module, which operator: origins) -> the same on
the baseline (bisect's narrowing). Every part lies in a folder of its own below `bisect/`; a finished one is kept."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import Progress
from ascend_workbook.machine.launch.enclosed import report_accounts
from ascend_workbook.machine.sandbox import Account
from ascend_workbook.precision.bisect import narrow_down
from ascend_workbook.precision.capture import capture_run
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.capturing.manifest import hash_file, load_manifest
from ascend_workbook.precision.capturing.options import Options
from ascend_workbook.precision.child.watch_rules import REMARKS
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.precision.record import Operator, kernels_of_operator
from ascend_workbook.precision.state.reading import read_states
from ascend_workbook.precision.watching import origins, replaying
from ascend_workbook.precision.watching.origins import Origin
from ascend_workbook.precision.watching.reading import Watched
from ascend_workbook.precision.watching.replaying import Script, Verdict
from ascend_workbook.redaction.exits import redact_file

FOLDER = "bisect"
#: Captures of the alarm's attempt and the one before, in MiB.
LIMIT_MIB = 2048
SIDES = ("baseline", "target")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """One alarm and the state before it. `attempt` is the alarm's place among attempts at an update, from 0."""

    folder: Path
    script: Script
    device: Device
    baseline: Device | None
    alarm: Mapping[str, Any]
    state: Path
    begin: int
    attempt: int
    config: Mapping[str, int]
    tell: Tell | None

    @property
    def step(self) -> int:
        return int(self.alarm["step"])


def bisect_alarm(
    watched: Watched,
    folder: Path,
    about: Mapping[str, Any],
    *,
    config: Mapping[str, int],
    baseline: str = "",
    args: Sequence[str] | None = None,
    python: str,
    timeout_s: float | None = None,
    tell: Tell | None = None,
) -> tuple[list[Finding], dict[str, Any]]:
    """Run the first alarm's step again and say where it goes wrong; findings and facts. `args` are the script's where
    they are known whole. What cannot be is a finding: ACC278."""
    try:
        job = _make_job(watched, folder, about, config, baseline, args, python, timeout_s, tell)
        if job is None:
            return [], {}
        return _Bisection(job, watched).run()
    except WorkbookError as error:
        key = error.key if error.key.startswith("ACC278.") else "ACC278.stopped"
        arguments: dict[str, Scalar] = {"error": Sentence(error.key, **error.arguments)}
        arguments = dict(error.arguments) if key == error.key else arguments
        return [Finding("ACC278", Status.NOT_LOOKED, key, arguments, weight=290)], {}


def _make_job(
    watched: Watched,
    folder: Path,
    about: Mapping[str, Any],
    config: Mapping[str, int],
    baseline: str,
    args: Sequence[str] | None,
    python: str,
    timeout_s: float | None,
    tell: Tell | None,
) -> Job | None:
    alarms = [alarm for alarm in watched.alarms if alarm.get("kind") not in REMARKS]
    if not alarms:
        return None
    pairs = [(alarm, folder / "states" / watched.states.get(int(alarm["step"]), "-")) for alarm in alarms]
    alarm, state = next(((alarm, path) for alarm, path in pairs if path.is_file()), (None, None))
    if alarm is None or state is None:
        raise WorkbookError("ACC278.no_state", step=int(alarms[0]["step"]))
    if not about.get("path"):
        raise WorkbookError("ACC278.no_script", path=str(folder))
    if int(about.get("nproc", 1)) > 1:
        raise WorkbookError("ACC278.ranks", nproc=int(about["nproc"]))
    words = tuple(map(str, about.get("args", ()) if args is None else args))
    if args is None and any("***" in word for word in words):
        raise WorkbookError("ACC278.secret")
    path = Path(str(about["path"]))
    if not path.is_file() or hash_file(path) != about.get("sha256"):
        raise WorkbookError("ACC278.changed", path=str(path))
    script = Script(path, words, Path(str(about["cwd"])) if about.get("cwd") else None, python, timeout_s)
    record = next(record for record in watched.records if int(record["step"]) == int(alarm["step"]))
    begin = int(state.name.split(".")[0][len("step") :])
    side = _find_device(baseline, python) if baseline else None
    device = _find_device(str(about["tier"]), python)
    attempt = int(alarm["step"]) - 1 + int(record.get("skipped", 0))
    return Job(folder / FOLDER, script, device, side, alarm, state, begin, attempt, config, tell)


def _find_device(name: str, python: str) -> Device:
    return devices.find_baseline(python=python) if name == "baseline" else devices.find(name, python=python)


class _Bisection:
    """The parts in order; each leaves what it found in `findings` and `facts`."""

    def __init__(self, job: Job, watched: Watched) -> None:
        self.job, self.watched = job, watched
        self.findings: list[Finding] = []
        self.facts: dict[str, Any] = {"step": job.step, "key": str(job.alarm["key"]), "state": job.state.name}
        self.accounts: list[Account] = []
        self.near = job.folder / "before.pt"

    def run(self) -> tuple[list[Finding], dict[str, Any]]:
        self._keep_or_clear()
        verdict = self._run_again()
        self.facts |= {"outcome": verdict.outcome, "compared": verdict.compared, "parted": verdict.parted or None}
        if verdict.outcome == replaying.AGAIN:
            self._try(self._find_origin)
            if self.job.baseline is not None:
                self._try(self._compare_sides)
        self.findings += report_accounts(self.accounts, ("ACC219", "ACC219"), network=False, copied=False)
        return self.findings, {"bisect": self.facts}

    def _keep_or_clear(self) -> None:
        """Keep what an earlier call finished of the same alarm and script; else begin anew."""
        job = self.job
        content = {"alarm": dict(job.alarm), "state": hash_file(job.state), "script": hash_file(job.script.path)}
        content |= {"device": job.device.tier, "args": hashlib.sha256(repr(job.script.args).encode()).hexdigest()}
        text = redact_file("plan.json", json.dumps(content, sort_keys=True))
        plan = job.folder / "plan.json"
        if plan.is_file() and plan.read_text(encoding="utf-8") == text:
            return
        if job.folder.is_dir():
            shutil.rmtree(job.folder)
        job.folder.mkdir(parents=True, exist_ok=True)
        plan.write_text(text, encoding="utf-8")

    def _run_again(self) -> Verdict:
        job, step = self.job, self.job.step
        again = self._replay("again")
        verdict = replaying.hold_against(self.watched, again, job.alarm)
        if verdict.outcome == replaying.PARTED and not replaying.is_reproduced(again, self._replay("twice"), step):
            verdict = Verdict(replaying.OTHER, step, verdict.compared, verdict.parted, verdict.names)
        names: list[Scalar] = list(verdict.names or job.alarm.get("names", ()))
        args: dict[str, Scalar] = {"step": step, "begin": job.begin, "compared": verdict.compared}
        args.update(parted=verdict.parted, names=names or Sentence("watch.no_parameter"))
        key = verdict.outcome
        if key == replaying.AGAIN and job.alarm["key"] == "changed":
            key = "written"
        status = {replaying.NOT_AGAIN: Status.FIX, replaying.PARTED: Status.FIX}.get(key, Status.LOOK)
        status = Status.NOT_LOOKED if key in (replaying.OTHER, replaying.UNPROVEN) else status
        self.findings.append(Finding("ACC275", status, f"ACC275.{key}", args, weight=299))
        return verdict

    def _replay(self, name: str) -> Watched:
        job = self.job
        if job.tell:
            job.tell(say("watch.bisect.again", None, step=job.step, begin=job.begin))
        save_at = max(job.attempt - 1, 0)
        watch = {**job.config, "state_bytes": 0}
        near = self.near if save_at > job.begin else None
        plugin = replaying.make_replay(job.state, watch, save=near, save_at=save_at)
        folder = job.folder / name
        watched, about, account = replaying.run_again(
            job.script, plugin, folder, job.attempt + 1, job.device, self._make_teller()
        )
        self.accounts += [account] if account else []
        self.facts.setdefault("skipped_forwards", about.get("skipped_forwards"))
        if about["missed"]:
            self.facts["missed"] = about["missed"]
        return watched

    def _make_teller(self) -> Callable[[Progress], None] | None:
        tell, last = self.job.tell, [-10]

        def tell_step(state: Progress) -> None:
            if tell is not None and state.step >= last[0] + 10:
                last[0] = state.step
                tell(say("watch.told_step", None, step=state.step))

        return tell_step if tell else None

    def _find_origin(self) -> None:
        job, alarm = self.job, self.job.alarm
        folder, _ = self._capture("statistics", "target", job.device, {"task": "statistics"})
        about = load_manifest(folder)
        runs = {run.step: run for run in read_dump(folder / manifest.DUMP, about.root if about else None)}
        states = read_states(folder).ranks.get(0, {})
        names = [str(name) for name in alarm.get("names", ())]
        attempt = job.attempt
        origin = origins.find_origin(str(alarm["key"]), names, runs, states, attempt)
        if alarm["key"] == "scale" and origin.kind == origins.NOWHERE and attempt:
            origin = origins.find_origin("scale", names, runs, states, attempt - 1)  # the update that was left out
        # the update of the alarm's own step, or the one before where weights came odd into it
        at = job.step - 1 if origin.kind == origins.WEIGHT else job.step
        if alarm["key"] == "update" or origin.kind == origins.WEIGHT:
            rates = self._find_rates(at)
            if rates is not None:
                self._add_rate(at, *rates)
                return
        self._add_origin(origin)

    def _find_rates(self, step: int) -> tuple[float, float] | None:
        """The learning rates of a step and of the one before, where they are far apart."""
        rates = {int(record["step"]): record.get("lr") for record in self.watched.records}
        now, before = rates.get(step), rates.get(step - 1)
        if not now or not before or not now / before >= origins.LEAP:
            return None
        return float(now), float(before)

    def _add_rate(self, step: int, now: float, before: float) -> None:
        self.facts["origin"] = {"kind": "rate", "step": step}
        args: dict[str, Scalar] = {"step": step, "now": f"{now:.3g}", "before": f"{before:.3g}"}
        self.findings.append(Finding("ACC276", Status.FIX, "ACC276.rate", args, weight=298))

    def _add_origin(self, origin: Origin) -> None:
        operator = origin.operator
        args: dict[str, Scalar] = {"step": self.job.step, "size": _round(origin.size), "usual": _round(origin.usual)}
        place: Place | None = None
        key = origin.kind
        self.facts["origin"] = {"kind": origin.kind}
        if operator is not None:
            place = operator.place
            args.update(_describe_operator(operator))
            module = operator.module.path if operator.module else None
            self.facts["origin"] |= {"operator": operator.name, "module": module}
            if key == origins.MADE and origin.usual is None:
                key = "nonfinite"
        if key == origins.WEIGHT and operator is None:
            key = "moved"
        if origin.between is not None:
            args.update(first=Sentence(f"watch.stage.{origin.between[0]}"))
            args.update(
                then=Sentence(f"watch.stage.{origin.between[1]}"), place=origin.place or Sentence("watch.no_place")
            )
            self.facts["origin"] |= {"between": list(origin.between)}
        if origin.names:
            args["names"] = list(origin.names)
            self.facts["origin"] |= {"names": list(origin.names)}
        status = Status.NOTE if key == origins.NOWHERE else Status.FIX
        self.findings.append(Finding("ACC276", status, f"ACC276.{key}", args, place, weight=298))

    def _compare_sides(self) -> None:
        """The same steps from the same state on both sides: the first operator that parts them."""
        job, baseline = self.job, self.job.baseline
        assert baseline is not None

        def capture_both_sides(kind: str, options: Mapping[str, Mapping[str, Any]]) -> tuple[Path, Path, int]:
            sides = [
                self._capture(kind, side, device, {"task": kind, **options[side]})
                for side, device in zip(SIDES, (baseline, job.device))
            ]
            return sides[0][0], sides[1][0], sum(size for _, size in sides)

        report = narrow_down(capture_both_sides, {}, nproc=1, progress=job.tell)
        first = next((finding for finding in report.findings if finding.rule == "ACC230"), None)
        self.facts["sides"] = {
            "first_divergence": report.facts.get("first_divergence"),
            "outcome": report.facts.get("first_divergence_outcome"),
            "status": report.status.name.lower(),
        }
        self.findings.append(_sum_up_sides(job, report, first))

    def _capture(self, kind: str, side: str, device: Device, chosen: Mapping[str, Any]) -> tuple[Path, int]:
        """Capture the alarm's attempt, and the one before where all operators are captured, from the nearest state."""
        job, folder = self.job, self.job.folder / kind / side
        about = load_manifest(folder) if folder.is_dir() else None
        if about is not None and about.complete:
            return folder, sum(entry["bytes"] for entry in about.files.values())
        if job.tell:
            job.tell(say("watch.bisect.capture", None, step=job.step, side=Sentence(f"precision.side_{side}")))
        steps = chosen.get("dump_steps", [at for at in (job.attempt - 1, job.attempt) if at >= job.begin])
        options = Options(
            *(job.script.path, job.script.args, job.attempt + 1, tuple(steps), "L1", str(chosen["task"])),
            *(0, LIMIT_MIB, {}, 1),
            names=tuple(chosen.get("names", ())),
        )
        options.check_options()
        state = self.near if self.near.is_file() else job.state
        report = capture_run(
            options,
            out=folder,
            device=device.tier,
            estimate=False,
            force=True,
            network=False,
            timeout_s=job.script.timeout_s,
            enclosed=True,
            cwd=job.script.cwd,
            python=job.script.python,
            progress=job.tell,
            replay=replaying.make_replay(state),
        )
        return folder, int(report.facts["bytes"])

    def _try(self, part: Callable[[], None]) -> None:
        """Run a part; what stops it is told, and what was found until then stays."""
        try:
            part()
        except WorkbookError as error:
            args: dict[str, Scalar] = {"error": Sentence(error.key, **error.arguments)}
            self.findings.append(Finding("ACC278", Status.NOT_LOOKED, "ACC278.stopped", args, weight=290))


def _describe_operator(operator: Operator) -> dict[str, Scalar]:
    module: Scalar = ""
    if operator.module is not None:
        module = Sentence("watch.module", module=operator.module.path, kind=operator.module.kind)
    place: Scalar = str(operator.place) if operator.place else Sentence("watch.no_place")
    return {"operator": operator.name, "module": module, "place": place, "kernels": list(kernels_of_operator(operator))}


def _sum_up_sides(job: Job, report: Report, first: Finding | None) -> Finding:
    folder = job.folder / "tensor" if (job.folder / "tensor").is_dir() else job.folder / "statistics"
    args: dict[str, Scalar] = {
        "step": job.step,
        "tier": job.device.tier,
        "baseline": job.baseline.tier if job.baseline else "",
    }
    args.update(left=str(folder / "baseline"), right=str(folder / "target"))
    args["what"] = Sentence(first.key, **first.args) if first is not None else Sentence("watch.bisect.no_verdict")
    if first is None or first.status == Status.NOT_LOOKED:
        return Finding("ACC277", Status.NOT_LOOKED, "ACC277.unknown", args, weight=297)
    parts = report.facts.get("first_divergence") is not None
    status = Status.FIX if parts else Status.NOTE
    return Finding("ACC277", status, "ACC277.parts" if parts else "ACC277.same", args, first.place, weight=297)


def _round(value: float | None) -> Scalar:
    return "" if value is None else f"{value:.4g}"


def describe_script(script: Path, cwd: str | Path | None, nproc: int) -> dict[str, Any]:
    """What a later call needs to start the script again."""
    folder = Path(cwd) if cwd else Path.cwd()
    digest = hash_file(script) if script.is_file() else ""
    return {"path": str(script.absolute()), "cwd": str(folder.absolute()), "nproc": nproc, "sha256": digest}
