"""Two profiles: rows that add up, names that meet, what is told of comparability, and no verdict from a simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import show
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.compare import rules
from ascend_workbook.profiling.compare.costs import Cost, compute_side, find_scopes, own_name
from ascend_workbook.profiling.compare.facts import Comparison, find_joins, pair_rows
from ascend_workbook.profiling.compare.report import compare_profiles
from ascend_workbook.profiling.compare.rules.differences import _choose_costliest, display_name
from ascend_workbook.profiling.facts import Profile, load_profile
from ascend_workbook.profiling.readers import choice
from ascend_workbook.profiling.trace import Event, build_trace
from tests.page.reading import said_on
from tests.profiling.conftest import DATA, US, step
from tests.profiling.readers.test_choice import write

Made = list[tuple[str, str, int, int, str, int]]  # kind, name, start, duration (us), shape, launched by (in the list)


def made(
    events: Made,
    *,
    tier: str = "npu",
    dialect: str = "ascend",
    length: int = 1000,
    steps: int = 4,
    lanes: Mapping[str, str] | None = None,
    slower: int = 0,
) -> Profile:
    """Steps of `length` us with these events in each; the second step takes `slower` us more."""
    starts = [length * at + (slower if at > 1 else 0) for at in range(steps)]
    every = [step(at, start, length + (slower if at == 1 else 0)) for at, start in enumerate(starts)]
    for begin in starts:
        base = len(every)
        for kind, name, start, duration, shape, by in events:
            lane = (lanes or {}).get(name, kind if kind in ("compute", "communication", "copy") else "thread")
            every.append(
                Event(name, kind, lane, (begin + start) * US, duration * US, shape, base + by if by >= 0 else -1)
            )
    return Profile.from_trace(build_trace(every, source=f"{tier}.json", dialect=dialect), {"tier": tier})


def conv(kernel: str, took: int, shape: str = "[8,3]", inner: str = "aten::convolution") -> Made:
    return [
        ("host_op", "aten::conv2d", 10, 50, shape, -1),
        ("host_op", inner, 15, 30, shape, -1),
        ("compute", kernel, 100, took, "", 1),
    ]


def told(report_or: Comparison) -> dict[str, Finding]:
    return {one.key: one for one in judge_facts(report_or, rules_of(rules), strict=True)}


def adds_up(report: Report) -> None:
    """In every table of times the differences are that of the steps."""
    facts = report.parts[1].facts
    for part in report.parts[1:]:
        if part.table is None:
            continue
        sums = {
            name: sum(float(str(one)) for one in part.table.column_values(f"{name}_time"))
            for name in ("baseline", "target")
        }
        rows = len(part.table.rows)
        for name in sums:
            assert sums[name] == pytest.approx(facts[name]["step_ns"] / 1e6, abs=1e-6 * rows), (part.verb, name)
        difference = sum(float(str(one)) for one in part.table.column_values("difference"))
        assert difference == pytest.approx(facts["difference_ns"] / 1e6, abs=1e-6 * rows), part.verb


def test_the_kernels_of_either_device_meet_at_the_operator_that_was_called() -> None:
    cuda = made(conv("cudnn_kernel", 300, inner="aten::cudnn_convolution"), tier="cuda", dialect="kineto")
    npu = made(conv("aclnnConvolution_Conv2D", 500, inner="aclnnConvolution"), length=1200)
    compared = Comparison.from_profiles(cuda, npu)
    (row,) = compared.real_rows
    assert (row.name, row.baseline.ns, row.target.ns, row.pairing) == ("aten::conv2d", 300_000, 500_000, "alike")
    report = compare_profiles(cuda, npu)
    adds_up(report)
    assert report.status is Status.LOOK
    assert report.verdict("en") == (
        "the target's step takes 1.2 ms, the baseline's 1 ms: 0.2 ms (20 %) more; most of it: aten::conv2d +0.2 ms"
    )
    assert "多 0.2 ms（20 %）" in report.verdict("zh")


def test_the_optimizers_step_is_one_row_however_it_is_made() -> None:
    each: Made = [("annotation", "Optimizer.step#SGD.step", 10, 90, "", -1)]
    each += [("host_op", "aten::add_", 12 + 10 * at, 5, "", -1) for at in range(5)]
    each += [("compute", "add_kernel", 200 + 20 * at, 20, "", 1 + at) for at in range(5)]
    fused: Made = [
        ("annotation", "Optimizer.step#NpuFusedSGD.step", 10, 90, "", -1),
        ("host_op", "aten::_foreach_add_", 12, 5, "", -1),
        ("compute", "foreach", 200, 30, "", 1),
    ]
    (row,) = Comparison.from_profiles(made(each), made(fused)).real_rows
    assert (row.name, round(row.baseline.calls, 6), round(row.target.calls, 6)) == ("Optimizer", 1, 1)
    assert row.difference_ns == pytest.approx(-70_000)


def test_fused_and_decomposed_attention_are_held_together() -> None:
    names = ("aten::bmm", "aten::softmax", "aten::bmm")
    parts: Made = [("host_op", name, 10 * at, 5, "", -1) for at, name in enumerate(names)]
    parts += [("compute", f"kernel{at}", 100 + 100 * at, 90, "", at) for at in range(3)]
    parts += [("host_op", "aten::mul", 50, 5, "", -1), ("compute", "mul", 500, 10, "", 6)]
    fused: Made = [
        ("host_op", "npu::npu_fusion_attention", 10, 5, "", -1),
        ("compute", "fa", 100, 120, "", 0),
        ("host_op", "aten::mul", 50, 5, "", -1),
        ("compute", "mul", 500, 10, "", 2),
    ]
    compared = Comparison.from_profiles(made(parts), made(fused))
    rows = {row.name: row for row in compared.real_rows}
    assert rows.keys() == {"family.attention", "aten::mul"}
    assert rows["family.attention"].difference_ns == (120 - 270) * US
    assert set(rows["family.attention"].names) == {"npu::npu_fusion_attention", "aten::bmm", "aten::softmax"}
    assert "PRF384.joined" in told(compared) and "PRF384.none" in told(compared)
    # both fused, or neither: nothing is joined
    assert {row.name for row in Comparison.from_profiles(made(parts), made(parts)).real_rows} == {
        "aten::bmm",
        "aten::softmax",
        "aten::mul",
    }


def test_kernels_without_an_operator_meet_by_what_they_compute() -> None:
    names = [("sm90_xmma_gemm_bf16bf16_bf16f32", "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64"), ("kernel_0", "core_1")]
    sides = [[(name, took) for name, took in zip(side, (100, 30))] for side in zip(*names)]
    baseline, target = (
        {name: Cost(1.0, took * US, {}) for name, took in side} | {"aten::mm": Cost(1.0, US, {})} for side in sides
    )
    assert find_joins(baseline, target) == {"kernels_gemm": (names[0][0], names[0][1])}
    joined = [row for row in pair_rows(baseline, target, find_joins(baseline, target)) if row.pairing == "joined"]
    assert [show(display_name(row), "en") for row in joined] == ["kernels without operator: matrix products"]


def test_many_small_differences_are_no_alike_steps() -> None:
    sides: list[Profile] = []
    for took in (10, 20):
        many: Made = [("compute", f"k{at}", took * at, took, "", -1) for at in range(60)]
        sides.append(made(many, length=60 * took))
    report = compare_profiles(*sides)
    assert report.status is Status.LOOK
    assert report.verdict("en").endswith("0.6 ms (100 %) more; no single row makes much of it")


def test_lost_overlap_is_a_cause() -> None:
    each: Made = [("compute", "gemm", 10, 900, "", -1), ("communication", "reduce", 300, 500, "", -1)]
    after = [each[0], ("communication", "reduce", 910, 500, "", -1)]
    report = compare_profiles(made(each), made(after, length=1500))
    assert "0.5 ms (50 %) more; most of it: other overlap +0.5 ms" in report.verdict("en")


def test_a_pause_in_one_step_changes_no_kernel() -> None:
    each: Made = [("compute", "gemm", 10, 900, "", -1)]
    compared = Comparison.from_profiles(made(each), made(each, slower=5000))
    (row,) = compared.real_rows
    assert row.difference_ns == pytest.approx(0)
    assert compared.difference_ns == pytest.approx(5_000_000 / 3)


def test_what_runs_at_once_is_taken_off_again() -> None:
    two: Made = [("compute", "a", 100, 400, "", -1), ("compute", "b", 300, 400, "", -1)]
    one: Made = [("compute", "a", 100, 400, "", -1)]
    profiles = made(two, lanes={"b": "stream 2"}), made(one, lanes={})
    adds_up(compare_profiles(*profiles))
    assert compute_side(profiles[0]).operators["row.hidden"].ns == -200_000
    assert compute_side(profiles[0]).operators["row.rest"].ns == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "hcom_allReduce__719_0_1"), "collective all_reduce"),
        (("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "hcom_sendRecv_1_1"), "collective send_receive"),
        (("rcclGenericKernel_ReduceScatter", "hcom_reduceScatter__1"), "collective reduce_scatter"),
        (("ncclDevKernel_Broadcast_RING_LL", "hcom_broadcast__0"), "collective broadcast"),
    ],
)
def test_collectives_meet(names: tuple[str, str], pairs: str) -> None:
    assert [own_name(name, "communication") for name in names] == [pairs, pairs]


def test_modules_are_the_innermost_and_only_where_both_have_them() -> None:
    forward: Made = [
        ("python", "nn.Module: Net_0", 0, 90, "", -1),
        ("python", "nn.Module: Conv2d_0", 5, 60, "", -1),
        *((*one[:5], one[5] + 2 if one[5] >= 0 else -1) for one in conv("k", 300)),
    ]
    both = Comparison.from_profiles(made(forward), made(forward))
    assert [row.name for row in both.modules if not row.name.startswith("row.")] == ["Conv2d_0"]
    report = compare_profiles(made(conv("k", 300)), made(forward))
    assert [one.key for one in report.parts[3].findings] == ["PRF387.unseen"]
    assert report.parts[3].status is Status.NOT_LOOKED


def test_marks_of_the_script_stand_in_for_modules() -> None:
    events: Made = [
        ("annotation", "my forward", 0, 90, "", -1),
        *((*one[:5], one[5] + 1 if one[5] >= 0 else -1) for one in conv("k", 300)),
    ]
    trace = made(events).trace
    found = find_scopes(trace)
    assert {found.names[at] for at in found.module.tolist()} == {"", "my forward"}


def test_other_shapes_are_told_first() -> None:
    compared = Comparison.from_profiles(made(conv("k", 300, "[8,3]")), made(conv("k", 500, "[16,3]")))
    found = told(compared)["PRF381.shapes"]
    assert (found.status, found.args["baseline"], found.args["target"]) == (Status.LOOK, "[8,3]", "[16,3]")
    report = compare_profiles(made(conv("k", 300, "[8,3]")), made(conv("k", 500, "[16,3]")))
    assert report.verdict("en").startswith("not the same")
    assert "PRF381.same" in told(Comparison.from_profiles(made(conv("k", 300)), made(conv("k", 500))))


def test_the_shape_told_is_the_costliest_that_the_other_side_lacks() -> None:
    assert _choose_costliest({"a": 5.0, "b": 9.0, "c": 1.0}, {"b": 3.0}) == "a"
    assert _choose_costliest({"a": 5.0, "b": 9.0}, {"b": 3.0, "a": 1.0}) == "b", "of all where it lacks none"


def test_another_model_is_no_measure() -> None:
    other: Made = [("host_op", "aten::mm", 10, 50, "", -1), ("compute", "mm", 100, 300, "", 0)]
    assert told(Comparison.from_profiles(made(conv("k", 300)), made(other)))["PRF381.other_model"].status is Status.LOOK
    many = [*conv("k", 100), *((*one[:5], one[5] + 3 if one[5] >= 0 else -1) for one in conv("k", 100))]
    moved = [
        (kind, name, at + 300 * (place > 2), took, shape, by)
        for place, (kind, name, at, took, shape, by) in enumerate(many)
    ]
    assert "PRF381.other_model" in told(Comparison.from_profiles(made(conv("k", 100)), made(moved)))


def test_an_optimizer_of_more_steps_is_no_other_model() -> None:
    """Two optimizers beside one, and most of the time theirs."""
    steps: Made = []
    for at, begin in enumerate((100, 300)):
        steps += [("annotation", f"Optimizer.step#{'SGD' if at else 'Adam'}.step", begin, 90, "", -1)]
        steps += [
            ("host_op", "aten::add_", begin + 10, 50, "[4]", -1),
            ("compute", "add", begin + 50, 100, "", 3 * at + 1),
        ]
    compared = Comparison.from_profiles(made(steps[:3]), made(steps))
    (row,) = compared.real_rows
    assert (row.name, row.baseline.calls, round(row.target.calls, 6)) == ("Optimizer", 1, 2)
    assert "PRF381.other_model" not in told(compared)


def test_a_call_is_the_scripts_on_the_host_as_on_a_device() -> None:
    """What a CPU calls inside an operator, or an optimizer for each parameter, is no call more than a device's."""
    inner: Made = [("host_op", f"aten::{name}", 15 + 5 * at, 4, "[4]", -1) for at, name in enumerate(("t", "addmm"))]
    foreach: Made = [
        ("annotation", "Optimizer.step#SGD.step", 100, 90, "", -1),
        ("host_op", "aten::_foreach_add_", 110, 60, "[[4],[4]]", -1),
    ]
    single: Made = [foreach[0], *(("host_op", "aten::add_", 110 + 20 * at, 10, "[4]", -1) for at in range(3))]
    linear: Made = [("host_op", "aten::linear", 10, 50, "[8,4]", -1)]
    cpu = made([*linear, *inner, *foreach], tier="cpu")
    kernels: Made = [
        ("compute", "mm", 100, 90, "", 0),
        *(("compute", "add", 200 + 90 * at, 80, "", 2 + at) for at in range(3)),
    ]
    npu = made([*linear, *single, *kernels])
    compared = Comparison.from_profiles(cpu, npu)
    assert {row.name: (row.baseline.calls, row.target.calls) for row in compared.real_rows} == {
        "aten::linear": (1, 1),
        "Optimizer": (1, 1),
    }
    assert told(compared)["PRF381.same"].status is Status.GOOD


