"""The rounds: run a side, name the cause, mend it, run again, until it trains and agrees or a person has to decide."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.migration.dry_run import WATCH, sides
from ascend_workbook.migration.dry_run import make_report as report_runs
from ascend_workbook.migration.dry_run.original import Original, cell_script
from ascend_workbook.migration.loop.curing import Cure, find_cure
from ascend_workbook.migration.loop.failure import Failure, Spot, find_error, list_spots
from ascend_workbook.migration.loop.git import run_git
from ascend_workbook.migration.loop.repository import BASELINE, ORIGINAL, Result
from ascend_workbook.migration.loop.rewriting import commit_rewrite, write_message
from ascend_workbook.migration.loop.state import AGREES, DIFFERS, EDITED, FAILED, UNPROVEN, Round, State, describe_cause
from ascend_workbook.redaction.exits import redact, redact_in_place

#: What a run says of the training itself; the rest of its findings is about the run.
JUDGED = {"MIG140", "MIG149", "MIG157", "MIG158"}
OFF_NPU = "MIG140.off_npu"
#: Names shown of many.
SHOWN = 6


@dataclass(frozen=True)
class Verdict:
    """How the loop ended. `key` is agrees, baseline, failed, came_back, differs, unproven or rounds; `last`: the report
    of the last runs; `left`: what the rewrite left to a person; `head`: the commit that ran and agrees, or ""."""

    key: str
    last: Report | None
    left: tuple[Finding, ...] = ()
    head: str = ""


@dataclass(frozen=True)
class Overlay:
    """What a commit has in place of the user's files: `contents`, what is `gone`, and `others`: the names of what a
    run cannot have, as links."""

    contents: dict[Path, bytes]
    gone: frozenset[Path]
    others: tuple[str, ...]


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
        self._take_up_edits()
        self._rewrite()
        if before is None or not before.ok:
            return self._conclude("baseline" if before is not None else "rounds")
        while self.runs < self.most:
            key = self._run_target(before)
            if key:
                return self._conclude(key)
        return self._conclude("rounds")

    def _conclude(self, key: str) -> Verdict:
        return Verdict(key, self.last, tuple(self.left), self.state.tip if key == "agrees" else "")

    def _take_up(self) -> None:
        """Go on from an earlier call: what it had not noted is undone, what a person has edited is committed."""
        self.state.tip = self.state.tip or self.result.find_commit(ORIGINAL)
        if self.state.writing:
            tag = self.result.go_back(self.state.tip)
            if tag and self.tell is not None:
                self.tell(say("loop.told.undone", tag=tag))
        self._take_up_edits()
        self._note(writing=False)

    def _take_up_edits(self) -> bool:
        """Note each commit that a person has made, and what is edited and not committed as one; whether there is any.

        Where the history no longer goes through the noted commit there is one round for all of it."""
        if self.result.is_dirty:
            self.result.commit_files(None, say("loop.commit.edited"))
        before, head = self.state.tip, self.result.head
        if head == before:
            return False
        words = ("rev-list", "--reverse", "--first-parent")
        commits = run_git(self.result.folder, *words, f"{before}..{head}").split()
        if not commits or self.result.find_commit(f"{commits[0]}~") != before:
            commits = [head]
        for commit in commits:
            files = self.result.list_changed(before, commit)
            self.state.tip = before = commit
            self._keep(Round(self._next, "", EDITED, commit=commit, files=tuple(files)))
        return True

    def _keep(self, entry: Round) -> None:
        self.state.rounds.append(entry)
        self._note(writing=False)
        if self.tell is not None:
            self.tell(describe_round(entry))

    def _note(self, *, writing: bool, tip: str = "") -> None:
        """Note where the result stands: a call that ends while `writing` is taken back to there by the next.

        Only what was committed here is a new `tip`: another commit is a person's."""
        self.state.writing, self.state.tip = writing, tip or self.state.tip
        self.state.save(self.result.own_folder)
        if not writing:
            self.result.publish_branch()

    # The baseline: the original, mended only where it cannot run here for a cause that is mended for every device.

    def _run_baseline(self) -> LaunchResult | None:
        seen: set[str] = set()
        while self.runs < self.most:
            plan = replace(self.plan, out=self._new_folder("baseline"), mended=self._overlay(BASELINE).contents)
            before, seconds = self._launch(plan, "baseline", self.base)
            self._take_up_edits()
            if before.ok:
                self.runs -= 1  # no round of its own: with `--rounds 1` the result runs once
                return before
            self.last = report_runs(plan, self.base, self.target, before, None)
            self._set_back()
            failure = self._read_failure(plan, "baseline", before)
            alone = self.state.stage == "original" and self.state.tip == self.result.find_commit(BASELINE)
            known = alone and failure.signature not in seen
            cure = find_cure(failure, self.skip) if known else None
            seen.add(failure.signature)
            self._note_failure("baseline", seconds, failure, cure, before)
            if cure is None:
                return before
            run_git(self.result.folder, "tag", "-f", BASELINE, self.state.tip)
        return None

    def _set_back(self) -> None:
        """Take the rewrite back where nothing rests on it: what mends the baseline stands before it.

        Nothing is taken back where a person has edited the result, noted as a round or not yet."""
        if self.state.stage == "original" or self.result.branch:
            return
        if self.result.head != self.state.tip or self.result.is_dirty:
            return
        if all(entry.side == "baseline" for entry in self.state.rounds):
            tip = self.result.find_commit(BASELINE)
            self._note(writing=True)
            run_git(self.result.folder, "reset", "-q", "--keep", tip)
            self.state.stage, self.state.rewritten = "original", []
            self._note(writing=False, tip=tip)

    def _rewrite(self) -> None:
        if self.state.stage != "original":
            return
        self._note(writing=True)
        name = self.state.source["script"]
        commits, self.left = commit_rewrite(self.result, self.plan.mode, [name])
        self.state.rewritten, self.state.stage = commits, "rewritten"
        places = {finding.place for finding in self.left if finding.place}
        self.state.by_hand = sorted(places, key=lambda place: (place.path, place.line, place.column))
        self._note(writing=False, tip=self.result.head)
        if self.tell is not None:
            edits = sum(int(commit["places"]) for commit in commits)
            self.tell(say("loop.told.rewritten", commits=len(commits), edits=edits))

    # The target: the result as it is now.

    def _run_target(self, before: LaunchResult) -> str:
        """One round; the key of the verdict, or "" where the next round follows."""
        overlay = self._overlay(self.state.tip)
        original, other = self._read_launch(self.state.tip)
        overlay = replace(overlay, others=(*overlay.others, *other))
        plan = replace(self.plan, out=self._new_folder("target"), migrated=overlay.contents, gone=overlay.gone)
        plan = replace(plan, original=original)
        after, seconds = self._launch(plan, "target", self.target)
        self.last = report_runs(plan, self.base, self.target, before, after)
        if after.ok:
            outcome = judge_outcome(self.last)
            entry = Round(self._next, "target", outcome, seconds, losses=_losses(before, after))
            doubt = _name_doubt(entry, after, overlay)
            if doubt is not None and (outcome == AGREES or overlay.others):
                entry = replace(entry, outcome=UNPROVEN, cause=doubt)
            elif outcome != AGREES:
                entry = replace(entry, cause=_name_difference(self.last))
            self._keep(entry)
            keys = {AGREES: "agrees", DIFFERS: "differs", UNPROVEN: "unproven"}
            return "" if self._take_up_edits() else keys[entry.outcome]
        failure = self._read_failure(plan, "target", after)
        if self.result.is_dirty or self.result.head != self.state.tip:  # the failure is that of other lines
            self._note_failure("target", seconds, replace(failure, code=""), None, after, before)
            self._take_up_edits()
            return ""
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
    def shell(self) -> str:
        """Return the name of the shell script that launches the training, "" where none of the repository does."""
        shell = self.plan.original.shell.resolve() if self.plan.original.shell is not None else None
        return shell.relative_to(self.root).as_posix() if shell and shell.is_relative_to(self.root) else ""

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

    def _overlay(self, commit: str) -> Overlay:
        """Return what a commit changed since the original, by the path that it has in the user's folder."""
        original = self.plan.original
        root, script = original.layout.root, original.given.resolve()
        prefix = root.resolve().relative_to(self.root)
        contents: dict[Path, bytes] = {}
        gone: set[Path] = set()
        others: list[str] = []
        for name in self.result.list_changed(ORIGINAL, commit):
            if not Path(name).is_relative_to(prefix):
                continue
            there, data = root / Path(name).relative_to(prefix), self.result.read_file(commit, name)
            is_script = self.root / name == script
            if data is not None and is_script and original.cells is not None:
                cells = cell_script(original.given, data)
                texts = {original.script: cells.text}
                texts |= {original.script.parent / file: text for file, text in cells.files.items()}
                contents |= {file: text.encode("utf-8", "surrogatepass") for file, text in texts.items()}
                gone |= {original.script.parent / file for file in original.cells.files if file not in cells.files}
            elif data is not None:
                contents.setdefault(there, data)
            elif is_script or self.result.has_entry(commit, name):
                others.append(name)
            else:
                gone.add(there)
        folders = {above for file in contents for above in file.parents}
        others += [file.relative_to(root).as_posix() for file in gone & folders]  # a folder in a link's or file's place
        return Overlay(contents, frozenset(gone - contents.keys()), tuple(sorted(others)))

    def _read_launch(self, commit: str) -> tuple[Original, tuple[str, ...]]:
        """Return the training as a commit's shell script launches it; as the user's does, and the script's name, where
        that is another training or none."""
        original, name = self.plan.original, self.shell
        if not name or name not in self.result.list_changed(ORIGINAL, commit):
            return original, ()
        data = self.result.read_file(commit, name)
        try:
            launched = original.launch_with(data) if data is not None else None
        except WorkbookError:
            launched = None
        if launched is None or _name_run(launched) != _name_run(original):
            return original, (name,)
        return launched, ()

    def _read_failure(self, plan: sides.Plan, side: str, ran: LaunchResult) -> Failure:
        names = [name for name in run_git(self.result.folder, "ls-files", "-z").split("\0") if name]
        contents = ResultFiles(self.result.folder, names)
        error = find_error(ran)
        spots = list_spots(error, plan.out / side / "work", plan.original.layout.root, self.root)
        trouble, place = sides.describe_failure(plan, side, ran)
        if ran.error is None and error is not None:
            place = sides.place_of(plan, side, error.path, error.line)
        kind, message = (error.type, error.message) if error else ("", say(trouble.key, "en", **trouble.args))
        message = redact(message)
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
            self.state.tip = commit or self.state.tip
        self._keep(replace(entry, losses=_losses(before or ran, ran if before is not None else None)))


