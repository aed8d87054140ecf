"""The whole comparison on made dumps: what parts is named, what does not is not, what was not compared is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import around, compare
from tests.precision.dumps import Dump, as_capture
from tests.precision.networks import Change, convolutions


def scaled(factor: float) -> Change:
    return lambda value: value * factor


def jitter(size: float) -> Change:
    """Every element off by up to `size`, relative: another device's rounding."""
    return lambda value: value * (1 + size * (2 * torch.rand(value.shape).to(value.dtype) - 1))


def keys(report: Report) -> set[str]:
    return {finding.key for finding in report.findings}


def verdict(report: Report) -> tuple[str, object]:
    assert report.headline is not None
    return report.headline.key, report.facts["first_divergence"]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convolutions(tmp_path_factory.mktemp("baseline"))


def test_the_same_dump_is_identical(baseline: Path) -> None:
    report = compare(baseline, baseline)
    assert report.status <= Status.NOTE and verdict(report) == ("ACC230.identical", None)
    assert report.table is not None and report.chart is not None and report.chart.mark is None


NAMES = [
    f"Functional.{name}.{call}.{way}"
    for way, name, call in (
        ("forward", "conv2d", 1),
        ("forward", "batch_norm", 0),
        ("forward", "relu", 2),
        ("backward", "conv2d", 2),
        ("backward", "batch_norm", 1),
        ("backward", "relu", 0),
    )
]


@pytest.mark.parametrize(("name", "noise"), [*((name, 1e-7) for name in NAMES), (NAMES[0], 0.0), (NAMES[3], 0.0)])
def test_a_wrong_operator_is_named(baseline: Path, tmp_path: Path, name: str, noise: float) -> None:
    target = convolutions(tmp_path, faults={name: scaled(1.001)}, noise=jitter(noise))
    report = compare(baseline, target)
    assert verdict(report) == ("ACC230.replayed", name) and report.status is Status.FIX
    assert report.headline is not None and report.headline.args["own"] == pytest.approx(1e-3, rel=0.05)
    assert report.chart is not None and report.table is not None
    marked = report.table.rows[report.table.column_values("order").index(report.chart.mark)]
    assert name in marked
    assert name in str(around(report, rows=1).text("zh")) and len(around(report, rows=1).table.rows) <= 3  # type: ignore[union-attr]


@pytest.mark.parametrize(("noise", "seed"), [(1e-7, 0), (1e-7, 1), (4e-7, 2)])
def test_noise_alone_parts_nothing(baseline: Path, tmp_path: Path, noise: float, seed: int) -> None:
    torch.manual_seed(seed)
    report = compare(baseline, convolutions(tmp_path, noise=jitter(noise)))
    assert report.facts["first_divergence"] is None and report.status <= Status.NOTE


@pytest.mark.parametrize("name", NAMES[:4])
def test_without_replay_a_coarse_fault_is_named(baseline: Path, tmp_path: Path, name: str) -> None:
    report = compare(baseline, convolutions(tmp_path, faults={name: scaled(1.05)}), replaying=False)
    assert verdict(report) == ("ACC230.amplified", name)


def test_statistics_alone(tmp_path: Path) -> None:
    plain = convolutions(tmp_path / "a", task="statistics")
    sick = convolutions(tmp_path / "b", task="statistics", faults={NAMES[0]: scaled(1.05)})
    assert verdict(compare(plain, sick)) == ("ACC230.amplified", NAMES[0])
    assert compare(plain, plain).facts["first_divergence"] is None


@pytest.mark.parametrize(
    ("apart", "noise", "expected"),
    [(1e-3, 1e-7, Status.LOOK), (0.5, 0.0, Status.LOOK), (1e-5, 1e-7, Status.GOOD), (0.0, 0.0, Status.GOOD)],
)
def test_an_update_that_went_another_way_is_told(tmp_path: Path, apart: float, noise: float, expected: Status) -> None:
    for step, change in ((0, scaled(1.0)), (1, scaled(1 + apart))):
        convolutions(tmp_path / "a", step=step, seed=step)
        convolutions(tmp_path / "b", step=step, seed=step, noise=jitter(noise), weights=change)
    report = compare(tmp_path / "a", tmp_path / "b")
    told = [one for one in report.findings if one.rule == "ACC235"]
    assert report.facts["first_divergence"] is None
    assert [one.key for one in told] == (["ACC235.parted"] if expected is Status.LOOK else [])
    if told:
        assert verdict(report)[0] == "ACC235.parted" and told[0].args["operator"] == NAMES[0].replace("1", "0")


def test_updates_between_steps_that_were_not_captured_are_not_called_equal(tmp_path: Path) -> None:
    for step in (0, 2):
        convolutions(tmp_path, step=step)
    assert "ACC235.unseen" in keys(compare(tmp_path, tmp_path))