def test_without_shapes_it_is_not_looked() -> None:
    compared = Comparison.from_profiles(made(conv("k", 300, "")), made(conv("k", 300, "")))
    assert told(compared)["PRF381.no_shapes"].status is Status.NOT_LOOKED
    assert compare_profiles(made(conv("k", 300, "")), made(conv("k", 300, ""))).status is Status.NOT_LOOKED


def test_a_difference_within_the_spread_may_be_chance() -> None:
    steady, shaky = made(conv("k", 300), slower=0), made(conv("k", 300), slower=300)
    assert told(Comparison.from_profiles(steady, shaky))["PRF383.within"].status is Status.NOTE
    assert told(Comparison.from_profiles(steady, made(conv("k", 300), length=2000, slower=10)))["PRF383.beyond"]
    even = Comparison.from_profiles(made(conv("k", 300)), made(conv("k", 300), length=2000))
    assert even.spread_ns() == 0 and told(even)["PRF383.beyond"].status is Status.GOOD
    single = Comparison.from_profiles(made(conv("k", 300), steps=1), made(conv("k", 300), steps=1))
    assert told(single)["PRF383.one_step"].status is Status.NOT_LOOKED and "PRF382.one_step" in told(single)


def test_what_one_side_alone_recorded_is_told() -> None:
    python: Made = [("python", "train", 0, 900, "", -1)]
    both = told(Comparison.from_profiles(made(conv("k", 300)), made([*conv("k", 300), *python])))
    assert both["PRF382.apart"].args["what"] == [{"say": "compare.recorded.python"}]
    assert "PRF382.same" in told(Comparison.from_profiles(made(conv("k", 300)), made(conv("k", 300))))


