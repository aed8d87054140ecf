"""What a rehearsal came to, as a report: does it fit, what holds the memory, what was assumed, how long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.dry_run import sides
from ascend_workbook.migration.kept import keep_files
from ascend_workbook.planning.card import GIB, outside_bytes
from ascend_workbook.planning.rehearsal.memory import KINDS, Holder, Memory
from ascend_workbook.planning.rehearsal.reads import Read
from ascend_workbook.planning.rehearsal.runs import MOST_EVENTS, RankRun, Rehearsal
from ascend_workbook.planning.rehearsal.settings import Cluster
from ascend_workbook.planning.rehearsal.stand_ins import CONTENT, UNKNOWN, find_address
from ascend_workbook.planning.rehearsal.times import StepTime
from ascend_workbook.planning.rehearsal.variants import Variant

STAGE, VERB, TIER = "planning", "rehearse", "npu-simulated"
MIB = 1 << 20
#: A peak is called one that fits only where so much of the card is left beside all that is not known.
MARGIN = 0.08
#: More than this part of what is reserved lost to pieces that fit nothing is worth a look.
FRAGMENTED = 0.1
#: By so much the steps must stay below the peak to say that building the model is what takes it.
BUILT = 0.1
SHOWN, MOST_ROWS = 6, 40
#: What holds less than this part of the peak is one row with all others of its size.
TOO_SMALL = 0.001
FITS, UNSURE, OUT, FAILED = "fits", "unsure", "out", "failed"


@dataclass(frozen=True)
class Tried:
    """A variant that was rehearsed."""

    variant: Variant
    run: RankRun


@dataclass(frozen=True)
class Material:
    """All that the report is made of. `free`: the rank that ran out of memory again on a card without a limit."""

    rehearsal: Rehearsal
    runs: tuple[RankRun, ...]
    basis: Basis
    times: StepTime | None = None
    free: RankRun | None = None
    cures: tuple[Tried, ...] = ()
    settings: tuple[Tried, ...] = ()
    tokens: int = 0
    profile: str = ""

    @property
    def worst(self) -> RankRun:
        """Return the rank that decides: one that failed, else the one that reserves most."""
        failed = [run for run in self.runs if not run.result.ok]
        return failed[0] if failed else max(self.runs, key=lambda run: run.memory.reserved if run.memory else 0)


def judge_fit(memory: Memory, cluster: Cluster, communicators: int) -> str:
    """Judge whether a rank fits its card: with all that lies outside PyTorch at its most, and a margin beside it."""
    low, high = outside_bytes(communicators)
    if memory.refused or memory.reserved + low > cluster.memory:
        return OUT
    return FITS if memory.reserved + high <= cluster.memory * (1 - MARGIN) else UNSURE


def count_communicators(run: RankRun) -> int:
    """Count the groups that a rank talks in, which each take buffers outside PyTorch."""
    return len({collective.group for collective in run.work.collectives}) if run.work else 0


def make_report(material: Material) -> Report:
    """Make the report of a rehearsal."""
    memory = _find_memory(material)
    findings = [_judge(material), *_describe_ranks(material)]
    if memory is not None:
        findings += [_describe_holders(memory), *_describe_cut(memory)]
        findings += _describe_fragmentation(memory, findings[0].status)
    findings += _describe_stand_ins(material)
    findings += _describe_reads(material)
    findings += _describe_times(material)
    findings += _describe_cures(material)
    if material.profile:
        findings.append(Finding("PLN508", Status.NOTE, "PLN508.profile", {"path": material.profile}))
    findings += sides.report_surroundings(material.rehearsal.plan, *(run.result for run in material.runs))
    rows = tuple(_rank_row(material, run) for run in material.runs)
    columns = (
        Column("rank"),
        *(Column(name, "GiB") for name in ("allocated_peak", "reserved_peak", "outside_most", "card_memory")),
        Column("verdict"),
    )
    return Report(
        STAGE,
        VERB,
        tuple(findings),
        Table(columns, rows),
        facts={**_collect_facts(material), "sources": _keep_sources(material, memory, findings)},
        tier=TIER,
        parts=tuple(_list_parts(material, memory)),
        answers=("PLN500",),
    )


def _find_memory(material: Material) -> Memory | None:
    """Return the memory of the rank that decides; None where another error than a lack of memory stopped it."""
    if material.free is not None and material.free.memory is not None:
        return material.free.memory
    return material.worst.memory if _judge_run(material.worst, material.rehearsal.cluster) != FAILED else None


def _judge_run(run: RankRun, cluster: Cluster) -> str:
    """Judge whether a rank that holds memory fits; one that another error stopped before a step says nothing of it."""
    if run.memory is None or not (run.result.ok or run.out_of_memory or _came_to_a_step(run)):
        return FAILED
    return judge_fit(run.memory, cluster, count_communicators(run))


def _gib(size: float) -> float:
    return float(f"{size / GIB:.4g}")


def _judge(material: Material) -> Finding:
    """Say whether it fits; where the script failed of something else, that."""
    worst, cluster = material.worst, material.rehearsal.cluster
    if not worst.result.ok and not worst.out_of_memory and not _came_to_a_step(worst):
        trouble, place = sides.describe_failure(material.rehearsal.plan, f"rank{worst.rank}", worst.result)
        address = find_address(worst.result, worst.stand_ins, material.rehearsal.plan.out / f"rank{worst.rank}")
        if address and not material.rehearsal.plan.network:
            key = "PLN500.download" if address == UNKNOWN else "PLN500.network"
            asked: dict[str, Scalar] = {"rank": worst.rank}
            asked |= {} if address == UNKNOWN else {"address": address}
            return Finding("PLN500", Status.FIX, key, asked, place, weight=200)
        failed: dict[str, Scalar] = {"rank": worst.rank, "trouble": trouble}
        made_up: list[Scalar] = [*dict.fromkeys(each.name for each in worst.stand_ins if each.kind in CONTENT)]
        if made_up:
            failed["names"] = made_up[:SHOWN]
        key = "PLN500.made_up" if made_up else "PLN500.failed"
        return Finding("PLN500", Status.FIX, key, failed, place, weight=200)
    if worst.memory is None or not worst.memory.reserved and not worst.memory.refused:
        return Finding("PLN500", Status.NOT_LOOKED, "PLN500.no_device", {"rank": worst.rank}, weight=200)
    communicators = count_communicators(worst)
    low, high = outside_bytes(communicators)
    args: dict[str, Scalar] = {
        "rank": worst.rank,
        "cards": cluster.cards,
        "chip": cluster.chip.name,
        "memory": _gib(cluster.memory),
        "reserved": _gib(worst.memory.reserved),
        "low": _gib(low),
        "high": _gib(high),
    }
    verdict = judge_fit(worst.memory, cluster, communicators)
    if verdict == OUT:
        error = worst.result.error
        place = sides.place_of(material.rehearsal.plan, f"rank{worst.rank}", error.path, error.line) if error else None
        args |= (
            {"asked": _gib(worst.memory.refused), "needed": _gib(material.free.memory.reserved)}
            if (material.free is not None and material.free.memory is not None)
            else {"asked": _gib(worst.memory.refused)}
        )
        key = "PLN500.needs" if "needed" in args else "PLN500.out"
        return Finding("PLN500", Status.FIX, key, args, place, weight=200)
    if not worst.result.ok:
        trouble, place = sides.describe_failure(material.rehearsal.plan, f"rank{worst.rank}", worst.result)
        verdict_word = Sentence(f"rehearsal.verdict.{verdict}")
        args |= {"steps": len(worst.memory.steps), "trouble": trouble, "verdict": verdict_word}
        return Finding("PLN500", Status.LOOK, "PLN500.partial", args, place, weight=200)
    if any(stand_in.kind == "moved" for run in material.runs for stand_in in run.stand_ins):
        args["verdict"] = Sentence(f"rehearsal.verdict.{verdict}")
        return Finding("PLN500", Status.LOOK, "PLN500.moved", args, weight=200)
    shaped = any(read.sets_shape for run in material.runs for read in run.reads)
    guessed = any(stand_in.guessed for run in material.runs for stand_in in run.stand_ins)
    if verdict == UNSURE or shaped or guessed:
        key = "PLN500.unsure" if verdict == UNSURE else "PLN500.shaped" if shaped else "PLN500.stood_in"
        return Finding("PLN500", Status.LOOK, key, args, weight=200)
    return Finding("PLN500", Status.GOOD, "PLN500.fits", args, weight=200)


def _came_to_a_step(run: RankRun) -> bool:
    """Return whether a run that failed had made a step: what memory a step takes is known then."""
    return run.memory is not None and bool(run.memory.steps)


def _describe_ranks(material: Material) -> Iterator[Finding]:
    """Say which ranks were run, and for which they stand."""
    cards = material.rehearsal.cluster.cards
    if cards == 1:
        return
    ranks: list[Scalar] = [run.rank for run in material.runs]
    alike = len({run.signature for run in material.runs}) == 1
    if len(ranks) == 1:
        yield Finding("PLN501", Status.NOTE, "PLN501.one", {"rank": ranks[0], "cards": cards})
        return
    key = "PLN501.all" if len(ranks) == cards else "PLN501.alike" if alike else "PLN501.differ"
    yield Finding("PLN501", Status.NOTE, key, {"ranks": ranks, "cards": cards})


def _describe_holders(memory: Memory) -> Finding:
    """Say what holds most at the peak."""
    total = max(1, sum(memory.by_kind.values()))
    largest: list[Scalar] = [
        Sentence(
            "rehearsal.share",
            kind=Sentence(f"rehearsal.kind.{kind}"),
            size=_gib(size),
            percent=round(100 * size / total),
        )
        for kind, size in sorted(memory.by_kind.items(), key=lambda pair: -pair[1])
        if size * 50 > total
    ]
    args: dict[str, Scalar] = {"total": _gib(total), "kinds": largest}
    if 0 < memory.later < (1 - BUILT) * total:
        return Finding("PLN502", Status.NOTE, "PLN502.built", {**args, "later": _gib(memory.later)})
    return Finding("PLN502", Status.NOTE, "PLN502.holders", args)


def _describe_cut(memory: Memory) -> Iterator[Finding]:
    """Say where the allocator's history was too long to be kept whole: whose memory it was is not all known then."""
    events = memory.facts.get("events", 0)
    if not memory.replayed and events >= MOST_EVENTS:
        yield Finding("PLN502", Status.LOOK, "PLN502.cut", {"events": events})


