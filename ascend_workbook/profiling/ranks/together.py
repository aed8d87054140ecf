"""All ranks as one report: what was found, who waits for whom, who is slow, a row a rank; then each rank by itself.

Each is read in a process of its own, or on a machine of a Dask cluster. What comes back is JSON text, the same from
both: of two ways to hand over a result one would be wrong one day."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, Union

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import format_spans
from ascend_workbook.profiling.ranks import rules
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.facts import RankFacts
from ascend_workbook.profiling.ranks.tables import STAGE, rank_table, report_collectives, report_links, report_packets
from ascend_workbook.profiling.ranks.waiting import compare_clocks
from ascend_workbook.profiling.readers import RankProfiles

#: What the verdict chooses from, the cause before what it brings about
CAUSES = ("PRF354", "PRF353", "PRF352", "PRF356", "PRF357")
#: Which finding is shown beside which table
BESIDE = {"PRF352": report_collectives, "PRF356": report_links, "PRF357": report_packets}
#: From more ranks than these the reports of the ranks that stand out and of the first ones are kept
WHOLE = 8


def analyse_ranks(rank_profiles: RankProfiles, answer: Answer, scheduler: str = "") -> Report:
    """Analyse all ranks in one report: a row a rank; the parts are the collectives, the links, and the reports of the
    ranks that could be read. A rank that cannot be read is a finding; raises WorkbookError only where none can."""
    outcomes = read_ranks_in_parallel(rank_profiles.profiles, answer, scheduler)
    read = {rank: outcome for rank, outcome in outcomes.items() if isinstance(outcome, RankAnswer)}
    unread = {rank: outcome for rank, outcome in outcomes.items() if isinstance(outcome, WorkbookError)}
    if not read:
        raise next(iter(unread.values()))
    run_ranks, *others = group_ranks_by_run({rank: outcome.facts for rank, outcome in read.items()})
    cluster = Cluster.from_ranks({rank: read[rank].facts for rank in run_ranks})
    faults = list(find_inventory_faults(rank_profiles, cluster, unread, [rank for run in others for rank in run]))
    return _make_report(cluster, faults, {rank: read[rank] for rank in run_ranks}, len(rank_profiles.profiles))


def reports_of_one_rank(facts: RankFacts) -> tuple[Report, ...]:
    """Return what one rank's own profile tells of its waits and links, as an NPU's does from level 1 on; else empty."""
    if not facts.steps or not ((facts.calls.told_wait_ns >= 0).any() or facts.links):
        return ()
    cluster = Cluster.from_ranks({facts.rank: facts})
    judged = judge_facts(cluster, rules_of(rules))
    return tuple(_part_reports(cluster, judged, facts.tier))


def _part_reports(cluster: Cluster, judged: list[Finding], tier: str) -> list[Report]:
    """Return the reports of the collectives, the links and the packets, where the profile tells of these."""
    parts = [
        table(cluster, [finding for finding in judged if finding.rule == code], tier) for code, table in BESIDE.items()
    ]
    return [part for part in parts if part]


def _make_report(cluster: Cluster, faults: list[Finding], read: Mapping[int, RankAnswer], ranks: int) -> Report:
    judged = judge_facts(cluster, rules_of(rules))
    tiers = {item.facts.tier for item in read.values()}
    tier = next(iter(tiers)) if len(tiers) == 1 else ""
    own = {
        rank: replace(item.report, facts={**item.report.facts, "rank": rank})
        for rank, item in read.items()
        if item.report
    }
    status = max([item.status for item in judged] + [item.status for item in own.values()], default=Status.OK)
    findings = [_make_headline(cluster, judged, ranks, status), *faults, *judged]
    table, chart = rank_table(cluster)
    parts = [*_part_reports(cluster, judged, tier), *(own[rank] for rank in _choose_ranks_to_show(judged, list(own)))]
    return Report(
        STAGE, "ranks", tuple(findings), table, chart, facts=_collect_facts(cluster), tier=tier, parts=tuple(parts)
    )


def _make_headline(cluster: Cluster, judged: list[Finding], ranks: int, status: Status) -> Finding:
    savings = [finding for finding in judged if finding.rule in CAUSES and finding.status in (Status.NOTE, Status.WARN)]
    args: dict[str, Scalar] = {"read": len(cluster.ranks), "ranks": ranks}
    if savings:
        most = max(finding.weight for finding in savings)
        worth = min(
            (finding for finding in savings if finding.weight >= most / 2),
            key=lambda finding: CAUSES.index(finding.rule),
        )
        args["what"] = Sentence(worth.key, **worth.args)
        return Finding("PRF310", status, "PRF310.ranks_saving", args, weight=1000.0)
    computing = {rank: cluster.mean_part_ms(rank, "computing") for rank in cluster.ranks}
    most, least = (choose(computing, key=computing.__getitem__) for choose in (max, min))
    args |= {"most": most, "most_ms": round(computing[most], 3)}
    args |= {"least": least, "least_ms": round(computing[least], 3)}
    return Finding("PRF310", status, "PRF310.ranks", args, weight=1000.0)


def _choose_ranks_to_show(judged: list[Finding], ranks: list[int]) -> list[int]:
    """Return the ranks whose own reports are kept: all, or of many those that findings name and the first ones."""
    if len(ranks) <= WHOLE:
        return ranks
    open_args = [finding.args for finding in judged if finding.status is not Status.OK]
    named = [args.get(name) for args in open_args for name in ("rank", "waited_rank")]
    first = list(dict.fromkeys([*(rank for rank in ranks if rank in named), *ranks]))[:WHOLE]
    return sorted(first)


def _collect_facts(cluster: Cluster) -> dict[str, object]:
    return {
        "ranks": list(cluster.ranks),
        "world_size": cluster.world_size,
        "stages": {str(rank): stage for rank, stage in cluster.stages.items()},
        "step_ms": cluster.step_ms,
        "steady_steps": {str(rank): [step.number for step in item.steps] for rank, item in cluster.ranks.items()},
        "looked": {str(rank): asdict(item) for rank, item in cluster.chosen_steps.items()},
        "clocks": {str(rank): asdict(clock) for rank, clock in cluster.clocks.items()},
        "clocks_set_right": sorted(cluster.shifted_clocks()),
        "matched_collectives": int(np.unique(cluster.matches.collective[cluster.matches.members > 1]).size),
    }


CODE = "PRF350"


def find_inventory_faults(
    rank_profiles: RankProfiles, cluster: Cluster, unread: Mapping[int, WorkbookError], others: list[int]
) -> Iterator[Finding]:
    """Yield one finding for each profile that is unread, doubled, missing or of another run."""
    for rank, error in unread.items():
        reason: Scalar = Sentence(error.key, **error.arguments)
        yield Finding("PRF310", Status.FAIL, "PRF310.unread", {"rank": rank, "error": reason})
    for rank, older in rank_profiles.older.items():
        used = rank_profiles.profiles[rank]
        twice: dict[str, Scalar] = {"rank": rank, "count": len(older) + 1, "used": used.name}
        yield Finding(CODE, Status.WARN, "PRF350.twice", twice, Place(str(used)))
    for path in rank_profiles.untold:
        yield Finding(CODE, Status.WARN, "PRF350.untold", {"path": str(path)}, Place(str(path)))
    if others:
        args: dict[str, Scalar] = {"others": list(others), "kept": list(cluster.ranks)}
        yield Finding(CODE, Status.WARN, "PRF350.other_run", args)
    tables = [rank for rank, facts in cluster.ranks.items() if facts.tables_only]
    if tables:
        yield Finding(CODE, Status.NOTE, "PRF350.tables", {"ranks": list(tables)})
    world = cluster.world_size
    if missing := [rank for rank in range(world) if rank not in rank_profiles.profiles]:
        args = {"ranks": world - len(missing), "world": world, "missing": format_spans(missing)}
        yield Finding(CODE, Status.SKIPPED, "PRF350.missing", args)


#: Clocks of one run are not further apart than this without the ends of their collectives saying by how much
FAR_NS, EXACT_NS = 60 * 10**9, 5_000_000
#: And their steps not, where they share no collective
APART_NS = 600 * 10**9
UNKNOWN_NS = 2**62


def group_ranks_by_run(ranks: Mapping[int, RankFacts]) -> list[list[int]]:
    """Return the ranks by their runs, the largest run first and of equal ones the latest."""
    groups: list[list[int]] = []
    for rank, facts in sorted(ranks.items()):
        own_group = next((run for run in groups if _is_same_run(ranks[run[0]], facts)), None)
        if own_group is None:
            groups.append(own_group := [])
        own_group.append(rank)
    return sorted(groups, key=lambda run: (len(run), _first_start_ns(ranks[run[0]])), reverse=True)


def _is_same_run(first: RankFacts, other: RankFacts) -> bool:
    if first.world_size and other.world_size and first.world_size != other.world_size:
        return False
    clock = compare_clocks({0: first, 1: other})[1]
    if clock.shared:
        return abs(clock.ahead_ns) < FAR_NS or (clock.shared >= 3 and clock.spread_ns < EXACT_NS)
    times = [
        (_first_start_ns(facts), _first_start_ns(facts) + sum(step.total_ns for step in facts.steps))
        for facts in (first, other)
    ]
    if any(begin >= UNKNOWN_NS for begin, _ in times):
        return True
    return max(begin for begin, _ in times) - min(end for _, end in times) < APART_NS


def _first_start_ns(facts: RankFacts) -> int:
    return min(step.start_ns for step in facts.steps)


#: (path, rank) -> what `answer_to_json` gives; a function that processes and machines can share
Answer = Callable[[str, int], str]


class RankAnswer(NamedTuple):
    """What one rank's profile says; `report` is None where only tables are there."""

    facts: RankFacts
    report: Report | None