def _name_run(original: Original) -> tuple[Path, Path, int]:
    """What a commit's shell script must not change: which file runs, from where its modules are, in how many
    processes; the baseline ran those."""
    return original.given, original.layout.root, original.nproc


def _read_line(contents: Mapping[str, bytes], spot: Spot) -> str:
    lines = redact_in_place(contents.get(spot.name, b"").decode("utf-8", "replace")).splitlines()
    return lines[spot.line - 1].strip()[:160] if 0 < spot.line <= len(lines) else ""


def _losses(before: LaunchResult | None, after: LaunchResult | None) -> dict[str, list[float | None]]:
    return {
        "baseline": list(before.losses) if before is not None else [],
        "target": list(after.losses) if after is not None else [],
    }


def _name_doubt(entry: Round, after: LaunchResult, overlay: Overlay) -> Sentence | None:
    """Name what keeps a run that ended well from being a proof: not all of the result ran, nothing was compared, or
    nothing shows that the NPU was used."""
    if overlay.others:
        names: list[Scalar] = [*overlay.others[:SHOWN], *(["…"] if len(overlay.others) > SHOWN else [])]
        return Sentence("loop.unproven.files", count=len(overlay.others), names=names)
    if not entry.compared:
        return Sentence("loop.unproven.pairs")
    held = [(log.meta.get("memory") or {}).get("device_peak_mib") for log in after.logs]
    seen = any(held) or bool(after.simulator.get("fallbacks"))
    return None if seen or after.parameter_devices else Sentence("loop.unproven.npu")


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
        "steps": entry.compared if entry.outcome == AGREES else len(entry.losses.get("target", [])),
    }
