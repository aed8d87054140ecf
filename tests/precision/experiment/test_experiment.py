"""What makes two captures different experiments, and what does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.experiment import (
    compare_surroundings,
    differences,
    find_remarks,
    list_unrecorded,
    measure_start,
)
from ascend_workbook.precision.rules import captures, experiment


def side(batches: dict[str, str], weights: dict[str, str] | None = None, **about: Any) -> Manifest:
    told = {"weights": weights or {"w": "1"}, "batches": batches}
    return Manifest(Path("capture"), True, {"seed": 1, **about}, sides={"rank0": told})


def facts_of(left: Manifest, right: Manifest) -> list[tuple[str, str]]:
    return [(one.fact, one.name) for one in differences(left, right)]


def test_a_step_that_one_side_did_not_take_is_no_other_batch() -> None:
    assert facts_of(side({"0": "a"}), side({"0": "a", "2": "b"})) == []
    assert facts_of(side({"0": "a", "2": "b"}), side({"0": "x", "2": "b"})) == [("batches", "0")]


def test_a_weight_that_one_side_lacks_is_a_difference_and_a_renamed_one_is_not() -> None:
    assert facts_of(side({}, {"w": "1"}), side({}, {"w": "1", "v": "2"})) == [("weights_missing", "v")]
    left, right = side({}, {"w": "1", "u": "2"}), side({}, {"module.w": "1", "u": "2"})
    assert facts_of(left, right) == [] and [one.fact for one in find_remarks(left, right)] == ["weights_renamed"]


def told(prints: dict[str, str] | None = None, batches: Any = None, about: Any = None, **experiment: Any) -> Manifest:
    """A capture whose plugin told this of its experiment."""
    base = {
        "seeds": {"torch": 1, "calls": [{"call": "torch.manual_seed", "seed": 1}]},
        "autocast": [],
        "scaler": {},
        "optimizers": [{"class": "AdamW", "groups": [{"lr": 0.1, "betas": [0.9, 0.95], "fused": None}]}],
        "modules": {"": ["Net", ""], "norm": ["LayerNorm", "(8,), eps=1e-05"]},
        "loss": "NllLossBackward",
        "rates": {"0": [0.1], "1": [0.05]},
        "schedulers": [{"class": "StepLR", "step_size": 3}],
        "loaders": [{"sampler": "RandomSampler", "batch_size": 4}],
        "weights": {"w": [2.0, 1.0, -1.0, 0.5]},
        "batches": {},
        "imported": ["torch", "transformers"],
        **experiment,
    }
    part = {
        "weights": prints or {"w": "float32[4]:1"},
        "batches": batches or {"0": ["int64[2]:a"]},
        "experiment": base,
        "settings": {"packages": {"torch": "2.9.0"}, "environment": {}, "flags": {}},
    }
    return Manifest(Path("capture"), True, {"seed": 1, "tier": "cpu", **(about or {})}, sides={"rank0": part})


CHANGES: list[tuple[dict[str, Any], str, str]] = [
    ({"seeds": {"torch": 2, "calls": []}}, "seed", "torch.initial_seed()"),
    ({"seeds": {"torch": 1, "calls": [{"call": "torch.manual_seed", "seed": 3}]}}, "seed", "torch.manual_seed"),
    ({"modules": {"": ["Net", ""], "norm": ["LayerNorm", "(8,), eps=0.1"]}}, "module", "norm"),
    ({"optimizers": [{"class": "SGD", "groups": [{"lr": 0.1}]}]}, "optimizer", "0 AdamW"),
    ({"optimizers": [{"class": "AdamW", "groups": [{"lr": 0.2}]}]}, "hyper", "0 AdamW: group 0 lr"),
    ({"optimizers": [{"class": "AdamW", "groups": [{"betas": [0.9, 0.99]}]}]}, "hyper", "0 AdamW: group 0 betas"),
    ({"optimizers": [{"class": "AdamW", "groups": [{}, {}]}]}, "hyper", "0 AdamW: groups"),
    ({"rates": {"0": [0.1], "1": [0.1]}}, "rate", "1"),
    ({"schedulers": [{"class": "StepLR", "step_size": 4}]}, "schedule", "StepLR.step_size"),
    ({"schedulers": []}, "schedule", "-"),
    ({"loss": "MseLossBackward"}, "loss", "-"),
    ({"autocast": [[True, "bfloat16"]]}, "autocast", "-"),
    ({"scaler": {"enabled": True, "init_scale": 4.0}}, "scaler", "enabled"),
    ({"loaders": [{"sampler": "SequentialSampler", "batch_size": 4}]}, "loader", "0.sampler"),
]


@pytest.mark.parametrize(("change", "fact", "name"), CHANGES)
def test_each_fact_that_differs_is_the_verdict(change: dict[str, Any], fact: str, name: str) -> None:
    found = differences(told(), told(**change))
    assert [(one.fact, one.name) for one in found] == [(fact, name)]
    for one in found:
        finding = Finding("ACC205", Status.FIX, f"ACC205.{one.fact}", one.words)
        assert finding.hint("en") and finding.hint("zh") and "{" not in finding.message("en") + finding.message("zh")


NOTED: list[tuple[dict[str, Any], str]] = [
    ({"optimizers": [{"class": "NpuFusedAdamW", "groups": [{"lr": 0.1000000001}]}]}, "optimizer_form"),
    ({"optimizers": [{"class": "AdamW", "groups": [{"fused": True}]}]}, "optimizer_form"),
    ({"modules": {"": ["Net", ""], "norm": ["NpuLayerNorm", "8"]}}, "modules"),
    ({"loss": "AddmmBackward"}, "loss"),
    ({"loaders": []}, "loaders"),
]


@pytest.mark.parametrize(("change", "fact"), NOTED)
def test_what_makes_no_other_experiment_is_only_noted(change: dict[str, Any], fact: str) -> None:
    left, right = told(), told(**change)
    assert differences(left, right) == () and [one.fact for one in find_remarks(left, right)] == [fact]


def test_a_weight_scaled_by_two_percent_is_named_with_its_factor() -> None:
    left = told({"w": "float32[4]:1", "v": "float32[2]:5"}, weights={"w": [2.0, 1.0, -1.0, 0.5], "v": [1.0, 0.6, 0.8]})
    right = told(
        {"w": "float32[4]:2", "v": "float32[2]:5"}, weights={"w": [2.04, 1.02, -1.02, 0.51], "v": [1.0, 0.6, 0.8]}
    )
    (found,) = differences(left, right)
    message = Finding("ACC205", Status.FIX, "ACC205.weights", found.words).message("en")
    assert found.name == "w" and "times 1.02" in message and "1 of 2" in message
    (found,) = differences(left, told({"w": "float32[4]:2", "v": "float32[2]:5"}, weights={"w": [2.0, -1.0, 1.0, 0.5]}))
    assert found.words["how"] == {"say": "ACC205.how_apart", "args": {"apart": pytest.approx(1.8856, rel=1e-4)}}


def test_another_dtype_is_said_as_such() -> None:
    found = differences(told(), told({"w": "bfloat16[4]:7"}))
    assert [(one.fact, one.baseline, one.target) for one in found] == [("dtype", "float32", "bfloat16")]


def batch(*samples: str) -> list[dict[str, Any]]:
    return [{"samples": list(samples), "numbers": [1.0]}, {"samples": [f"y{one}" for one in samples], "numbers": [1.0]}]


@pytest.mark.parametrize(
    ("target", "fact", "args"),
    [
        ({"0": batch("b", "a"), "1": batch("c", "d")}, "order", {"where": {"say": "ACC205.order_within"}}),
        ({"0": batch("c", "a"), "1": batch("b", "d")}, "order", {"where": {"say": "ACC205.order_across"}}),
        ({"0": batch("e", "a"), "1": batch("c", "d")}, "samples", {"shared": 3, "samples": 4}),
    ],
)
def test_another_order_is_told_apart_from_other_samples(target: Any, fact: str, args: dict[str, Any]) -> None:
    kinds = ["int64[2]:{}", "int64[2]:{}"]
    left = told(batches={"0": [kind.format(1) for kind in kinds], "1": [kind.format(2) for kind in kinds]})
    right = told(batches={"0": [kind.format(3) for kind in kinds], "1": [kind.format(4) for kind in kinds]})
    left.sides["rank0"]["experiment"]["batches"] = {"0": batch("a", "b"), "1": batch("c", "d")}
    right.sides["rank0"]["experiment"]["batches"] = target
    (found,) = differences(left, right)
    assert (found.fact, found.name) == (fact, "0") and args.items() <= found.args.items()


def test_labels_of_other_samples_are_no_mere_order() -> None:
    """A sample is all its tensors together: shuffled labels are other data."""
    kinds = {"0": ["int64[2]:1", "int64[2]:2"]}, {"0": ["int64[2]:1", "int64[2]:3"]}
    left, right = (told(batches=kind) for kind in kinds)
    left.sides["rank0"]["experiment"]["batches"] = {"0": batch("a", "b")}
    right.sides["rank0"]["experiment"]["batches"] = {"0": [batch("a", "b")[0], batch("b", "a")[1]]}
    assert [one.fact for one in differences(left, right)] == ["samples"]


@pytest.mark.parametrize(("numbers", "fact"), [([2.0, 1.0, -0.50001], None), ([2.0, 1.0, -0.6], "samples")])
def test_a_batch_that_differs_by_rounding_is_the_same_data(numbers: list[float], fact: str | None) -> None:
    left, right = (told(batches={"0": [f"float32[2]:{digest}"]}) for digest in "ab")
    left.sides["rank0"]["experiment"]["batches"] = {"0": [{"samples": ["a", "b"], "numbers": [2.0, 1.0, -0.5]}]}
    right.sides["rank0"]["experiment"]["batches"] = {"0": [{"samples": ["c", "d"], "numbers": numbers}]}
    assert [one.fact for one in differences(left, right)] == ([fact] if fact else [])
    assert [one.fact for one in find_remarks(left, right)] == ([] if fact else ["batches_near"])


@pytest.mark.parametrize(
    ("package", "imported", "expected"),
    [("transformers", ["transformers"], ["transformers"]), ("transformers", [], []), ("rich", ["rich"], [])],
)
def test_a_package_in_use_in_another_release_is_another_experiment(
    package: str, imported: list[str], expected: list[str]
) -> None:
    left, right = told(imported=imported), told(imported=imported)
    for side_, version in ((left, "1.0"), (right, "2.0")):
        side_.sides["rank0"]["settings"]["packages"][package] = version
    assert [one.name for one in differences(left, right)] == expected


def test_deterministic_kernels_on_one_side_only_are_another_experiment() -> None:
    left, right = told(), told()
    for side_, chosen in ((left, True), (right, False)):
        side_.sides["rank0"]["settings"]["flags"] = {"deterministic_algorithms": chosen}
    (found,) = differences(left, right)
    assert (found.fact, found.name, found.baseline) == ("setting", "deterministic_algorithms", True)
    assert compare_surroundings(left, right) == []


def test_what_a_side_did_not_record_is_not_looked_at() -> None:
    whole, bare = told(), side({"0": "a"})
    assert list_unrecorded(whole, whole) == ["samples"], "no sample was recorded one by one"
    assert {"settings", "seeds", "modules", "optimizer"} <= set(list_unrecorded(whole, bare))
    assert "seeds" in list_unrecorded(whole, None)
    judged: Any = SimpleNamespace(
        baseline=SimpleNamespace(about=whole), target=SimpleNamespace(about=bare), differences=(), anyway=False
    )
    assert "ACC205.not_looked" in [finding.key for finding in experiment.check_experiment(judged)]


@pytest.mark.parametrize(
    ("tier", "devices", "expected"),
    [
        ("npu-simulated", ["cpu"], ["ACC206.off_npu"]),
        ("npu", ["cpu", "npu:0"], []),
        ("npu", [], []),
        ("cpu", ["cpu"], ["ACC206.no_npu"]),
    ],
)
def test_a_target_whose_parameters_stayed_on_the_cpu_says_nothing_of_an_npu(
    tier: str, devices: list[str], expected: list[str]
) -> None:
    left, right = side({}, tier="cpu"), side({}, tier=tier, parameter_devices=devices)
    facts: Any = SimpleNamespace(baseline=SimpleNamespace(about=left), target=SimpleNamespace(about=right))
    assert [finding.key for finding in captures.check_participants(facts)] == expected


def recorded(tier: str, **settings: Any) -> Manifest:
    """A capture whose plugin recorded these settings."""
    told = {"packages": {"torch": "2.9.0"}, "environment": {}, "flags": {"conv_format": ""}, "seeds": [], **settings}
    return Manifest(Path("capture"), True, {"seed": 1, "tier": tier}, sides={"rank0": {"settings": told}})


def noted(left: Manifest | None, right: Manifest | None) -> list[Any]:
    facts: Any = SimpleNamespace(baseline=SimpleNamespace(about=left), target=SimpleNamespace(about=right))
    return list(experiment.check_settings(facts))


def test_settings_that_change_numbers_are_noted_riskiest_first() -> None:
    packages = {"torch": "2.9.0", "numpy": "2.1.0", "scipy": "1.1", "torch_npu": "2.9.0", "rich": "15"}
    (found,) = noted(recorded("cuda"), recorded("npu", packages=packages))
    assert found.status.name == "NOTE" and found.args["what"] == "numpy" and found.args["count"] == 2
    assert "scipy" in found.message("en") and found.message("zh") and found.hint("zh")


def test_what_the_tolerances_allow_for_and_what_is_not_recorded_is_not_noted() -> None:
    assert not noted(recorded("cpu"), recorded("npu-simulated", flags={"conv_format": "hf32"}))
    assert not noted(recorded("cpu"), None) and not noted(side({}), side({}))
    assert compare_surroundings(side({}), recorded("npu")) == []


def of_weights(values: list[float], digest: str, dtype: str = "float32", sketch: list[float] | None = None) -> Manifest:
    norm = sum(value * value for value in values) ** 0.5
    sketches = {"w": sketch} if sketch else {}
    return told({"w": f"{dtype}[4]:{digest}"}, weights={"w": [norm, *values]}, sketches=sketches)


@pytest.mark.parametrize(
    ("dtype", "apart", "near"),
    [
        ("float32", 3e-8, True),
        ("float32", 5e-6, True),
        ("float32", 5e-5, False),
        ("bfloat16", 4e-3, True),
        ("bfloat16", 5e-2, False),
    ],
)
def test_initial_weights_that_differ_by_rounding_are_noise(dtype: str, apart: float, near: bool) -> None:
    values = [1.0, -1.0, 0.5, 2.0]
    moved = [value * (1 + sign * apart) for value, sign in zip(values, (1, -1, 1, -1))]
    left, right = of_weights(values, "1", dtype), of_weights(moved, "2", dtype)
    assert [found.fact for found in differences(left, right)] == ([] if near else ["weights"])
    assert [found.fact for found in find_remarks(left, right)] == (["weights_near"] if near else [])
    assert measure_start(left, right) == (pytest.approx(apart, rel=0.01) if near else 0.0)


def test_one_element_between_the_kept_ones_shows_in_the_sketch() -> None:
    values = [1.0, -1.0, 0.5, 2.0]
    left = of_weights(values, "1", sketch=[3.0, 1.0])
    assert differences(left, of_weights(values, "2", sketch=[3.0, 1.0 + 1e-7])) == ()
    assert [found.fact for found in differences(left, of_weights(values, "2", sketch=[3.0, 1.01]))] == ["weights"]


def test_a_small_real_difference_is_judged_anyway_where_that_is_asked() -> None:
    left, right = told(), told(optimizers=[{"class": "SGD", "groups": [{"lr": 0.1}]}])
    sides = {"baseline": SimpleNamespace(about=left), "target": SimpleNamespace(about=right)}
    for anyway, status in ((False, Status.FIX), (True, Status.LOOK)):
        facts: Any = SimpleNamespace(**sides, differences=differences(left, right), anyway=anyway)
        assert max(found.status for found in experiment.check_experiment(facts)) is status


def test_an_optimizer_that_skipped_updates_never_came_to_is_no_other_one() -> None:
    """Each is seen at its first update, and a step whose gradients are not finite has none: the second optimizer of a
    run that was resumed is then never seen."""
    one, other = ({"class": name, "groups": [{"lr": 0.1}]} for name in ("AdamW", "SGD"))
    rates = {"0": [0.1], "1": [0.1], "2": [0.1], "3": [0.1]}
    whole = told(optimizers=[one, one], schedulers=[{"class": "StepLR"}, {"class": "StepLR"}], rates=rates)
    skips = told(optimizers=[one], schedulers=[{"class": "StepLR"}], rates={"0": [0.1], "1": [0.1]})
    assert facts_of(whole, skips) == facts_of(skips, whole) == []
    updates = told(optimizers=[one], schedulers=[{"class": "StepLR"}], rates=rates)
    assert [fact for fact, _ in facts_of(whole, updates)] == ["optimizer", "schedule"]
    begins = told(optimizers=[other], schedulers=[{"class": "StepLR"}], rates={"0": [0.1], "1": [0.1]})
    assert [fact for fact, _ in facts_of(whole, begins)] == ["optimizer"]