def test_one_sided_operators_are_named() -> None:
    cast: Made = [*conv("k", 300), ("host_op", "aten::cast", 70, 5, "", -1), ("compute", "Cast", 500, 80, "", 3)]
    found = told(Comparison.from_profiles(made(conv("k", 300)), made(cast)))["PRF384.only_target"]
    assert (found.args["names"], found.args["ms"]) == (["aten::cast"], pytest.approx(0.08))


def test_what_no_row_explains_is_told() -> None:
    plain, late = made(conv("k", 300)), made(conv("k", 300), length=1500)
    compared = Comparison.from_profiles(plain, late)
    assert told(compared)["PRF385.little"].args["ms"] == pytest.approx(0, abs=1e-6)
    rest = next(row for row in compared.operators if row.name == "row.rest")
    rest.target.ns += 400 * US
    assert told(compared)["PRF385.much"].args["share"] == pytest.approx(80)


def test_causes_are_ranked_and_small_ones_left_out() -> None:
    base = [*conv("k", 300), ("copy", "Memcpy HtoD", 700, 50, "", -1)]
    after = [*conv("k", 200), ("copy", "Memcpy HtoD", 700, 55, "", -1)]
    findings = judge_facts(Comparison.from_profiles(made(base), made(after)), rules_of(rules), strict=True)
    causes = [one for one in findings if one.rule == "PRF386"]
    assert [(one.key, one.args["name"]) for one in causes] == [
        ("PRF386.faster", "aten::conv2d"),
        ("PRF386.slower", {"say": "compare.row.free"}),
    ]
    assert "PRF386.none" in told(Comparison.from_profiles(made(base), made(base)))


