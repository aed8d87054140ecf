"""`analyse`: a profile in, one report out: where the time goes, what the rules advise, and a part for each answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.number_lists import numbers
from helpers.profiling import rules
from helpers.profiling.breakdown import PARTS
from helpers.profiling.device.answers import device_answers
from helpers.profiling.device.memory import memory_answers
from helpers.profiling.export.files import export, refuse
from helpers.profiling.facts import Profile, load_profile
from helpers.profiling.operators import Operator
from helpers.profiling.ranks.reading import facts_of, rank_told, read_rank
from helpers.profiling.ranks.together import analyse_ranks, of_one_rank
from helpers.profiling.readers import locate, ranks_at, trace_file
from helpers.profiling.readers.choice import ALL, AUTO, Choice, choose
from helpers.profiling.readers.ranks import RankProfiles, rank_of
from helpers.profiling.savings import called_from
from helpers.profiling.timeline.report import MOST, timeline
from helpers.profiling.tuning import largest, named, tuning
from helpers.report import Chart, Column, Report, Table, overview
from helpers.rules import judge, rules_of
from helpers.words import Scalar

STAGE = "profiling"
#: Whose finding says where the time goes
ANSWER = ("PRF310",)
#: Paths that an error names
NAMED = 4


def analyse(
    path: str | os.PathLike[str],
    *,
    top: int = 15,
    step: int | None = None,
    files: Mapping[str, str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    lang: str | None = None,
    ranks: str | Sequence[int] = (),
    scheduler: str = "",
    advisor: bool = False,
    steps: str = AUTO,
) -> Report:
    """The report of the profile at `path`: a trace file, an `*_ascend_pt` folder, or what `profile` wrote.

    Among its parts are `time_by_kind` (chart: the mean step, stacked), `top_operators`, `step_times` and `timeline` (of
    the step with the number `step`, else of a median one). Of a folder with a profile from each of several ranks: a
    row a rank, who waits for whom, and such a report of each as a part; `ranks` selects some ([0, 3] or "0,3-5"),
    `scheduler` is the address of a Dask cluster that reads them.
    `files`, of one rank alone: what else to write, `timeline`, `perfetto` or `flame` to a path (export.ENDINGS);
    in the language `lang`. With a `baseline` (such a profile) the report says what differs between the two
    (compare.report), of folders of several ranks between those of the one rank in `ranks`.
    `steps`: which steps are looked at: `all`, numbers such as `40-60`, or `auto`: all of a trace up to 512 MiB, of a
    larger one so many that follow one another and are like the mean. What other steps
    launched counts as in a reading of all. With a `baseline` numbers are those of both sides, and `auto` chooses for
    each by itself.
    Raises WorkbookError for what is no profile, or a broken one.
    `advisor`: ask msprof-analyze too, where it is installed.
    """
    if advisor:
        from helpers.profiling.advisor import advised

        alone = analyse(path, top=top, step=step, files=files, baseline=baseline, lang=lang, ranks=ranks,
                        scheduler=scheduler, steps=steps)  # fmt: skip
        return advised(alone, path, lang)
    if top < 1:
        raise WorkbookError("profiling.too_few", name="top", value=top, least=1)
    files = files or {}
    refuse(files, [path] if baseline is None else [path, baseline])
    if baseline is not None:
        pair = (_one_rank(baseline, ranks), _one_rank(path, ranks))
        return _compared(*pair, top=top, step=step, files=files, lang=lang, steps=steps)
    several = ranks_at(Path(path))
    if not several:
        if ranks:
            _one_asked(Path(path), ranks)
        profile = load_profile(path, steps)
        report = _analyse(profile, top=top, boxes=MOST, step=step, files=files, lang=lang)
        return replace(report, parts=(*report.parts, *_collectives(profile, locate(Path(path)))))
    for option in [*(f"--{kind}" for kind in files), *(["--step"] if step is not None else [])]:
        raise _takes_one(path, several.profiles, option)
    chosen = _chosen(several, ranks, path)
    same, boxes = _same(chosen, steps), max(500, MOST // len(chosen.profiles))
    answer = partial(_answer, top=top, boxes=boxes, steps=same, own=steps == AUTO)
    return analyse_ranks(chosen, answer, scheduler)


def _chosen(found: RankProfiles, ranks: str | Sequence[int], path: str | os.PathLike[str]) -> RankProfiles:
    if not ranks:
        return found
    wanted = numbers(ranks, "ranks")
    absent: list[Scalar] = [rank for rank in wanted if rank not in found.profiles]
    if absent:
        raise WorkbookError("PRF350.not_asked", ranks=absent, path=os.fspath(path), here=list(found.profiles))
    older = {rank: found.older[rank] for rank in wanted if rank in found.older}
    return RankProfiles({rank: found.profiles[rank] for rank in wanted}, older)


def _one_asked(path: Path, ranks: str | Sequence[int]) -> None:
    """Raises WorkbookError where the only profile at the path is not of the rank asked for, or tells no rank."""
    found = rank_of(locate(path))
    asked = numbers(ranks, "ranks")
    if asked != [found]:
        here: list[Scalar] | None = None if found is None else [found]
        raise WorkbookError("PRF350.not_asked", ranks=list(asked), path=str(path), here=here)


def _same(chosen: RankProfiles, steps: str) -> str:
    """The steps that all ranks are looked at in: those that the largest trace which can be read would choose."""
    files = [file for file in map(trace_file, chosen.profiles.values()) if file] if steps == AUTO else []
    for file in sorted(files, key=lambda one: one.stat().st_size, reverse=True):
        try:
            choice = choose(file, AUTO)
        except WorkbookError:
            continue  # reading that rank says what is wrong with it
        return choice.span if isinstance(choice, Choice) else ALL
    return ALL if steps == AUTO else steps


def _answer(path: str, rank: int, *, top: int, boxes: int, steps: str, own: bool) -> str:
    """What one rank's profile says, as it travels between processes and machines."""
    from helpers.profiling.ranks.everywhere import RankAnswer, told

    def read() -> RankAnswer:
        facts, profile = read_rank(Path(path), rank, steps, own)
        return RankAnswer(facts, _analyse(profile, top=top, boxes=boxes) if profile else None)

    return told(read)


