"""The rounds: run a side, name the cause, mend it, run again, until it trains and agrees or a person has to decide."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.migration.dry_run import WATCH, sides
from ascend_workbook.migration.dry_run import make_report as report_runs
from ascend_workbook.migration.dry_run.original import cell_script
from ascend_workbook.migration.loop.curing import Cure, find_cure
from ascend_workbook.migration.loop.failure import Failure, Spot, list_spots
from ascend_workbook.migration.loop.git import run_git
from ascend_workbook.migration.loop.repository import BASELINE, ORIGINAL, UNDONE, Result
from ascend_workbook.migration.loop.rewriting import commit_rewrite, write_message
from ascend_workbook.migration.loop.state import AGREES, DIFFERS, EDITED, FAILED, UNPROVEN, Round, State, describe_cause

#: What a run says of the training itself; the rest of its findings is about the run.
JUDGED = {"MIG140", "MIG149", "MIG157", "MIG158"}
OFF_NPU = "MIG140.off_npu"


@dataclass(frozen=True)
class Verdict:
    """How the loop ended. `key` is agrees, baseline, failed, came_back, differs, unproven or rounds; `last`: the report
    of the last runs; `left`: what the rewrite left to a person."""

    key: str
    last: Report | None
    left: tuple[Finding, ...] = ()


class ResultFiles(Mapping[str, bytes]):
    """The files of a folder as they are now, read when they are asked for."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder, self.names = folder, dict.fromkeys(names)

    def __getitem__(self, name: str) -> bytes:
        if name not in self.names or not (self.folder / name).is_file() or (self.folder / name).is_symlink():
            raise KeyError(name)
        return (self.folder / name).read_bytes()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass
