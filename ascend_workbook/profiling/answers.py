"""`analyse`: a profile in, one report out: where the time goes, what the rules advise, and a part for each answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, join_reports
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import parse_numbers
from ascend_workbook.profiling import rules
from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.causes.answers import report_causes
from ascend_workbook.profiling.device.answers import device_answers
from ascend_workbook.profiling.device.efficiency import report_roofline
from ascend_workbook.profiling.device.memory import memory_answers
from ascend_workbook.profiling.export.files import export_files, refuse_targets
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.figures import make_columns
from ascend_workbook.profiling.ranks.reading import facts_of, read_rank, read_stated_rank
from ascend_workbook.profiling.ranks.together import RankAnswer, analyse_ranks, answer_to_json, reports_of_one_rank
from ascend_workbook.profiling.readers import RankProfiles, find_trace_file, locate_profile, rank_of, rank_profiles_at
from ascend_workbook.profiling.readers.choice import ALL, AUTO, Choice, choose_steps
from ascend_workbook.profiling.savings import find_caller
from ascend_workbook.profiling.timeline.report import MOST, report_timeline
from ascend_workbook.profiling.tuning import describe_saving, find_largest_saving, report_tuning

STAGE = "profiling"
#: Whose finding says where the time goes
ANSWER = ("PRF310",)
#: How near the kernels come to what the chip can do
EFFICIENCY = ("PRF325", "PRF326", "PRF327")
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
    """Return the report of the profile at `path`: a trace file, an `*_ascend_pt` folder, or what `profile` wrote. Among
    its parts are `time_by_kind` (chart: the mean step, stacked), `top_operators`, `step_times` and `timeline` (of the
    step with the number `step`, else of a median one). Of a folder with a profile from each of several ranks: a row a
    rank, who waits for whom, and such a report of each as a part; `ranks` selects some ([0, 3] or "0,3-5"), `scheduler`
    is the address of a Dask cluster that reads them. `files`, of one rank alone: what else to write, `timeline`,
    `perfetto` or `flame` to a path (export.ENDINGS); in the language `lang`. With a `baseline` (such a profile) the
    report says what differs between the two (compare.report), of folders of several ranks between those of the one rank
    in `ranks`. `steps`: which steps are looked at: `all`, numbers such as `40-60`, or `auto`: all of a trace up to 512
    MiB, of a larger one so many that follow one another and are like the mean. What other steps launched counts as in a
    reading of all. With a `baseline` numbers are those of both sides, and `auto` chooses for each by itself. Raises
    WorkbookError for what is no profile, or a broken one. `advisor`: ask msprof-analyze too, where it is installed."""
    if advisor:
        from ascend_workbook.profiling.advisor import add_advisor_part

        rest = partial(analyse, path, top=top, step=step, files=files, baseline=baseline)
        return add_advisor_part(rest(lang=lang, ranks=ranks, scheduler=scheduler, steps=steps), path, lang)
    if top < 1:
        raise WorkbookError("profiling.too_few", name="top", value=top, least=1)
    files = files or {}
    refuse_targets(files, [path] if baseline is None else [path, baseline])
    if baseline is not None:
        from ascend_workbook.profiling.compare.report import compare_profiles

        try:
            before, after = (load_profile(_one_rank(side, ranks), steps) for side in (baseline, path))
        except WorkbookError as error:
            if error.key != "profiling.no_such_steps":
                raise
            raise WorkbookError("profiling.no_such_steps_of_both", **error.arguments) from error
        if files:
            export_files(after, report_timeline(after, step=step), files, lang)
        return compare_profiles(before, after, top=top)
    several = rank_profiles_at(Path(path))
    if not several:
        if ranks:
            own_rank = rank_of(locate_profile(Path(path)))
            asked = parse_numbers(ranks, "ranks")
            if asked != [own_rank]:
                here: list[Scalar] | None = None if own_rank is None else [own_rank]
                raise WorkbookError("PRF350.not_asked", ranks=list(asked), path=str(Path(path)), here=here)
        profile = load_profile(path, steps)
        report = _report_profile(profile, top=top, boxes=MOST, step=step, files=files, lang=lang)
        return replace(report, parts=(*report.parts, *_report_collectives(profile, locate_profile(Path(path)))))
    for option in [*(f"--{kind}" for kind in files), *(["--step"] if step is not None else [])]:
        raise _one_rank_error(path, several.profiles, option)
    chosen = _select_ranks(several, ranks, path)
    common_steps, boxes = _choose_common_steps(chosen, steps), max(500, MOST // len(chosen.profiles))
    answer = partial(_answer_of_rank, top=top, boxes=boxes, steps=common_steps, own=steps == AUTO)
    return analyse_ranks(chosen, answer, scheduler)


def _select_ranks(several: RankProfiles, ranks: str | Sequence[int], path: str | os.PathLike[str]) -> RankProfiles:
    """Return the profiles of the ranks asked for, of all where none is named."""
    if not ranks:
        return several
    wanted = parse_numbers(ranks, "ranks")
    absent: list[Scalar] = [rank for rank in wanted if rank not in several.profiles]
    if absent:
        raise WorkbookError("PRF350.not_asked", ranks=absent, path=os.fspath(path), here=list(several.profiles))
    older = {rank: several.older[rank] for rank in wanted if rank in several.older}
    return RankProfiles({rank: several.profiles[rank] for rank in wanted}, older)


def _choose_common_steps(chosen: RankProfiles, steps: str) -> str:
    """Choose the steps that all ranks are looked at in: those that the largest trace which can be read would choose."""
    files = [file for file in map(find_trace_file, chosen.profiles.values()) if file] if steps == AUTO else []
    for file in sorted(files, key=lambda trace_path: trace_path.stat().st_size, reverse=True):
        try:
            choice = choose_steps(file, AUTO)
        except WorkbookError:
            continue  # reading that rank says what is wrong with it
        return choice.span if isinstance(choice, Choice) else ALL
    return ALL if steps == AUTO else steps


def _answer_of_rank(path: str, rank: int, *, top: int, boxes: int, steps: str, own: bool) -> str:
    """Return what one rank's profile says, as it travels between processes and machines."""

    def read_answer() -> RankAnswer:
        facts, profile = read_rank(Path(path), rank, steps, own)
        return RankAnswer(facts, _report_profile(profile, top=top, boxes=boxes) if profile else None)

    return answer_to_json(read_answer)