def _collectives(profile: Profile, found: Path) -> tuple[Report, ...]:
    """What the rank waits for. A table beside the trace that cannot be read does not take the trace's answers along."""
    try:
        return of_one_rank(facts_of(profile, found, rank_told(profile)))
    except WorkbookError as error:
        why: Scalar = {"say": error.key, "args": error.arguments}
        finding = Finding("PRF352", Status.SKIPPED, "PRF352.unread", {"error": why})
        return (Report(STAGE, "collectives", (finding,), tier=profile.tier),)


def _takes_one(path: str | os.PathLike[str], profiles: Mapping[int, Path], option: str) -> WorkbookError:
    paths: list[Scalar] = [str(one) for one in list(profiles.values())[:NAMED]]
    return WorkbookError("profiling.one_rank", path=os.fspath(path), ranks=len(profiles), option=option, paths=paths)


def _one_rank(path: str | os.PathLike[str], ranks: str | Sequence[int]) -> str | os.PathLike[str]:
    """The path itself, or of a folder of several ranks the profile of the one that `ranks` selects."""
    several = ranks_at(Path(path))
    if not several:
        return path
    chosen = _chosen(several, ranks, path).profiles
    if len(chosen) != 1:
        raise _takes_one(path, chosen, "--baseline")
    return next(iter(chosen.values()))


def _compared(
    baseline: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    top: int,
    step: int | None,
    files: Mapping[str, str],
    lang: str | None,
    steps: str,
) -> Report:
    from helpers.profiling.compare.report import compare

    before, after = _pair(baseline, target, steps)
    if files:
        export(after, timeline(after, step=step), files, lang)
    return compare(before, after, top=top)