def _describe_fragmentation(memory: Memory, verdict: Status) -> Iterator[Finding]:
    """Say what was reserved beyond what was in use, where that is much: a remark where all fits as it is."""
    share = memory.fragmentation / max(1, memory.reserved)
    if share > FRAGMENTED and memory.fragmentation > 256 * MIB:
        args: dict[str, Scalar] = {"lost": _gib(memory.fragmentation), "percent": round(100 * share)}
        status = Status.NOTE if verdict is Status.GOOD else Status.LOOK
        yield Finding("PLN503", status, "PLN503.fragmented", args)


def _describe_stand_ins(material: Material) -> Iterator[Finding]:
    """Say what was not here and was made up, each once over all ranks."""
    stand_ins = {(each.kind, each.name): each for run in material.runs for each in run.stand_ins}
    older = [each for each in stand_ins.values() if each.kind == "older"]
    others = [each for each in stand_ins.values() if each.kind != "older"]
    for key, chosen in (
        ("PLN509.older", older),
        ("PLN509.guessed", [each for each in others if each.guessed]),
        ("PLN509.known", [each for each in others if not each.guessed]),
    ):
        what: list[Scalar] = [each.sentence for each in chosen[:SHOWN]]
        places: list[Scalar] = [f"{Path(each.file).name}:{each.line}" for each in chosen[:SHOWN] if each.file]
        if chosen:
            status = Status.NOTE if key == "PLN509.known" else Status.LOOK
            yield Finding("PLN509", status, key, {"count": len(chosen), "what": what, "places": places or ["-"]})