def _report_collectives(profile: Profile, profile_path: Path) -> tuple[Report, ...]:
    """Report what the rank waits for. A table that cannot be read does not take the trace's answers along."""
    try:
        return reports_of_one_rank(facts_of(profile, profile_path, read_stated_rank(profile)))
    except WorkbookError as error:
        why: Scalar = Sentence(error.key, **error.arguments)
        finding = Finding("PRF352", Status.NOT_LOOKED, "PRF352.unread", {"error": why})
        return (Report(STAGE, "collectives", (finding,), tier=profile.tier),)


def _one_rank_error(path: str | os.PathLike[str], profiles: Mapping[int, Path], option: str) -> WorkbookError:
    """Return the error that an option takes one rank's profile, not those of several."""
    paths: list[Scalar] = [str(profile_path) for profile_path in list(profiles.values())[:NAMED]]
    return WorkbookError("profiling.one_rank", path=os.fspath(path), ranks=len(profiles), option=option, paths=paths)


def _one_rank(path: str | os.PathLike[str], ranks: str | Sequence[int]) -> str | os.PathLike[str]:
    """Return the path itself, or of a folder of several ranks the profile of the one that `ranks` selects."""
    several = rank_profiles_at(Path(path))
    if not several:
        return path
    chosen = _select_ranks(several, ranks, path).profiles
    if len(chosen) != 1:
        raise _one_rank_error(path, chosen, "--baseline")
    return next(iter(chosen.values()))