def test_no_verdict_on_speed_from_a_simulator() -> None:
    report = compare_profiles(made(conv("k", 300)), made(conv("k", 600), tier="npu-simulated", length=1500))
    assert (report.status, report.simulated) == (Status.NOT_LOOKED, True)
    assert "no verdict on speed" in report.verdict("en") and "不评判快慢" in report.verdict("zh")


def test_a_side_without_device_times_is_not_compared(profile_of: Callable[..., Profile]) -> None:
    blind = profile_of([("host_op", "aten::conv2d", 10, 50)])
    report = compare_profiles(made(conv("k", 300)), blind)
    assert report.status is Status.NOT_LOOKED and "cannot compare" in report.verdict("en")


@pytest.mark.parametrize("name", ["rocm.pt.trace.json", "cpu.pt.trace.json", "timeline_ascend_pt"])
def test_every_kind_of_profile_adds_up(name: str) -> None:
    for pair in ((DATA / "cuda.pt.trace.json", DATA / name), (DATA / name, DATA / "old_ascend_pt")):
        adds_up(compare_profiles(*map(load_profile, pair)))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["analyse", str(DATA / "timeline_ascend_pt"), "--baseline", str(DATA / "cuda.pt.trace.json")]
    assert main([*line, "--lang", "zh", "--html", str(tmp_path / "page.html")]) == 0
    assert "按算子的差异" in capsys.readouterr().out
    assert main([*line[:3], str(tmp_path / "absent"), "--lang", "en"]) == 2
    assert "no such file" in capsys.readouterr().err