def _describe_reads(material: Material) -> Iterator[Finding]:
    """Say what was assumed, each place once over all ranks."""
    reads = _list_reads(material)
    values = [read for read in reads if read.kind == "value"]
    shaped = [read for read in values if read.sets_shape]
    if shaped:
        places: list[Scalar] = [f"{Path(read.file).name}:{read.line}" for read in shaped[:SHOWN]]
        yield Finding("PLN504", Status.LOOK, "PLN504.shapes", {"count": len(shaped), "places": places})
    if len(values) > len(shaped):
        plain = [read for read in values if not read.sets_shape]
        named: list[Scalar] = [f"{Path(read.file).name}:{read.line} = {read.value}" for read in plain[:SHOWN]]
        yield Finding("PLN504", Status.NOTE, "PLN504.values", {"count": len(plain), "values": named})
    files = [read for read in reads if read.kind == "file"]
    if files:
        yield Finding("PLN504", Status.NOTE, "PLN504.files", {"count": len(files)})


def _list_reads(material: Material) -> list[Read]:
    reads: dict[tuple[str, int, str], Read] = {}
    for run in material.runs:
        for read in run.reads:
            reads.setdefault((Path(read.file).name, read.line, read.operator), read)
    return list(reads.values())


def _describe_times(material: Material) -> Iterator[Finding]:
    """Say how long a step would take, as a range; whether the host could keep up."""
    times = material.times
    if times is None:
        return
    seconds: dict[str, Scalar] = {
        "low": _round(times.step.low / 1e6),
        "high": _round(times.step.high / 1e6),
        "basis": material.basis.date,
    }
    if material.tokens:
        most = material.tokens * material.rehearsal.cluster.cards
        tokens: dict[str, Scalar] = {
            "least": _round(material.tokens / (times.step.high / 1e6)),
            "most": _round(material.tokens / (times.step.low / 1e6)),
            "tokens": material.tokens,
            "all": most,
        }
        yield Finding("PLN505", Status.NOTE, "PLN505.tokens", {**seconds, **tokens})
    else:
        yield Finding("PLN505", Status.NOTE, "PLN505.step", seconds)
    if times.exposed is not None:
        exposed: dict[str, Scalar] = {
            "low": _round(times.exposed.low / 1e3),
            "high": _round(times.exposed.high / 1e3),
            "percent": round(100 * min(1.0, times.exposed.middle / max(times.communication.middle, 1e-9))),
        }
        yield Finding("PLN505", Status.NOTE, "PLN505.exposed", exposed)
    launches: dict[str, Scalar] = {"kernels": sum(share.count for share in times.kernels)}
    if times.host_bound:
        yield Finding("PLN506", Status.NOTE, "PLN506.host", launches)  # an estimate alone is no verdict
    else:
        yield Finding("PLN506", Status.NOTE, "PLN506.unsure" if times.host_bound is None else "PLN506.device", launches)