def _report_profile(
    profile: Profile,
    *,
    top: int,
    boxes: int,
    step: int | None = None,
    files: Mapping[str, str] | None = None,
    lang: str | None = None,
) -> Report:
    """Judge one profile and return its report with all parts."""
    findings = judge_profile(profile)
    verdict = summarise_profile(profile, findings)
    if profile.trace.cut_at is not None:  # then it is one of what is left of the file
        args: dict[str, Scalar] = {"bytes": profile.trace.cut_at, "what": Sentence(verdict.key, **verdict.args)}
        verdict = replace(verdict, status=max(Status.LOOK, verdict.status), args=args)
        # damage is asked for first: a damaged file has a place where it was cut too
        verdict = replace(verdict, key="PRF310.damaged" if profile.trace.damage else "PRF310.cut")
    recorded = {
        code: [finding for finding in findings if finding.rule == code] for code in ("PRF301", "PRF305", "PRF316")
    }
    by_code = {ten: [finding for finding in findings if finding.rule[:5] == ten] for ten in ("PRF30", "PRF31", "PRF33")}
    parts = [
        time_by_kind(profile, [verdict, *recorded["PRF301"], *(f for f in by_code["PRF31"] if f.rule != "PRF316")]),
        report_causes(profile, STAGE, recorded["PRF316"]),
        *device_answers(profile, STAGE, findings),
        *report_roofline(profile, STAGE, [finding for finding in findings if finding.rule in EFFICIENCY]),
        report_tuning(profile, STAGE, findings),
        top_operators(profile, [*by_code["PRF33"], *recorded["PRF305"]], top),
        *memory_answers(profile, STAGE, findings, top),
        step_times(profile, [finding for finding in by_code["PRF30"] if finding.rule not in recorded]),
        report_timeline(profile, step=step, most=boxes),
    ]
    export_files(profile, parts[-1], files or {}, lang)
    answers = () if verdict.status is Status.NOT_LOOKED else ANSWER
    if profile.estimated:
        parts = [replace(part, facts={**part.facts, "estimated": True}) for part in parts]
    return join_reports(STAGE, "analyse", parts, tier=profile.tier, answers=answers)


def judge_profile(profile: Profile) -> list[Finding]:
    """Judge a profile by all rules; one whose times are estimates by those alone that may speak of such, as notes."""
    checks = rules_of(rules)
    if not profile.estimated:
        return judge_facts(profile, checks)
    judged = judge_facts(profile, {code: checks[code] for code in rules.ON_ESTIMATES})
    noted = [
        replace(finding, status=min(finding.status, Status.NOTE)) if finding.status > Status.NOT_LOOKED else finding
        for finding in judged
    ]
    unlooked = [code for code in checks if code not in rules.ON_ESTIMATES]
    return noted + [Finding(code, Status.NOT_LOOKED, "profiling.on_estimates", {"topic": code}) for code in unlooked]


def join(recorded: Report | None, answer: Report, speed: Report | None = None) -> Report:
    """Join what `profile` says, where it ran, the parts of `analyse` and a benchmark into one report: the stage's."""
    reports = [*([recorded] if recorded else []), *answer.parts, *([speed] if speed else [])]
    return join_reports(STAGE, STAGE, reports, tier=answer.tier, answers=answer.answers)


def summarise_profile(profile: Profile, findings: list[Finding]) -> Finding:
    """Say in one sentence what costs most, the costliest operator, and the most that one change can save."""
    if not profile.conclusive:
        key = "PRF310.blind" if profile.operators else "PRF310.nothing"
        return Finding("PRF310", Status.NOT_LOOKED, key, {"path": profile.trace.source}, weight=1000.0)
    kind = max(PARTS, key=profile.breakdown.share_of)
    first = profile.operators[0] if profile.operators else None
    saving = find_largest_saving(profile, findings)
    first_share = _percent_of_step(profile, first.self_ns) if first else None
    label: Scalar = first.name if first else None
    if first_share is not None and first_share > 100:
        label = Sentence("profiling.at_once", operator=label)
    args: dict[str, Scalar] = {
        "kind": Sentence(_part_words(profile, kind)),
        "share": round(100 * profile.breakdown.share_of(kind), 1),
        "step_ms": profile.to_ms(profile.breakdown.step_ns),
        "operator": label,
        "operator_share": first_share,
    }
    if saving:
        args["cause"] = describe_saving(profile, saving)
        args.update(gain_ms=saving.args["gain_ms"], gain_share=saving.args["share"])
    status = max(
        (finding.status for finding in findings if finding.status is not Status.NOT_LOOKED), default=Status.GOOD
    )
    waits = any(finding.rule == "PRF313" and finding.status in (Status.NOTE, Status.LOOK) for finding in findings)
    if profile.simulated and not waits:  # of a device nothing is known here
        status = max(status, Status.NOT_LOOKED)
    origin = "simulated_" if profile.simulated else "estimated_" if profile.estimated else ""
    key = origin + ("saving" if saving else "none")
    return Finding("PRF310", status, f"PRF310.{key}", args, weight=1000.0)