def real(shared: Path, name: str) -> Any:
    return sorted((shared / "data" / "gpu" / "kineto_resnet50" / name).glob("*.gz"))[1]


def test_the_loader_explains_the_real_difference(shared: Path) -> None:
    report = analyse(real(shared, "num_workers_4"), baseline=real(shared, "num_workers_0"))
    adds_up(report)
    assert report.status is Status.GOOD and "waiting for data -33.25 ms" in report.verdict("en")
    first = next(one for one in report.parts[2].findings if one.rule == "PRF386")
    assert first.args["name"] == {"say": "compare.row.loading"}


def test_a_compiled_model_is_held_against_the_eager_one(shared: Path) -> None:
    folder = shared / "data" / "gpu" / "hta_trace_diff"
    report = analyse(folder / "test.json.gz", baseline=folder / "control.json.gz")
    adds_up(report)
    assert "compiled on one side (torch.compile) +28.57 ms" in report.verdict("en")
    assert any(one.key == "PRF381.shapes" for one in report.parts[0].findings)


def test_a_gpu_against_an_npu_of_another_model(shared: Path) -> None:
    npu = shared / "data" / "npu" / "alexnet_910b_level1" / "rank0_ascend_pt"
    report = analyse(npu, baseline=real(shared, "num_workers_4"))
    adds_up(report)
    assert report.verdict("en").startswith("not the same work")