def test_the_wrong_side_is_told(baseline: Path, tmp_path: Path) -> None:
    sick = convolutions(tmp_path, faults={NAMES[0]: scaled(1.01)})
    for target, base, side in ((sick, baseline, "target"), (baseline, sick, "baseline")):
        found = compare(base, target).headline
        assert found is not None and found.args["side"] == {"say": f"precision.side_{side}"}


def test_reduced_convolutions_are_allowed_only_where_they_are_in_force(baseline: Path, tmp_path: Path) -> None:
    """Rounding of HF32's size on convolution results: explained on an NPU that rounds, a divergence otherwise."""
    noisy = {
        name: jitter(3e-4)
        for name in (f"Functional.conv2d.{n}.{way}" for n in range(3) for way in ("forward", "backward"))
    }
    for folder, numerics in (("on", {"conv": "hf32"}), ("off", {})):
        place = tmp_path / folder
        convolutions(place / "a" / "dump")
        convolutions(place / "b" / "dump", faults=noisy)
        report = compare(as_capture(place / "a"), as_capture(place / "b", numerics=numerics, tier="npu"))
        if folder == "on":
            assert verdict(report) == ("ACC230.reduced", None) and "HF32" in report.verdict("en")
        else:
            assert verdict(report) == ("ACC230.replayed", "Functional.conv2d.0.forward")
    report_sick = tmp_path / "sick"
    convolutions(report_sick / "dump", faults={**noisy, "Functional.conv2d.1.forward": scaled(1.01)})
    report = compare(tmp_path / "on" / "a", as_capture(report_sick, numerics={"conv": "hf32"}, tier="npu"))
    assert verdict(report) == ("ACC230.replayed", "Functional.conv2d.1.forward")


def test_nan_in_one_place(baseline: Path, tmp_path: Path) -> None:
    def spoil(value: torch.Tensor) -> torch.Tensor:
        changed = value.clone()
        changed.view(-1)[3] = torch.nan
        return changed

    report = compare(baseline, convolutions(tmp_path, faults={"Functional.batch_norm.1.forward": spoil}))
    assert report.facts["first_divergence"] == "Functional.batch_norm.1.forward"
    assert "NaN" in report.text("en") and json.loads(report.to_json())


def test_another_seed_is_not_called_agreement(baseline: Path, tmp_path: Path) -> None:
    report = compare(baseline, convolutions(tmp_path, seed=1))
    assert verdict(report) == ("ACC204.seed", None)
    assert "another seed" in report.verdict("en")


def test_other_weights_batches_and_options_are_the_verdict(tmp_path: Path) -> None:
    convolutions(tmp_path / "a" / "dump")
    convolutions(tmp_path / "b" / "dump", seed=1)
    left = as_capture(tmp_path / "a")
    cases = [
        ({"side": {"weights": {"w": "z"}}}, "ACC205.weights"),
        ({"side": {"batches": {"0": ["z"]}}}, "ACC205.batches"),
        ({"seed": 2}, "ACC205.option"),
        ({"args": ["--lr", "1"]}, "ACC205.option"),
    ]
    for about, key in cases:
        report = compare(left, as_capture(tmp_path / "b", **about))
        assert verdict(report) == (key, None), "no operator is to blame"


def test_a_missing_operator_is_told_and_its_numbers_do_not_hide(baseline: Path, tmp_path: Path) -> None:
    report = compare(baseline, convolutions(tmp_path, skip="Functional.batch_norm.1.forward"))
    assert report.status is Status.LOOK and "ACC210.only" in keys(report)
    assert "Functional.batch_norm.1.forward" in report.text("en") and "only in baseline" in report.html("en")


def test_a_missing_tensor_is_never_a_pass(tmp_path: Path) -> None:
    left, right = convolutions(tmp_path / "a"), convolutions(tmp_path / "b")
    name = "Functional.relu.1.forward.output.0.pt"
    next(right.rglob(name)).unlink()
    report = compare(left, right)
    assert verdict(report)[0] == "ACC215.unreadable" and name in report.verdict("en")
    assert report.facts["outcomes"]["not_compared"] == 1
    assert "unreadable" in report.html("en")


def test_a_truncated_tensor_leaves_the_rest_compared(tmp_path: Path) -> None:
    left = convolutions(tmp_path / "a")
    right = convolutions(tmp_path / "b", faults={"Functional.conv2d.2.forward": scaled(1.1)})
    path = next(right.rglob("Functional.relu.1.forward.output.0.pt"))
    path.write_bytes(path.read_bytes()[:300])
    report = compare(left, right)
    assert "ACC215.unreadable" in keys(report)
    assert report.facts["first_divergence"] == "Functional.conv2d.2.forward"


def test_a_truncated_dump_names_its_file(baseline: Path, tmp_path: Path) -> None:
    right = convolutions(tmp_path)
    path = next(right.rglob("dump.json"))
    path.write_text(path.read_text()[:500])
    with pytest.raises(WorkbookError, match=r"proc7/dump\.json: cut short"):
        compare(baseline, right)