def time_by_kind(profile: Profile, findings: list[Finding]) -> Report:
    """Report the mean step by kind: a row per part; the parts never overlap and sum to the step."""
    breakdown = profile.breakdown
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (Sentence(_part_words(profile, part)), breakdown.per_step_ns(part) / 1e6, 100 * breakdown.share_of(part))
        for part in PARTS
    )
    columns = (Column("kind"), Column("profiling_time", "ms"), Column("share", "%"))
    chart = Chart("stack", "kind", ("profiling_time",), "ms")
    table, facts = Table(columns, rows), _collect_facts(profile)
    return Report(STAGE, "time_by_kind", tuple(findings), table, chart, facts=facts, tier=profile.tier, answers=ANSWER)


def top_operators(profile: Profile, findings: list[Finding], top: int) -> Report:
    """Report the costliest operators, with calls and self time a step."""
    steps = len(profile.breakdown.steady)
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (
            row_operator.name,
            Sentence(f"profiling.kind.{row_operator.kind}"),
            row_operator.calls / steps,
            row_operator.self_ns / steps / 1e6,
            _percent_of_step(profile, row_operator.self_ns),
            row_operator.shape or None,
            row_operator.dtype or None,
            (find_caller(profile, row_operator.row) or None) if row_operator.row >= 0 else None,
        )
        for row_operator in profile.operators[:top]
    )
    costs = make_columns(kind="", calls_per_step="", self_time="ms", share="%")
    inputs = (Column("shape", wrap=40), Column("operator_dtype"), Column("called_from", wrap=40))
    columns = (Column("operator", wrap=60), *costs, *inputs)
    chart = Chart("bars", "operator", ("self_time",), "ms")
    calls: Counter[str] = Counter()  # a copy and a computation may have one name
    for operator in profile.operators:
        calls[operator.name] += operator.calls
    facts = {"calls_per_step": {name: count / steps for name, count in calls.items()}}
    table = Table(columns, rows)
    return Report(
        STAGE, "top_operators", tuple(findings), table, chart, facts=facts, tier=profile.tier, answers=("PRF331",)
    )


def step_times(profile: Profile, findings: list[Finding]) -> Report:
    """Report each step's time in milliseconds; of three or more the first is in no other table."""
    steps = profile.breakdown.steps
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (step.number, step.total_ns / 1e6, *(step.parts_ns[part] / 1e6 for part in PARTS)) for step in steps
    )
    columns = (Column("step"), Column("step_time", "ms"), *(Column(f"profiling_{part}", "ms") for part in PARTS))
    chart = Chart("stacks", "step", tuple(f"profiling_{part}" for part in PARTS), "ms")
    table, answers = Table(columns, rows), ("PRF303", "PRF302")
    return Report(STAGE, "step_times", tuple(findings), table, chart, tier=profile.tier, answers=answers)


def _collect_facts(profile: Profile) -> dict[str, object]:
    """Collect the numbers that the report gives beside its tables."""
    trace = profile.trace
    return {
        "source": trace.source,
        "dialect": trace.dialect,
        **profile.step_facts(),
        "step_ns": profile.breakdown.step_ns,
        "parts_ns": {part: profile.breakdown.per_step_ns(part) for part in PARTS},
        "device_data": trace.on_device,
        "estimated": profile.estimated,
        "record": profile.record,
        "simulator": profile.record.get("simulator") or {},
    }


def _percent_of_step(profile: Profile, self_ns: int) -> float:
    """Return a self time in percent of the mean step."""
    return round(100 * self_ns / len(profile.breakdown.steady) / profile.breakdown.step_ns, 2)


def _part_words(profile: Profile, part: str) -> str:
    """Return the key of a part's name: on a CPU the same part has another meaning, for computing is its operators and
    free is the time between them. On a simulated NPU computing is the CPU's kernels, and free all that the host does
    between two of them."""
    where = "simulated" if profile.simulated else "device"
    where = where if profile.breakdown.on_device else "host"
    return f"profiling.part.{part if part in ('communication', 'copy', 'loading') else f'{part}_{where}'}"