def _round(number: float) -> float | int:
    rounded = float(f"{number:.2g}")
    return int(rounded) if rounded >= 10 else rounded


def _describe_cures(material: Material) -> Iterator[Finding]:
    """Say which of the changes that were tried helps; the first that fits is the cheapest."""
    cluster = material.rehearsal.cluster
    for tried in material.cures:
        memory = tried.run.memory
        if memory is None:
            continue
        verdict = judge_fit(memory, cluster, count_communicators(tried.run))
        if verdict != OUT and tried.run.result.ok:
            args: dict[str, Scalar] = {"cure": tried.variant.label, "reserved": _gib(memory.reserved)}
            yield Finding("PLN507", Status.NOTE, f"PLN507.{verdict}", args, weight=50)
            return
    if material.cures:
        yield Finding("PLN507", Status.NOTE, "PLN507.none", {"count": len(material.cures)}, weight=50)


def _rank_row(material: Material, run: RankRun) -> tuple[Scalar, ...]:
    cluster = material.rehearsal.cluster
    if run.memory is None:
        return (run.rank, None, None, None, _gib(cluster.memory), Status.NOT_LOOKED.json)
    verdict = _judge_run(run, cluster)
    outside = _gib(outside_bytes(count_communicators(run))[1])
    verdict_word = Sentence(f"rehearsal.verdict.{verdict}")
    return (run.rank, _gib(run.memory.peak), _gib(run.memory.reserved), outside, _gib(cluster.memory), verdict_word)


def _list_parts(material: Material, memory: Memory | None) -> Iterator[Report]:
    if memory is not None:
        yield _part_kinds(memory)
        yield _part_curve(memory)
        yield _part_holders(material, memory)
    if material.cures:
        yield _part_variants(material, "cures", material.cures)
    if material.settings:
        yield _part_variants(material, "allocator", material.settings)
    if material.times is not None:
        yield _part_kernels(material.times)
        if material.times.collectives:
            yield _part_collectives(material.times)
    reads = _list_reads(material)
    if reads:
        rows = tuple(
            (f"{_shorten(read.file)}:{read.line}", read.operator, read.value, read.sets_shape) for read in reads
        )
        columns = (Column("place"), Column("operator"), Column("assumed"), Column("sets_shape"))
        yield _make_part("assumed", Table(columns, rows), len(rows))