def test_a_missing_rank_or_step_fails(tmp_path: Path) -> None:
    for rank in ("rank0", "rank1"):
        convolutions(tmp_path / "a", rank=rank)
    convolutions(tmp_path / "b", rank="rank0")
    report = compare(tmp_path / "a", tmp_path / "b")
    assert report.status is Status.FIX and "ACC201.one_sided" in keys(report)
    assert "step 0 rank 1" in report.text("en")
    convolutions(tmp_path / "c", rank="rank5")
    with pytest.raises(WorkbookError, match="no step and rank in common"):
        compare(tmp_path / "a", tmp_path / "c")


def test_the_guilty_rank_and_step_are_named(tmp_path: Path) -> None:
    for side in ("a", "b"):
        for step in (0, 1):
            for rank in ("rank0", "rank1"):
                faults = {NAMES[3]: scaled(1.01)} if (side, step, rank) == ("b", 1, "rank1") else {}
                convolutions(tmp_path / side, step=step, rank=rank, faults=faults)
    headline = compare(tmp_path / "a", tmp_path / "b").headline
    assert headline is not None
    assert (headline.args["operator"], headline.args["step"], headline.args["rank"]) == (NAMES[3], 1, 1)


def test_a_killed_capture_is_refused_and_a_changed_one_fails(tmp_path: Path) -> None:
    for side in ("a", "b"):
        convolutions(tmp_path / side / "dump")
        as_capture(tmp_path / side)
    manifest = tmp_path / "b" / "capture.json"
    whole = manifest.read_text()
    manifest.write_text(whole.replace('"complete": true', '"complete": false'))
    with pytest.raises(WorkbookError) as caught:
        compare(tmp_path / "a", tmp_path / "b")
    assert caught.value.key == "precision.incomplete"
    manifest.write_text(whole)
    assert "ACC201.changed" not in keys(compare(tmp_path / "a", tmp_path / "b"))
    torch.save(torch.ones(3), next((tmp_path / "b").rglob("Functional.relu.0.forward.output.0.pt")))
    report = compare(tmp_path / "a", tmp_path / "b")
    assert verdict(report)[0] == "ACC201.changed" and "relu.0.forward.output.0.pt" in report.verdict("en")
    manifest.write_text("{")
    with pytest.raises(WorkbookError, match=r"capture\.json"):
        compare(tmp_path / "a", tmp_path / "b")


def test_other_dtypes_are_told_and_judged_by_the_coarser(baseline: Path, tmp_path: Path) -> None:
    report = compare(baseline, convolutions(tmp_path, dtype=torch.bfloat16), replaying=False)
    assert "ACC215.dtype" in keys(report) and report.status >= Status.LOOK


def test_both_languages_and_json_round(baseline: Path, tmp_path: Path) -> None:
    report = compare(baseline, convolutions(tmp_path, faults={NAMES[0]: scaled(1.01)}))
    assert "最先出现差异" in report.verdict("zh") and "first to part" in report.verdict("en")
    assert "train.py:21" in report.verdict("en") and "aten::convolution" in report.verdict("en")
    again = Report.from_json(report.to_json())
    assert again.text("zh") == report.text("zh")
    assert report.figure("en") is not None


def test_a_backward_with_an_output_fewer_does_not_hide_the_others(tmp_path: Path) -> None:
    ones, name = torch.ones(3), "Functional.linear.0.backward"
    for side, results in (("a", [ones, ones, ones]), ("same", [ones, ones]), ("wrong", [ones * 3, ones * 3])):
        dump = Dump(tmp_path / side, task="statistics")
        dump.backward("Functional.linear", [ones], results)
        dump.save()
    same, wrong = (compare(tmp_path / "a", tmp_path / side, replaying=False) for side in ("same", "wrong"))
    assert wrong.facts["parting"] == [name] and same.facts["parting"] == []
    for report in (same, wrong):
        (lacking,) = (one for one in report.findings if one.key == "ACC215.lacking")
        assert lacking.args["names"] == [f"{name} output.2"] and "ACC215.autograd" not in keys(report)


@pytest.mark.parametrize(
    ("only", "status", "key"),
    [((), Status.FIX, "ACC230.amplified"), (("*parameters_grad",), Status.NOT_LOOKED, "ACC215.adrift")],
)
def test_a_faulty_gradient_of_parameters_in_a_later_step(
    tmp_path: Path, only: tuple[str, ...], status: Status, key: str
) -> None:
    ones = torch.ones(3)
    for side, factor in (("a", 1.0), ("b", 3.0)):
        for step in range(2):
            dump = Dump(tmp_path / side, step=step, task="statistics")
            dump.forward("Functional.linear", [ones], [ones])
            given = dump._value(ones * (factor if step else 1.0), "w")
            dump.data["Module.fc.parameters_grad"] = {"weight": [given]}
            dump.save()
    report = compare(tmp_path / "a", tmp_path / "b", replaying=False, only=only)
    assert key in keys(report) and "ACC215.autograd" not in keys(report)
    assert report.status is status and report.facts["parting"] == ([] if only else ["Module.fc.parameters_grad"])