def test_one_rank_of_many_is_compared(shared: Path) -> None:
    folder = shared / "data" / "npu" / "alexnet_910b_level1"
    report = analyse(folder, baseline=folder, ranks="1")
    assert report.parts[1].facts["difference_ns"] == 0 and "about the same" in report.verdict("en")
    with pytest.raises(WorkbookError, match="holds 2 ranks; --baseline takes one"):
        analyse(folder, baseline=folder)


def written(folder: Path, steps: int, **more: Any) -> Path:
    folder.mkdir()
    return write(folder, steps, **more)


def test_both_sides_say_which_steps_were_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = (written(tmp_path / name, steps) for name, steps in (("large", 40), ("small", 12)))
    monkeypatch.setattr(choice, "WHOLE", 30_000)
    report = analyse(small, baseline=large, steps="auto")
    (found,) = [one for one in report.parts[0].findings if one.rule == "PRF388"]
    looked = choice.choose_steps(large, "auto")
    assert looked is not None and (found.key, found.status) == ("PRF388.some", Status.NOTE)
    first, last = looked.looked_steps.first, looked.looked_steps.last
    assert found.message("en").startswith(f"Baseline: looked at steps {first} to {last} of 40: their mean is ")
    assert found.message("zh").startswith(f"基线：所看的是 40 步中的第 {first} 至 {last} 步") and found.hint("zh")
    facts = report.parts[1].facts
    assert facts["baseline"]["steps"] == list(range(first, last + 1)) and facts["baseline"]["recorded_steps"] == 40
    assert facts["target"]["steps"] == list(range(5, 17)) and facts["target"]["recorded_steps"] == 12
    assert facts["target"]["steady_steps"] == list(range(6, 17))
    said = {"en": (f"{first}-{last} of 40", "all 12"), "zh": (f"40 步中的 {first}-{last}", "全部 12 步")}
    for lang, words in said.items():
        words = (*words, found.message(lang), found.hint(lang))
        assert all(word in said_on(report.html(lang), lang) and word in report.text(lang) for word in words)
    adds_up(report)


def test_numbers_of_steps_are_those_of_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large, small = (written(tmp_path / name, steps) for name, steps in (("large", 40), ("small", 12)))
    report = analyse(large, baseline=small, steps="8-11")
    facts = report.parts[1].facts
    assert facts["baseline"]["steps"] == facts["target"]["steps"] == [8, 9, 10, 11]
    keys = [one.key for one in report.parts[0].findings if one.rule == "PRF388"]
    assert keys == ["PRF388.some", "PRF388.some"]
    assert main(["analyse", str(large), "--baseline", str(small), "--steps", "20-25"]) == 2
    said = capsys.readouterr().err
    assert f"{small}: --steps 20-25 is no span of its steps, which are 5-16" in said and "both sides" in said


def test_a_side_whose_device_is_far_behind_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = (written(tmp_path / str(lag), 40, lag_us=lag) for lag in (300, 12_300))
    monkeypatch.setattr(choice, "WHOLE", 1)
    monkeypatch.setattr(choice, "MORE", 1)
    found = [one for one in analyse(far, baseline=near, steps="20-29").parts[0].findings if one.rule == "PRF388"]
    assert [one.key for one in found] == ["PRF388.some", "PRF388.some", "PRF388.behind"]
    assert found[2].status is Status.LOOK and found[2].message("en").startswith("Target: the device is far behind")


def test_of_small_traces_all_is_looked_at_and_nothing_told(tmp_path: Path) -> None:
    path = written(tmp_path / "one", 12)
    report = analyse(path, baseline=path, steps="auto")
    assert not [one for one in report.parts[0].findings if one.rule == "PRF388"]