def _pair(
    baseline: str | os.PathLike[str], target: str | os.PathLike[str], steps: str
) -> tuple[Profile, Profile]:
    """Both sides in the same steps, or each in those that it would choose."""
    try:
        return load_profile(baseline, steps), load_profile(target, steps)
    except WorkbookError as error:
        if error.key != "profiling.no_such_steps":
            raise
        raise WorkbookError("profiling.no_such_steps_of_both", **error.arguments) from error


def _analyse(
    profile: Profile,
    *,
    top: int,
    boxes: int,
    step: int | None = None,
    files: Mapping[str, str] | None = None,
    lang: str | None = None,
) -> Report:
    findings = judge(profile, rules_of(rules))
    verdict = _of_a_cut_file(profile, summary(profile, findings))
    recorded = {code: [one for one in findings if one.rule == code] for code in ("PRF301", "PRF305")}
    by_code = {ten: [one for one in findings if one.rule[:5] == ten] for ten in ("PRF30", "PRF31", "PRF33")}
    parts = [
        time_by_kind(profile, [verdict, *recorded["PRF301"], *by_code["PRF31"]]),
        *device_answers(profile, STAGE, findings),
        tuning(profile, STAGE, findings),
        top_operators(profile, [*by_code["PRF33"], *recorded["PRF305"]], top),
        *memory_answers(profile, STAGE, findings, top),
        step_times(profile, [one for one in by_code["PRF30"] if one.rule not in recorded]),
        timeline(profile, step=step, most=boxes),
    ]
    export(profile, parts[-1], files or {}, lang)
    answers = () if verdict.status is Status.SKIPPED else ANSWER
    return overview(STAGE, "analyse", parts, tier=profile.tier, answers=answers)


def join(recorded: Report | None, answer: Report, speed: Report | None = None) -> Report:
    """What `profile` says, where it ran, the parts of `analyse` and a benchmark as one report: the stage's."""
    reports = [*([recorded] if recorded else []), *answer.parts, *([speed] if speed else [])]
    return overview(STAGE, STAGE, reports, tier=answer.tier, answers=answer.answers)


def summary(profile: Profile, findings: list[Finding]) -> Finding:
    """One sentence: what costs most, the costliest operator, and the most that one change can save."""
    if not profile.conclusive:
        return Finding("PRF310", Status.SKIPPED, "PRF310.blind", {"path": profile.trace.source}, weight=1000.0)
    kind = max(PARTS, key=profile.breakdown.share)
    first = profile.operators[0] if profile.operators else None
    saving = largest(findings)
    args: dict[str, Scalar] = {
        "kind": {"say": _part_words(profile, kind)},
        "share": round(100 * profile.breakdown.share(kind), 1),
        "step_ms": profile.ms(profile.breakdown.step_ns),
        "operator": _named(profile, first) if first else None,
        "operator_share": _share(profile, first.self_ns) if first else None,
    }
    if saving:
        args.update(cause=named(saving), gain_ms=saving.args["gain_ms"], gain_share=saving.args["share"])
    status = max((one.status for one in findings if one.status is not Status.SKIPPED), default=Status.OK)
    waits = any(one.rule == "PRF313" and one.status in (Status.NOTE, Status.WARN) for one in findings)
    if profile.simulated and not waits:  # of a device nothing is known here
        status = max(status, Status.SKIPPED)
    key = ("simulated_" if profile.simulated else "") + ("saving" if saving else "none")
    return Finding("PRF310", status, f"PRF310.{key}", args, weight=1000.0)


def _of_a_cut_file(profile: Profile, verdict: Finding) -> Finding:
    """The verdict, or of a file that was cut short, that it is one of what is left of it."""
    if profile.trace.cut_at is None:
        return verdict
    args: dict[str, Scalar] = {"bytes": profile.trace.cut_at, "what": {"say": verdict.key, "args": verdict.args}}
    return Finding("PRF310", max(Status.WARN, verdict.status), "PRF310.cut", args, weight=verdict.weight)


