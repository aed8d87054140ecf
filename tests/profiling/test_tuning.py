"""Each piece of advice fires on its case with evidence and a bound, not on the near miss, and says what it lacks."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import LANGUAGES, Scalar
from ascend_workbook.profiling import analyse, rules
from ascend_workbook.profiling.answers import summarise_profile
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.rules import BY_COUNTS
from ascend_workbook.profiling.trace import KINDS, NO_DETAIL, Detail, Event, build_trace
from ascend_workbook.profiling.tuning import ADVICE, report_tuning
from tests.profiling.conftest import US, step

Make = Callable[..., Profile]
KERNEL = ("compute", "k", 0, 500)
WAIT = ("runtime", "cudaStreamSynchronize", 400, 200)
READ = ("host_op", "aten::_local_scalar_dense", 400, 200)
#: A read that waits for the kernel from its beginning on
EARLY = [KERNEL, ("compute", "k", 900, 50)]
EARLY += [("runtime", WAIT[1], 100, 500), ("host_op", "aten::_local_scalar_dense", 100, 500)]
ITEM = [KERNEL, ("compute", "k", 900, 50), WAIT, READ]
TABLE = "Name,Type,Accelerator Core,Duration(us),Input Data Types,HF32 Eligible\n"


def judged(profile: Profile, code: str) -> Finding:
    found = [one for one in judge_facts(profile, rules_of(rules), strict=True) if one.rule == code]
    assert len(found) == 1
    assert all(found[0].message(lang) for lang in LANGUAGES)
    assert found[0].status is not Status.NOTE or all(found[0].hint(lang) for lang in LANGUAGES)
    return found[0]


def launched(profile: Profile, before_us: int) -> Profile:
    """The same with every kernel launched so long before it starts."""
    trace = profile.trace
    return Profile.from_trace(replace(trace, launch_ns=trace.start_ns - before_us * US), profile.record)


def with_table(profile: Profile, folder: Path, *rows: str, environment: dict[str, str] | None = None) -> Profile:
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(exist_ok=True)
    if rows:
        (output / "kernel_details.csv").write_text(TABLE + "\n".join(rows) + "\n")
    if environment is not None:
        (folder / "profiler_metadata.json").write_text(json.dumps({"ENV_VARIABLES": environment}))
    return replace(profile, output=output)


FUSIONS: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("PRF360", ("aten::_foreach_add_",), ("aten::add_",)),
    ("PRF361", ("aten::bmm", "aten::_softmax"), ("aten::bmm", "aten::mm")),
    ("PRF362", ("aten::pow", "aten::mean", "aten::rsqrt"), ("aten::pow", "aten::mean")),
    ("PRF363", ("aten::neg", "aten::cat", "aten::cos"), ("aten::neg", "aten::cat")),
    ("PRF364", ("aten::silu", "aten::mul"), ("aten::silu", "aten::add")),
    ("PRF367", ("aten::_to_copy",), ("aten::copy_",)),
    ("PRF368", ("TransData",), ("Conv2D",)),
]


@pytest.mark.parametrize(("code", "names", "near"), FUSIONS)
def test_by_operators(profile_of: Make, code: str, names: tuple[str, ...], near: tuple[str, ...]) -> None:
    def of(those: tuple[str, ...], tier: str = "npu") -> Profile:
        return profile_of([("compute", name, 100 * at, 100) for at, name in enumerate((*those, "mm"))], tier=tier)

    found = judged(of(names), code)
    assert (found.status, found.key) == (Status.NOTE, f"{code}.change")
    share, computing = float(str(found.args["share"])), 10.0 * (len(names) + 1)
    assert 0 < share <= computing
    assert str(found.args["source"]).startswith("https://")
    assert judged(of(near), code).status is Status.GOOD
    if code not in BY_COUNTS:
        assert judged(of(names, "npu-simulated"), code).status is Status.NOT_LOOKED
        return
    counted = judged(of(names, "npu-simulated"), code)
    assert (counted.status, counted.key, counted.args["gain_ms"]) == (Status.NOTE, "advice.counted", None)
    assert counted.weight == 0, "what it costs is not known: nothing is ordered by it"
    assert judged(of(near, "npu-simulated"), code).key == "advice.not_counted"


def test_kinds_of_kernels_come_from_the_table_where_it_names_them(profile_of: Make, tmp_path: Path) -> None:
    profile = profile_of([("compute", "k", 0, 500)])
    rows = ("a,Cast,AI_VECTOR_CORE,30,FLOAT,NO", "b,MatMulV3,AI_CORE,60,FLOAT;FLOAT,YES", "c,Index,AI_CPU,10,INT64,NO")
    found = with_table(profile, tmp_path, *rows)
    assert judged(found, "PRF367").args["share"] == 15.0  # 30 of 100 us, of the half that is computing
    ai_cpu = judged(found, "PRF365")
    assert (ai_cpu.args["share"], ai_cpu.args["operators"]) == (5.0, ["Index"])
    half = judged(found, "PRF369")
    assert (half.args["share"], half.args["kernels"], half.args["hf32"]) == (30.0, 1, 1)
    other = with_table(profile, tmp_path, "b,MatMulV3,AI_CORE,60,DT_BF16;FLOAT,NO", "k,Add,AI_VECTOR_CORE,9,FLOAT,NO")
    assert judged(other, "PRF369").status is judged(other, "PRF365").status is Status.GOOD
    assert judged(profile, "PRF369").key == "advice.no_dtypes"
    assert judged(profile, "PRF365").key == "advice.no_units"


def test_casts_are_found_however_deep_they_nest(profile_of: Make) -> None:
    """As torch 2.x records them on CUDA: what launches is aten::copy_ inside aten::_to_copy."""

    def of(inside: str) -> Profile:
        hosts = [("host_op", "aten::to", 5, 30), ("host_op", inside, 6, 28), ("host_op", "aten::copy_", 8, 24)]
        trace = profile_of([*hosts, ("compute", "direct_copy_kernel", 100, 700), ("compute", "gemm", 800, 100)]).trace
        copies = [trace.names[name] == "direct_copy_kernel" for name in trace.name]
        inner = np.flatnonzero([trace.names[name] == "aten::copy_" for name in trace.name])
        by = trace.launched_by.copy()
        by[copies] = inner
        return Profile.from_trace(replace(trace, launched_by=by), {"tier": "cuda"})

    cast = judged(of("aten::_to_copy"), "PRF367")
    assert (cast.key, cast.args["share"], cast.args["calls"]) == ("PRF367.change", 70.0, 1)
    assert judged(of("aten::clone"), "PRF367").status is Status.GOOD


def test_what_is_no_format_transfer_and_no_reading(profile_of: Make, tmp_path: Path) -> None:
    rows = ("a,Transpose,AI_VECTOR_CORE,60,FLOAT,NO", "b,TransData,AI_VECTOR_CORE,40,FLOAT,NO")
    found = with_table(profile_of([KERNEL]), tmp_path, *rows)
    assert (judged(found, "PRF368").args["share"], judged(found, "PRF368").args["calls"]) == (20.0, 0)
    assert judged(profile_of([("compute", "aten::contiguous", 0, 500)]), "PRF368").status is Status.GOOD
    checks = launched(profile_of([*ITEM[:3], ("host_op", "aten::isfinite", 400, 200)]), 100)
    assert judged(checks, "PRF390").status is Status.GOOD


def test_reading_values(profile_of: Make) -> None:
    found = judged(launched(profile_of(ITEM), 100), "PRF390")
    assert (found.status, found.args["calls"], found.args["share"]) == (Status.NOTE, 1.0, 30.0)
    assert judged(launched(profile_of([*ITEM[:3], ("host_op", "aten::mm", 0, 9)]), 100), "PRF390").status is Status.GOOD
    assert judged(profile_of([KERNEL]), "PRF390").key == "advice.no_host"
    others = [("host_op", "aten::nonzero", start, 5) for start in (610, 620, 630)]
    found = judged(launched(profile_of([*ITEM, *others]), 100), "PRF390")
    assert (found.args["calls"], found.args["operator"]) == (4.0, "aten::nonzero"), "the one that reads most often"


def test_values_read_on_a_simulated_npu_are_counted(profile_of: Make) -> None:
    def of(reads: int) -> Profile:
        reading = [("host_op", "aten::_local_scalar_dense", 10 * at, 5) for at in range(reads)]
        return profile_of([("compute", "k", 0, 500), *reading], tier="npu-simulated")

    assert judged(of(6), "PRF390").key == "advice.counted" and judged(of(6), "PRF390").args["count"] == 6.0
    assert judged(of(5), "PRF390").key == "advice.not_counted"
    findings = judge_facts(of(6), rules_of(rules), strict=True)
    headline = report_tuning(of(6), "profiling", findings).headline
    assert headline is not None and headline.key == "PRF310.advice_counted", "no bound without a time"


def test_counters_of_an_optimizer_are_no_values_read_on_a_simulated_npu(profile_of: Make) -> None:
    """Adam reads the step count of each parameter, which lies on the host."""

    def of(optimizer: str) -> Profile:
        reading = [("host_op", "aten::_local_scalar_dense", 100 + 10 * at, 5) for at in range(8)]
        marks = [("compute", "k", 0, 500), ("annotation", optimizer, 95, 100)]
        return profile_of([*marks, *reading], tier="npu-simulated")

    assert judged(of("Optimizer.step#Adam.step"), "PRF390").key == "advice.not_counted"
    assert judged(of("Optimizer.zero_grad#Adam.zero_grad"), "PRF390").args["count"] == 8.0


def test_building_kernels(profile_of: Make) -> None:
    events = [KERNEL, ("compute", "k", 900, 100)]
    built = launched(profile_of([*events, ("runtime", "AscendCL@opCompile", 550, 200)]), 100)
    assert judged(built, "PRF391").args["share"] == 20.0
    assert judged(launched(profile_of([*events, ("runtime", "launch", 550, 200)]), 100), "PRF391").status is Status.GOOD


def test_the_task_queue(profile_of: Make, tmp_path: Path) -> None:
    events = [KERNEL, ("compute", "k", 900, 100), ("host_op", "aten::mm", 0, 900)]
    off = launched(profile_of(events), 50)
    assert judged(off, "PRF392").key == "PRF392.off"
    on = launched(profile_of([*events, ("runtime", "Enqueue", 0, 5)]), 50)
    assert judged(on, "PRF392").key == "advice.no_environment"
    for value, status in (("", Status.NOTE), ("1", Status.NOTE), ("2", Status.GOOD)):
        assert judged(with_table(on, tmp_path, environment={"TASK_QUEUE_ENABLE": value}), "PRF392").status is status
    assert judged(replace(on, tier="cuda"), "PRF392").key == "advice.no_npu"


def test_fallbacks(profile_of: Make) -> None:
    events = [KERNEL, ("host_op", "aten::linalg_svd", 500, 300)]
    assert judged(profile_of([*events, ("host_op", "aten::_to_cpu", 510, 20)]), "PRF366").args["operators"] == [
        "aten::linalg_svd"
    ]
    assert judged(profile_of(events), "PRF366").status is Status.GOOD
    assert judged(profile_of([("host_op", "aten::_to_cpu", 0, 9)], tier="cpu"), "PRF366").status is Status.NOT_LOOKED


def test_garbage(profile_of: Make) -> None:
    python = ("python", "train.py(3): step", 0, 400)
    idle, busy = (profile_of([KERNEL, python, ("python", "<built-in gc.collect>", at, 100)]) for at in (600, 100))
    assert judged(idle, "PRF393").args["share"] == 10
    assert judged(busy, "PRF393").status is Status.GOOD
    assert judged(profile_of([KERNEL]), "PRF393").key == "PRF393.unseen"


def test_the_loader(profile_of: Make) -> None:
    def of(name: str, length: int) -> Profile:
        loading = ("loading", f"enumerate(DataLoader)#{name}.__next__", 500, length)
        return profile_of([KERNEL, loading, ("host_op", "aten::stack", 510, length // 2)])

    alone = of("_SingleProcessDataLoaderIter", 200)
    assert (judged(alone, "PRF394").key, judged(alone, "PRF394").args["share"]) == ("PRF394.alone", 20.0)
    assert judged(alone, "PRF395").args["share"] == 10.0
    assert judged(of("_MultiProcessingDataLoaderIter", 200), "PRF394").key == "PRF394.few"
    assert judged(of("_MultiProcessingDataLoaderIter", 2), "PRF394").status is Status.GOOD
    assert judged(profile_of([KERNEL]), "PRF394").key == "PRF394.unseen"
    assert judged(profile_of([KERNEL]), "PRF395").status is Status.NOT_LOOKED


def test_pageable_copies(profile_of: Make) -> None:
    def of(name: str) -> Profile:
        return profile_of([KERNEL, ("copy", name, 500, 100)], tier="cuda")

    slow, pinned = of("Memcpy HtoD (Pageable -> Device)"), of("Memcpy HtoD (Pinned -> Device)")
    slow, pinned = (Profile.from_trace(replace(one.trace, dialect="kineto"), one.record) for one in (slow, pinned))
    assert judged(slow, "PRF396").args["share"] == 10.0
    assert judged(pinned, "PRF396").status is Status.GOOD
    assert judged(of("MEMCPY_ASYNC"), "PRF396").status is Status.NOT_LOOKED


@pytest.mark.parametrize(
    ("lengths", "key", "status"),
    [
        ([300, 50], "PRF398.large", Status.NOTE),
        ([100, 100, 100], "advice.fine", Status.GOOD),
        ([10] * 30, "PRF398.small", Status.NOTE),
    ],
)
def test_buckets(profile_of: Make, lengths: list[int], key: str, status: Status) -> None:
    name = "hcom_allReduce__{}_0_1"
    events = [("communication", name.format(at), 500 + sum(lengths[:at]), one) for at, one in enumerate(lengths)]
    found = judged(profile_of([KERNEL, *events]), "PRF398")
    assert (found.key, found.status) == (key, status)
    accumulated = judged(profile_of([KERNEL, *events]), "PRF399")
    assert accumulated.args["gain_ms"] == pytest.approx(0.75 * sum(lengths) / 1000, abs=0.001)


def test_what_pipeline_stages_send_each_other_is_no_gradient(profile_of: Make) -> None:
    between = ("communication", "hcom_batchSendRecv__128_4_1", 500, 300)
    profile = profile_of([KERNEL, between, ("communication", "hcom_allReduce__1_0_1", 800, 100)])
    assert judged(profile, "PRF399").args["gain_ms"] == 0.075
    assert judged(profile, "PRF398").args["gain_ms"] == 0.1
    exposed = judged(profile, "PRF312")
    assert (exposed.key, exposed.args["gain_ms"], exposed.args["whole"]) == ("PRF312.pairwise", 0.3, 40.0)
    hidden = profile_of([("compute", "k", 0, 900), between, ("communication", "hcom_allReduce__1_0_1", 800, 200)])
    assert judged(hidden, "PRF399").args["gain_ms"] == 0.075


def waited(profile: Profile, wait_us: int) -> Profile:
    """The same with CANN's task in each collective that waits so long for member 5."""
    trace = profile.trace
    calls = trace.where(("communication",))
    planes = [
        Event("Notify_Wait", "communication_task", "Plane 1", int(start), wait_us * US)
        for start in trace.start_ns[calls]
    ]
    steps = [step(one.number, one.start_ns // US, (one.end_ns - one.start_ns) // US) for one in trace.steps]
    events = [
        Event(
            trace.names[trace.name[row]],
            KINDS[trace.kind[row]],
            "Group 0" if calls[row] else "0",
            int(trace.start_ns[row]),
            int(trace.duration_ns[row]),
        )
        for row in range(len(trace))
        if KINDS[trace.kind[row]] != "step"
    ]
    made = build_trace([*steps, *events, *planes], source="made", dialect="ascend")
    detail = np.where(made.where(("communication_task",)), 1, 0).astype(np.int32)
    return Profile.from_trace(replace(made, details=(NO_DETAIL, Detail(peer=5)), detail=detail), profile.record)


def test_waiting_for_a_late_rank_is_no_transmission(profile_of: Make) -> None:
    plain = profile_of([KERNEL, ("communication", "hcom_allReduce__1_0_1", 500, 400)])
    late = waited(plain, 300)
    assert judged(late, "PRF398").args["gain_ms"] == 0.1
    assert judged(late, "PRF399").args["waiting"] == {"say": "advice.waiting_known", "args": {"waiting_ms": 0.3}}
    assert judged(plain, "PRF399").args["waiting"]["say"] == "advice.waiting_unknown"  # type: ignore[call-overload, index]
    for profile, untold in ((plain, True), (late, False)):
        said = report_tuning(profile, "profiling", [judged(profile, "PRF398")])
        assert ("gradient buckets (waiting for other ranks included), at most" in said.verdict("en")) == untold
        assert ("梯度分桶（含等待其他 rank 的时间）" in said.verdict("zh")) == untold
    found = judged(late, "PRF312")
    assert (found.key, found.args["gain_ms"]) == ("PRF312.waiting", 0.3)
    assert "member 5" in found.message("en")
    assert judged(waited(plain, 100), "PRF312").key == judged(plain, "PRF312").key == "PRF312.exposed"


def test_the_buffer_of_hccl(profile_of: Make, tmp_path: Path) -> None:
    exposed = profile_of([KERNEL, ("communication", "hcom_allReduce__1", 500, 400)])
    assert judged(exposed, "PRF342").key == "advice.no_environment"
    for value, status in (("", Status.NOTE), ("200", Status.NOTE), ("800", Status.GOOD)):
        assert judged(with_table(exposed, tmp_path, environment={"HCCL_BUFFSIZE": value}), "PRF342").status is status
    assert judged(profile_of([KERNEL]), "PRF342").status is Status.GOOD


def test_the_environment_is_also_known_from_our_own_record(profile_of: Make, tmp_path: Path) -> None:
    """torch_npu's metadata is the later word: a script may have set the variable itself."""
    exposed = profile_of([KERNEL, ("communication", "hcom_allReduce__1", 500, 400)])
    small, large = (replace(exposed, record={"environment": {"HCCL_BUFFSIZE": one}}) for one in ("", "800"))
    assert judged(small, "PRF342").status is Status.NOTE and judged(large, "PRF342").status is Status.GOOD
    said = with_table(large, tmp_path, environment={"HCCL_BUFFSIZE": "200"})
    assert judged(said, "PRF342").status is Status.NOTE


def test_batch_size(profile_of: Make) -> None:
    """Only where a training rests in many short gaps: one long gap is another matter, and so is who does not train."""
    pieces = [("compute", "k", 40 * at, 20) for at in range(25)]
    pieces += [("host_op", "aten::add", 40 * at + 15, 25) for at in range(25)]
    trains = ("annotation", "Optimizer.step#SGD.step", 990, 5)
    assert judged(launched(profile_of([trains, *pieces]), 10), "PRF345").args["share"] == 50.0
    assert judged(launched(profile_of(pieces), 10), "PRF345").key == "PRF345.no_training"
    assert judged(launched(profile_of([trains, KERNEL]), 10), "PRF345").status is Status.GOOD


def test_uneven_shapes(profile_of: Make) -> None:
    even = profile_of([KERNEL, ("host_op", "aten::mm", 0, 10)])
    trace = even.trace
    rows = trace.where(("host_op",))
    shape = trace.shape.copy()
    shape[rows] = [1, 1, 1, 2][: int(rows.sum())]
    uneven = Profile.from_trace(replace(trace, shapes=("", "[8]", "[9]"), shape=shape), even.record)
    assert judged(uneven, "PRF397").args["sets"] == 2
    assert judged(even, "PRF397").key == "PRF397.unseen"


def test_the_report_ranks_by_bound(profile_of: Make) -> None:
    profile = launched(profile_of(EARLY), 100)
    findings = judge_facts(profile, rules_of(rules), strict=True)
    report = report_tuning(profile, "profiling", findings)
    assert report.table is not None
    bounds: list[Any] = report.table.column_values("tuning_bound")
    assert max(bounds) <= profile.breakdown.step_ns / 1e6
    assert report.table.column_values("tuning_change")[0] == {"say": "PRF390.topic"}, "the first cause is what it mends"
    assert bounds[1:] == sorted(bounds[1:], reverse=True)
    assert report.headline is not None and report.headline.key == "PRF310.advice_of"
    shown = Counter(one.status for one in report.findings[1:])
    assert sum(shown.values()) == sum(one.rule.startswith(ADVICE) for one in findings)
    assert shown[Status.NOT_LOOKED] == report.headline.args["open"]
    assert all(report.figure(lang) and report.text(lang) and report.html(lang) for lang in LANGUAGES)


def agreeing(profile: Profile) -> tuple[Finding, Finding]:
    """The verdict and the headline of the changes; both name the same largest cause with the same bound."""
    findings = judge_facts(profile, rules_of(rules), strict=True)
    verdict, headline = summarise_profile(profile, findings), report_tuning(profile, "profiling", findings).headline
    assert headline is not None
    if "cause" in headline.args:
        assert headline.args["cause"] == verdict.args["cause"]
        assert headline.args["cause_ms"] == verdict.args["gain_ms"]
    else:
        assert headline.args.get("topic") == verdict.args.get("cause")
        assert headline.args.get("gain_ms") == verdict.args.get("gain_ms")
    assert all(verdict.message(lang) and headline.message(lang) for lang in LANGUAGES)
    return verdict, headline


def test_the_verdict_and_the_changes_agree_on_the_most_that_can_be_saved(profile_of: Make) -> None:
    idle = agreeing(launched(profile_of(EARLY), 100))
    assert idle[1].key == "PRF310.advice_of"
    assert idle[1].args["cause"] == {"say": "profiling.cause_with_place", "args": ANY}
    assert agreeing(launched(profile_of([KERNEL]), 10))[0].key == "PRF310.none", "nothing of the host was recorded"
    casts = [("compute", "aten::_to_copy", 0, 400), ("compute", "mm", 400, 500)]
    verdict, change = agreeing(profile_of([*casts, ("copy", "c", 900, 50)]))
    assert (change.key, verdict.args["cause"]) == ("PRF310.advice", {"say": "PRF367.topic"})
    assert agreeing(profile_of([("compute", "mm", 0, 1000)]))[1].key == "PRF310.no_advice"
    copies = agreeing(profile_of([("compute", "mm", 0, 900), ("copy", "c", 900, 100)]))
    assert copies[1].key == "PRF310.no_advice_of"


@pytest.mark.parametrize(("key", "told"), [("waiting", "advice_beside"), ("pairwise", "advice_of")])
def test_only_waiting_is_told_as_counted_by_no_change(profile_of: Make, key: str, told: str) -> None:
    """The buffer's size (PRF342) counts what pairs of ranks send."""
    profile = launched(profile_of(EARLY), 100)
    args: dict[str, Scalar] = {"gain_ms": 0.9, "share": 90.0, "waited": "rank 1", "whole": 90.0}
    cause = Finding("PRF312", Status.LOOK, f"PRF312.{key}", args, weight=90.0)
    headline = report_tuning(
        profile, "profiling", [cause, *judge_facts(profile, rules_of(rules), strict=True)]
    ).headline
    assert headline is not None and headline.key == f"PRF310.{told}"


def test_waiting_for_another_rank_is_told_beside_the_changes(shared: Path) -> None:
    verdict, headline = agreeing(load_profile(shared / "data" / "npu" / "alexnet_910b_level2" / "rank0_ascend_pt"))
    assert verdict.args["gain_ms"] == headline.args["cause_ms"] == 91.611
    assert headline.key == "PRF310.advice_beside"
    assert headline.message("en").startswith("beside waiting for another rank (member 5 of its group), at most 91.61")


def test_real_numbers_are_those_of_the_tables(shared: Path) -> None:
    folder = shared / "data" / "npu" / "alexnet_910b_level1" / "rank0_ascend_pt"
    report = analyse(folder)
    found = {one.rule: one for part in report.parts for one in part.findings if part.verb == "tuning"}
    with (folder / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = [(row["OP Type"], row["Core Type"], float(row["Total Time(us)"]) / 1000) for row in rows]
    of_type = {
        "PRF360": sum(ms for name, _, ms in table if name.startswith("Foreach")),
        "PRF367": sum(ms for name, _, ms in table if name == "Cast"),
        "PRF368": sum(ms for name, _, ms in table if name == "TransData"),
        "PRF365": sum(ms for _, core, ms in table if core == "AI_CPU"),
    }
    assert {code: found[code].args["gain_ms"] for code in of_type} == {
        code: pytest.approx(ms, abs=0.002) for code, ms in of_type.items()
    }
    with (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8") as file:
        cube = [row for row in csv.DictReader(file) if row["Accelerator Core"] == "AI_CORE"]
    single = [row for row in cube if row["Input Data Types"].startswith("FLOAT;") or row["Input Data Types"] == "FLOAT"]
    assert (found["PRF369"].args["kernels"], found["PRF369"].args["cube"]) == (len(single), len(cube))
    assert found["PRF369"].args["hf32"] == sum(row["HF32 Eligible"] == "YES" for row in single)
    assert "main.py(" in str(found["PRF390"].args["where"])
    # communication.json: 3.68 ms in transit; what CANN's tasks do not wait is a little more
    assert 3.68 <= float(str(found["PRF398"].args["gain_ms"])) < 5
    assert found["PRF399"].args["share"] == pytest.approx(0.75 * float(str(found["PRF398"].args["share"])), abs=0.01)
    first = report.parts[0].headline
    assert first is not None and "member 5" in first.message("en") and first.args["gain_share"] > 50


def test_fused_operators_of_a_real_model_are_not_told_to_be_fused(shared: Path) -> None:
    report = analyse(shared / "data" / "npu" / "pp2dp2_level2" / "rank_0_ascend_pt")
    found = {one.rule: one for part in report.parts for one in part.findings}
    assert all(found[code].status is Status.GOOD for code in ("PRF360", "PRF361", "PRF362", "PRF363", "PRF364"))


def test_the_loader_is_the_largest_of_a_real_one(shared: Path) -> None:
    folder = shared / "data" / "gpu" / "kineto_resnet50"
    keys = []
    for workers in (0, 4):
        report = analyse(sorted((folder / f"num_workers_{workers}").glob("*.gz"))[1])
        part = next(part for part in report.parts if part.verb == "tuning")
        assert part.table is not None
        keys.append([one.rule for one in part.findings if one.key.startswith(one.rule) and one.rule != "PRF310"])
    assert keys[0][0] == "PRF394"
    assert keys[1][0] != "PRF394"