class Loop:
    """One call of the verb; `root` is the user's repository, which is only read."""

    result: Result
    state: State
    plan: sides.Plan
    base: Device
    target: Device
    root: Path
    most: int
    skip: tuple[str, ...] = ()
    on_progress: sides.Told | None = None
    tell: Callable[[str], None] | None = None
    runs: int = 0
    last: Report | None = None
    left: list[Finding] = field(default_factory=list)

    def run(self) -> Verdict:
        """Run until there is a verdict; each step that is done is kept before the next begins."""
        self._take_up()
        before = self._run_baseline()
        self._rewrite()
        if before is None or not before.ok:
            return self._conclude("baseline" if before is not None else "rounds")
        while self.runs < self.most:
            key = self._run_target(before)
            if key:
                return self._conclude(key)
        return self._conclude("rounds")

    def _conclude(self, key: str) -> Verdict:
        return Verdict(key, self.last, tuple(self.left))

    def _take_up(self) -> None:
        """Go on from an earlier call: what it had not noted is undone, what a person has edited is committed."""
        if self.state.writing:
            if self.tell is not None and (self.result.is_dirty or self.result.head != self.state.tip):
                self.tell(say("loop.told.undone", tag=UNDONE))
            self.result.go_back(self.state.tip)
            self.state.writing = False
        elif self.result.is_dirty:
            commit = self.result.commit_files(None, say("loop.commit.edited"))
            if commit:
                files = tuple(self.result.list_changed(f"{commit}~"))
                self._keep(Round(self._next, "", EDITED, commit=commit, files=files))
        self._note(writing=False)

    def _keep(self, entry: Round) -> None:
        self.state.rounds.append(entry)
        self._note(writing=False)
        if self.tell is not None:
            self.tell(describe_round(entry))

    def _note(self, *, writing: bool) -> None:
        """Note where the result stands: a call that ends while `writing` is taken back to there by the next."""
        self.state.writing, self.state.tip = writing, self.result.head
        self.state.save(self.result.own_folder)
        if not writing:
            self.result.publish_branch()

    # The baseline: the original, mended only where it cannot run here for a cause that is mended for every device.

    def _run_baseline(self) -> LaunchResult | None:
        seen: set[str] = set()
        while self.runs < self.most:
            plan = replace(self.plan, out=self._new_folder("baseline"), mended=self._files_of(BASELINE))
            before, seconds = self._launch(plan, "baseline", self.base)
            if before.ok:
                return before
            self.last = report_runs(plan, self.base, self.target, before, None)
            self._set_back()
            failure = self._read_failure(plan, "baseline", before)
            known = self.state.stage == "original" and failure.signature not in seen
            cure = find_cure(failure, self.skip) if known else None
            seen.add(failure.signature)
            self._note_failure("baseline", seconds, failure, cure, before)
            if cure is None:
                return before
            run_git(self.result.folder, "tag", "-f", BASELINE, "HEAD")
        return None

    def _set_back(self) -> None:
        """Take the rewrite back where nothing rests on it: what mends the baseline stands before it."""
        if self.state.stage == "original" or self.result.branch:
            return
        if all(entry.side == "baseline" for entry in self.state.rounds):
            self.result.go_back(BASELINE)
            self.state.stage, self.state.rewritten = "original", []
            self._note(writing=False)

    def _rewrite(self) -> None:
        if self.state.stage != "original":
            return
        self._note(writing=True)
        name = self.state.source["script"]
        commits, self.left = commit_rewrite(self.result, self.plan.mode, [name])
        self.state.rewritten, self.state.stage = commits, "rewritten"
        self.state.by_hand = sorted({str(finding.place) for finding in self.left if finding.place})
        self._note(writing=False)
        if self.tell is not None:
            edits = sum(int(commit["places"]) for commit in commits)
            self.tell(say("loop.told.rewritten", commits=len(commits), edits=edits))

    # The target: the result as it is now.

    def _run_target(self, before: LaunchResult) -> str:
        """One round; the key of the verdict, or "" where the next round follows."""
        contents = {**self._files_of(BASELINE), **self._files_of("HEAD")}
        plan = replace(self.plan, out=self._new_folder("target"), migrated=contents)
        after, seconds = self._launch(plan, "target", self.target)
        self.last = report_runs(plan, self.base, self.target, before, after)
        if after.ok:
            outcome = judge_outcome(self.last)
            cause: Scalar = "" if outcome == AGREES else _name_difference(self.last)
            self._keep(Round(self._next, "target", outcome, seconds, cause, losses=_losses(before, after)))
            return {AGREES: "agrees", DIFFERS: "differs", UNPROVEN: "unproven"}[outcome]
        failure = self._read_failure(plan, "target", after)
        if any(entry.side == "target" and entry.signature == failure.signature for entry in self._since_edited()):
            self._note_failure("target", seconds, failure, None, after, before)
            return "came_back"
        cure = find_cure(failure, self.skip)
        self._note_failure("target", seconds, failure, cure, after, before)
        return "" if cure is not None else "failed"

    def _since_edited(self) -> list[Round]:
        """The rounds since a person has last edited the result, of those that were mended."""
        rounds = self.state.rounds
        edited = max((number for number, entry in enumerate(rounds) if entry.outcome == EDITED), default=-1)
        return [entry for entry in rounds[edited + 1 :] if entry.cure]

    @property
    def _next(self) -> int:
        return len(self.state.rounds) + 1

    def _new_folder(self, side: str) -> Path:
        folder = self.plan.out / f"{self._next:02d}-{side}"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def _launch(self, plan: sides.Plan, side: str, where: Device) -> tuple[LaunchResult, float]:
        self.runs += 1
        began = time.monotonic()
        if self.tell is not None:
            self.tell(say("loop.told.runs", side=Sentence(f"migration.side.{side}")))
        watch = {"limit_mib": plan.limit_mib, "device": where.accelerator}
        ran = sides.run_side(plan, side, where, self.on_progress, [Plugin(WATCH, watch)])
        return ran, round(time.monotonic() - began, 1)

    def _files_of(self, commit: str) -> dict[Path, bytes]:
        """The files that a commit changed since the original, by the path that they have in the user's folder."""
        around = self.plan.original.layout
        prefix = around.root.resolve().relative_to(self.root)
        contents: dict[Path, bytes] = {}
        for name in run_git(self.result.folder, "diff", "--name-only", "-z", ORIGINAL, commit).split("\0"):
            data = self.result.read_file(commit, name) if name else None
            if data is None or not Path(name).is_relative_to(prefix):
                continue
            there = around.root / Path(name).relative_to(prefix)
            if there.resolve() == self.plan.original.given.resolve() and self.plan.original.cells is not None:
                script = self.plan.original.script
                contents[script] = cell_script(self.result.folder / name).text.encode("utf-8", "surrogatepass")
            else:
                contents[there] = data
        return contents

    def _read_failure(self, plan: sides.Plan, side: str, ran: LaunchResult) -> Failure:
        names = [name for name in run_git(self.result.folder, "ls-files", "-z").split("\0") if name]
        contents = ResultFiles(self.result.folder, names)
        spots = list_spots(ran, plan.out / side / "work", plan.original.layout.root, self.root)
        trouble, place = sides.describe_failure(plan, side, ran)
        error = ran.error
        kind, message = (error.type, error.message) if error else ("", say(trouble.key, "en", **trouble.args))
        trace = "\n".join(error.traceback) if error else ""
        code = _read_line(contents, spots[-1]) if spots else ""
        neutral = side == "baseline"
        return Failure(kind, message, trace, spots, contents, place, code, neutral)

    def _note_failure(
        self,
        side: str,
        seconds: float,
        failure: Failure,
        cure: Cure | None,
        ran: LaunchResult,
        before: LaunchResult | None = None,
    ) -> None:
        cause = describe_cause(failure.kind, failure.message)
        entry = Round(self._next, side, FAILED, seconds, cause, failure.place, failure.code, failure.signature)
        if cure is not None:
            subject = say("loop.commit.cure", number=entry.number, cure=cure.name)
            places = [f"{failure.place or ''}: {failure.code}", f"{failure.kind}: {failure.message}"]
            reason = say(cure.reason.key, **cure.reason.args)
            self._note(writing=True)
            commit = self.result.commit_changes(cure.contents, write_message(subject, reason, cure.source, places))
            files = tuple(sorted(cure.contents))
            entry = replace(entry, cure=cure.name, reason=cure.reason, source=cure.source, commit=commit, files=files)
        self._keep(replace(entry, losses=_losses(before or ran, ran if before is not None else None)))