def time_by_kind(profile: Profile, findings: list[Finding]) -> Report:
    """A row per part of the mean step; the parts never overlap and sum to it."""
    breakdown = profile.breakdown
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        ({"say": _part_words(profile, part)}, breakdown.per_step_ns(part) / 1e6, 100 * breakdown.share(part))
        for part in PARTS
    )
    columns = (Column("kind"), Column("profiling_time", "ms"), Column("share", "%"))
    chart = Chart("stack", "kind", ("profiling_time",), "ms")
    facts = _facts(profile)
    return Report(STAGE, "time_by_kind", tuple(findings), Table(columns, rows), chart, facts=facts, tier=profile.tier,
                  answers=ANSWER)  # fmt: skip


def top_operators(profile: Profile, findings: list[Finding], top: int) -> Report:
    """The costliest operators; calls and self time a step."""
    steps = len(profile.breakdown.steady)
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            one.name,
            {"say": f"profiling.kind.{one.kind}"},
            one.calls / steps,
            one.self_ns / steps / 1e6,
            _share(profile, one.self_ns),
            one.shape or None,
            one.dtype or None,
            (called_from(profile, one.row) or None) if one.row >= 0 else None,
        )
        for one in profile.operators[:top]
    )
    columns = (
        Column("operator", wrap=60),
        Column("kind"),
        Column("calls_per_step"),
        Column("self_time", "ms"),
        Column("share", "%"),
        Column("shape", wrap=40),
        Column("operator_dtype"),
        Column("called_from", wrap=40),
    )
    chart = Chart("bars", "operator", ("self_time",), "ms")
    calls: Counter[str] = Counter()  # a copy and a computation may have one name
    for operator in profile.operators:
        calls[operator.name] += operator.calls
    facts = {"calls_per_step": {name: count / steps for name, count in calls.items()}}
    return Report(STAGE, "top_operators", tuple(findings), Table(columns, rows), chart, facts=facts, tier=profile.tier,
                  answers=("PRF331",))  # fmt: skip


def step_times(profile: Profile, findings: list[Finding]) -> Report:
    """A row per step, in milliseconds; the first is not in the other tables where there are three or more."""
    steps = profile.breakdown.steps
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (step.number, step.total_ns / 1e6, *(step.parts_ns[part] / 1e6 for part in PARTS)) for step in steps
    )
    columns = (Column("step"), Column("step_time", "ms"), *(Column(f"profiling_{part}", "ms") for part in PARTS))
    chart = Chart("stacks", "step", tuple(f"profiling_{part}" for part in PARTS), "ms")
    return Report(STAGE, "step_times", tuple(findings), Table(columns, rows), chart, tier=profile.tier,
                  answers=("PRF303", "PRF302"))  # fmt: skip


def _facts(profile: Profile) -> dict[str, object]:
    trace = profile.trace
    return {
        "source": trace.source,
        "dialect": trace.dialect,
        **profile.step_facts(),
        "step_ns": profile.breakdown.step_ns,
        "parts_ns": {part: profile.breakdown.per_step_ns(part) for part in PARTS},
        "device_data": trace.on_device,
        "record": profile.record,
        "simulator": profile.record.get("simulator") or {},
    }


def _named(profile: Profile, operator: Operator) -> Scalar:
    """Its name; where its share is more than the step, several of it went on at once, and that is told."""
    at_once = _share(profile, operator.self_ns) > 100
    return {"say": "profiling.at_once", "args": {"operator": operator.name}} if at_once else operator.name


def _share(profile: Profile, self_ns: int) -> float:
    """Percent of the mean step."""
    return round(100 * self_ns / len(profile.breakdown.steady) / profile.breakdown.step_ns, 2)


def _part_words(profile: Profile, part: str) -> str:
    """On a CPU the same part has another meaning: computing is its operators, free is the time between them. On a
    simulated NPU computing is the CPU's kernels, and free all that the host does between two of them."""
    where = "simulated" if profile.simulated else "device"
    where = where if profile.breakdown.on_device else "host"
    return f"profiling.part.{part if part in ('communication', 'copy', 'loading') else f'{part}_{where}'}"