Outcome = Union[RankAnswer, WorkbookError]


def answer_to_json(read: Callable[[], RankAnswer]) -> str:
    """Return an answer as JSON text; an error as its key and arguments."""
    try:
        facts, report = read()
    except WorkbookError as error:
        return json.dumps({"error": error.key, "args": error.arguments})
    return json.dumps({"facts": facts.to_dict(), "report": report.to_json() if report else None})


def read_ranks_in_parallel(profiles: Mapping[int, Path], answer: Answer, scheduler: str = "") -> dict[int, Outcome]:
    """Read every rank and return its answer by rank. Raises WorkbookError where the cluster cannot be used."""
    paths = {rank: str(path.resolve()) for rank, path in profiles.items()}
    texts = _on_cluster(paths, answer, scheduler) if scheduler else _in_processes(paths, answer)
    return {rank: _parse_outcome(text) for rank, text in texts.items()}


def _in_processes(paths: Mapping[int, str], answer: Answer) -> dict[int, str]:
    from concurrent.futures import ProcessPoolExecutor  # not needed where there is one rank
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(min(len(paths), os.cpu_count() or 1)) as processes:
        futures = {rank: processes.submit(answer, path, rank) for rank, path in paths.items()}
    texts = {}
    for rank, future in futures.items():
        try:
            texts[rank] = future.result()
        except BrokenProcessPool:  # one that is killed takes the others' with it, so each of these is read alone
            with ProcessPoolExecutor(1) as process:
                try:
                    texts[rank] = process.submit(answer, paths[rank], rank).result()
                except BrokenProcessPool as cause:
                    texts[rank] = json.dumps(
                        {"error": "ranks.process_lost", "args": {"rank": rank, "error": str(cause)}}
                    )
    return texts


def _on_cluster(paths: Mapping[int, str], answer: Answer, address: str) -> dict[int, str]:
    from ascend_workbook.machine.scheduler import connect_client, explain_loss, wait_for

    with connect_client(address) as client:
        futures = client.map(answer, list(paths.values()), list(paths), pure=False)
        wait_for(client, address, futures)
        texts = {}
        for rank, future in zip(paths, futures):
            why = explain_loss(address, future)
            lost = json.dumps({"error": "ranks.machine_lost", "args": {"rank": rank, "error": why}})
            texts[rank] = str(future.result()) if why is None else lost
        return texts


def _parse_outcome(text: str) -> Outcome:
    content = json.loads(text)
    if "error" in content:
        return WorkbookError(content["error"], **content["args"])
    report = Report.from_json(content["report"]) if content["report"] else None
    return RankAnswer(RankFacts.from_dict(content["facts"]), report)