def _read_line(contents: Mapping[str, bytes], spot: Spot) -> str:
    lines = contents.get(spot.name, b"").decode("utf-8", "replace").splitlines()
    return lines[spot.line - 1].strip()[:160] if 0 < spot.line <= len(lines) else ""


def _losses(before: LaunchResult | None, after: LaunchResult | None) -> dict[str, list[float | None]]:
    return {
        "baseline": list(before.losses) if before is not None else [],
        "target": list(after.losses) if after is not None else [],
    }


def judge_outcome(report: Report) -> str:
    """Judge a run of both sides that ended well: what its report says of losses, gradients, parameters and files."""
    judged = [finding for finding in report.findings if finding.rule in JUDGED]
    worst = max((finding.status for finding in judged), default=Status.NOT_LOOKED)
    if worst <= Status.NOTE:
        return AGREES
    off_npu = any(finding.key == OFF_NPU for finding in judged)  # losses may be equal, and say nothing
    return UNPROVEN if worst is Status.NOT_LOOKED or off_npu else DIFFERS


def _name_difference(report: Report) -> Scalar:
    judged = [finding for finding in report.findings if finding.rule in JUDGED]
    worst = max(judged, key=lambda finding: (finding.status, finding.weight), default=None)
    return Sentence(worst.key, **worst.args) if worst is not None else ""


def describe_round(entry: Round) -> str:
    """Describe a round in one line."""
    return say(f"MIG301.{key_of_round(entry)}", **args_of_round(entry))


def key_of_round(entry: Round) -> str:
    """Return which sentence a round is told by."""
    if entry.outcome == FAILED:
        return "cured" if entry.cure else "failed"
    return entry.outcome


def args_of_round(entry: Round) -> dict[str, Any]:
    """Return the arguments of a round's sentence."""
    return {
        "number": entry.number,
        "side": Sentence(f"migration.side.{entry.side}") if entry.side else "",
        "cause": entry.cause,
        "at": f" ({entry.place})" if entry.place else "",
        "reason": entry.reason,
        "commit": entry.commit[:10],
        "count": len(entry.files),
        "steps": len([loss for loss in entry.losses.get("target", []) if loss is not None]),
    }