def _make_part(name: str, table: Table, count: int, chart: Chart | None = None) -> Report:
    heading = Finding("PLN502", Status.GOOD, "PLN502.rows", {"count": count})
    return Report(STAGE, name, (heading,), table, chart, facts={"shapes_only": True}, tier=TIER)


def _part_kinds(memory: Memory) -> Report:
    rows: list[tuple[Scalar, ...]] = [
        (Sentence(f"rehearsal.kind.{kind}"), _gib(memory.by_kind[kind])) for kind in KINDS if memory.by_kind[kind]
    ]
    rest = memory.reserved - sum(memory.by_kind.values())
    if rest > 0:
        rows.append((Sentence("rehearsal.kind.fragmentation"), _gib(rest)))
    table = Table((Column("memory_kind"), Column("at_peak", "GiB")), tuple(rows))
    return _make_part("memory_kinds", table, len(rows), Chart("stack", "memory_kind", ("at_peak",), "GiB"))


def _part_curve(memory: Memory) -> Report:
    """Memory over the run by kind. The x axis counts allocations: shapes alone have no time."""
    columns = (Column("allocation"), *(Column(f"kind_{kind}", "GiB") for kind in KINDS), Column("kind_reserved", "GiB"))
    rows = tuple(
        (number, *(_gib(sums[kind]) for kind in KINDS), _gib(reserved)) for number, reserved, sums in memory.curve
    )
    names = tuple(column.name for column in columns[1:])
    chart = Chart("lines", "allocation", names, "GiB", limit="kind_reserved")
    return _make_part("rehearsed_memory", Table(columns, rows), len(rows), chart)


def _part_holders(material: Material, memory: Memory) -> Report:
    columns = (Column("memory_kind"), Column("module"), Column("place"), Column("at_peak", "GiB"), Column("count"))
    rows: list[tuple[Scalar, ...]] = []
    least = TOO_SMALL * sum(holder.bytes for holder in memory.holders)
    large = [holder for holder in memory.holders[:MOST_ROWS] if holder.bytes >= least]
    for holder, place in _place_holders(material, large):
        where = _shorten(str(place)) if place else ""
        rows.append((Sentence(f"rehearsal.kind.{holder.kind}"), holder.module, where, holder.bytes / GIB, holder.count))
    small = [holder for holder in memory.holders if holder not in large]
    if small:
        rest, count = sum(holder.bytes for holder in small), sum(holder.count for holder in small)
        rows.append((Sentence("rehearsal.kind.rest"), "", "", rest / GIB, count))
    return _make_part("holders", Table(columns, tuple(rows)), len(memory.holders))


def _part_variants(material: Material, name: str, tried: Sequence[Tried]) -> Report:
    columns = (
        Column("rehearsed_change"),
        *(Column(each, "GiB") for each in ("allocated_peak", "reserved_peak", "lost")),
        Column("verdict"),
    )
    rows: list[tuple[Scalar, ...]] = []
    for each in tried:
        memory = each.run.memory
        if memory is None:
            rows.append((each.variant.label, None, None, None, each.run.result.trouble))
            continue
        verdict = judge_fit(memory, material.rehearsal.cluster, count_communicators(each.run))
        verdict_word: Scalar = Sentence(f"rehearsal.verdict.{verdict}")
        if not each.run.result.ok and verdict != OUT:
            verdict_word = each.run.result.trouble
        numbers = (_gib(memory.peak), _gib(memory.reserved), _gib(memory.fragmentation))
        rows.append((each.variant.label, *numbers, verdict_word))
    return _make_part(name, Table(columns, tuple(rows)), len(rows))


def _part_kernels(times: StepTime) -> Report:
    columns = (
        Column("kernel_type"),
        Column("count"),
        Column("time_low", "ms"),
        Column("time_high", "ms"),
        Column("tflop"),
    )
    rows = tuple(
        (share.type, share.count, share.time.low / 1e3, share.time.high / 1e3, share.flops / 1e12 or None)
        for share in times.kernels
    )
    return _make_part("estimated_kernels", Table(columns, rows), len(rows))


def _part_collectives(times: StepTime) -> Report:
    columns = (
        Column("collective_name"),
        Column("group_number"),
        Column("ranks"),
        Column("count"),
        Column("volume", "MB"),
        Column("time_low", "ms"),
        Column("time_high", "ms"),
    )
    numbers = {group: number for number, group in enumerate(dict.fromkeys(share.group for share in times.collectives))}
    rows = tuple(
        (
            share.name,
            numbers[share.group],
            share.ranks,
            share.count,
            share.bytes / 1e6,
            share.time.low / 1e3,
            share.time.high / 1e3,
        )
        for share in times.collectives
    )
    return _make_part("estimated_collectives", Table(columns, rows), len(rows))


def _shorten(file: str) -> str:
    """Return a path as a reader needs it: below site-packages, or below the mirror's work folder."""
    return re.sub(r"^.*/(?:site-packages|work)/", "", file)


def _collect_facts(material: Material) -> dict[str, object]:
    plan, cluster = material.rehearsal.plan, material.rehearsal.cluster
    times = material.times
    return {
        "script": plan.script.name,
        "args": list(plan.original.args),
        "steps": plan.steps,
        "cards": cluster.cards,
        "nodes": cluster.nodes,
        "chip": cluster.chip.name,
        "memory_bytes": cluster.memory,
        "ranks": {run.rank: _rank_facts(run) for run in material.runs},
        "basis": {"name": material.basis.name, "date": material.basis.date, "path": Path(material.basis.path).name},
        "shapes_only": True,
        "estimated": True,
        "tokens": material.tokens or None,
        "step_us": None if times is None else [times.step.low, times.step.middle, times.step.high],
        "compute_us": None if times is None else [times.compute.low, times.compute.middle, times.compute.high],
        "communication_us": None
        if times is None
        else [times.communication.low, times.communication.middle, times.communication.high],
        "exposed_us": None
        if times is None or times.exposed is None
        else [times.exposed.low, times.exposed.middle, times.exposed.high],
        "flops": None if times is None else times.flops,
        "needed_bytes": material.free.memory.reserved
        if material.free is not None and material.free.memory is not None
        else None,
    }


def _keep_sources(material: Material, memory: Memory | None, findings: Sequence[Finding]) -> dict[str, dict[str, str]]:
    """Keep the user's own files that the report names a line of."""
    original = material.rehearsal.plan.original
    places = [finding.place for finding in findings if finding.place]
    places += [Place(read.file, read.line) for read in _list_reads(material)]
    places += [Place(each.file, each.line) for run in material.runs for each in run.stand_ins]
    places += [place for _, place in _place_holders(material, memory.holders if memory else ()) if place]
    root = Path(original.layout.root)
    own = {file.relative_to(root).as_posix(): file for file in original.texts if file != original.script}
    own[original.place_of_line(original.script.relative_to(root), 1).path.partition("#cell")[0]] = original.given
    files = {place.path: own.get(place.path.partition("#cell")[0]) for place in places}
    return keep_files((name, file) for name, file in files.items() if file is not None)


def _place_holders(material: Material, holders: Sequence[Holder]) -> Iterator[tuple[Holder, Place | None]]:
    """Yield what holds memory, with its place in the user's own file where it has one."""
    plan, side = material.rehearsal.plan, f"rank{material.worst.rank}"
    for holder in holders[:MOST_ROWS]:
        yield holder, sides.place_of(plan, side, holder.file, holder.line) if holder.file else None


def _rank_facts(run: RankRun) -> dict[str, object]:
    memory = run.memory
    if memory is None:
        return {"outcome": run.result.outcome}
    return {
        "outcome": run.result.outcome,
        "peak_bytes": memory.peak,
        "reserved_bytes": memory.reserved,
        "by_kind": dict(memory.by_kind),
        "replayed": memory.replayed,
        "host_peak_bytes": memory.host_peak,
        "cpu_s": round(memory.cpu_s, 2),
        "seconds": round(memory.seconds, 2),
        "communicators": count_communicators(run),
    }
