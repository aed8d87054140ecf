"""Each rule of advice: what makes it speak, what looks alike and does not, and what it says where facts lack."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.precision.advice import advise, rules
from ascend_workbook.precision.advice.evidence import Seen
from ascend_workbook.precision.advice.verb import make_report
from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.capturing.options import FINGERPRINTS
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.comparison import Comparison, Side, StepComparison
from ascend_workbook.precision.curves.series import Curve, Series
from ascend_workbook.precision.divergence import AGREES, DIVERGES, Judgement
from ascend_workbook.precision.divergence.replay import Replays
from ascend_workbook.precision.experiment.told import Discrepancy
from ascend_workbook.precision.pairing import Pair, Pairing
from ascend_workbook.precision.record import Operator, Run, TensorRecord
from ascend_workbook.precision.tensors.agreement import CHECKSUM, Agreement, TensorAgreement
from tests.precision.baselines.bundles import bundle_of, capture_of
from tests.precision.dumps import Dump, as_capture
from tests.precision.networks import convolutions

CODES = rules_of(rules)
SHAPE = (4, 8)


class Call:
    """One forward call on both sides: an API, dtypes (target, baseline), error before and after it."""

    def __init__(
        self,
        head: str,
        dtype: str = "float32",
        baseline: str = "",
        error: float | None = 0.0,
        before: float = 0.0,
        shapes: tuple[Any, Any] = (SHAPE, SHAPE),
        made: str = "",
        arguments: tuple[Any, ...] = (),
        outcome: str = AGREES,
        place: str = "train.py",
    ) -> None:
        self.place = place
        self.head, self.dtypes, self.error, self.before = head, (dtype, baseline or dtype), error, before
        self.shapes, self.made, self.arguments, self.outcome = shapes, made, arguments, outcome

    def operator(self, side: int, order: int) -> Operator:
        dtype = self.dtypes[side]
        given = (TensorRecord("input.0", dtype, self.shapes[0]),)
        made = (TensorRecord("output.0", self.made or dtype, self.shapes[1]),)
        return Operator(
            f"{self.head}.{order}.forward",
            self.head,
            order,
            "forward",
            order,
            given,
            made,
            Place(self.place, 10 + order),
            self.arguments,
        )

    def judged(self, order: int) -> Judgement:
        problem = CHECKSUM if self.outcome == CHECKSUM else ""
        pair = Pair(self.operator(0, order), self.operator(1, order))
        before = TensorAgreement("input.0", self.dtypes[0], self.shapes[0], self.before)
        after = TensorAgreement("output.0", self.dtypes[0], self.shapes[1], self.error, problem=problem)
        return Judgement(Agreement(pair, (before,), (after,)), AGREES if problem else self.outcome, 1e-6)


def manifest(
    tier: str,
    *,
    numerics: dict[str, str] | None = None,
    nproc: int = 1,
    settings: Any = None,
    experiment: Any = None,
    batches: Any = None,
) -> Manifest:
    side = {"numerics": numerics or {}, "weights": {"w": "1"}, "batches": batches or {}}
    side.update({"settings": settings} if settings else {}, **({"experiment": experiment} if experiment else {}))
    return Manifest(Path(tier), True, {"tier": tier, "nproc": nproc}, sides={"rank0": side})


def compared(
    *calls: Call,
    baseline: Manifest | None = None,
    target: Manifest | None = None,
    step: int = 0,
    differences: Any = (),
    seen: dict[str, str] | None = None,
) -> Comparison:
    runs = [
        Run(Path(), step, 0, "tensor", "L1", tuple(call.operator(side, n) for n, call in enumerate(calls)))
        for side in (0, 1)
    ]
    judged = tuple(call.judged(order) for order, call in enumerate(calls))
    pairing = Pairing(runs[0], runs[1], tuple(one.agreement.pair for one in judged), (), ())
    sides = [Side(Path(name), {}, about) for name, about in (("a", baseline), ("b", target))]
    one = StepComparison(pairing, judged, Replays({}, seen=seen or {}))
    return Comparison(sides[0], sides[1], (one,), {}, differences)


def log(scales: list[float], skipped: int = 0) -> Curve:
    series = Series("loss_scale", array("q", range(len(scales))), array("d", scales), array("q", range(len(scales))))
    return Curve(Path("train.log"), "text", series={"loss_scale": series}, skipped=skipped)


def said(code: str, seen: Seen | Comparison) -> list[str]:
    """Keys of one rule's findings; each is told in both languages with its source."""
    found = judge_facts(seen if isinstance(seen, Seen) else Seen(seen), {code: CODES[code]}, strict=True)
    for one in found:
        assert one.message("en") and one.message("zh")
        if load_catalogue()[one.key].hint_en and one.status is not Status.NOT_LOOKED:
            assert str(one.args["source"]).startswith("https://") and str(one.args["source"]) in one.hint("zh")
    return [one.key for one in found]


HF32 = {"numerics": {"conv": "hf32"}}
CUDA, NPU, SIMULATED = manifest("cuda"), manifest("npu"), manifest("npu-simulated", **HF32)
CONV, PARTED = Call("Functional.conv2d", error=3e-4), Call("Functional.relu", error=0.5, outcome=DIVERGES)
SWITCHES = {"flags": {"bf16_reduced_sums": True}, "environment": {}, "packages": {}}
LEFT_OPEN = {"optimizers": [{"class": "AdamW", "groups": [{"foreach": None, "fused": None}]}]}
FUSED = {"optimizers": [{"class": "NpuFusedAdamW", "groups": [{}]}]}
HALF = Call("Functional.linear", "float16")


def order(*steps: str) -> dict[str, list[str]]:
    return {str(number): [one] for number, one in enumerate(steps)}


def two_steps(*calls: Call) -> Comparison:
    """One form of the update on each side, and a step after the first."""
    sides = {"baseline": manifest("cuda", experiment=LEFT_OPEN), "target": manifest("npu", experiment=FUSED)}
    first = compared(*calls, **sides)
    return replace(first, steps=(*first.steps, *compared(*calls, step=1).steps))


#: code, facts, what is said: cases that speak, then near misses, then facts that lack.
SPEAK: list[tuple[str, Any, list[str]]] = [
    ("ACC260", compared(CONV, PARTED, baseline=CUDA, target=SIMULATED), ["ACC260.off"]),
    ("ACC260", compared(CONV, baseline=CUDA, target=SIMULATED), ["ACC260.keep"]),
    (
        "ACC260",
        compared(CONV, PARTED, baseline=manifest("cuda", numerics={"conv": "tf32"}), target=SIMULATED),
        ["ACC260.alike"],
    ),
    ("ACC260", compared(CONV, PARTED, seen={"conv": "hf32"}), ["ACC260.off"]),
    ("ACC261", compared(Call("Functional.softmax", "bfloat16", "float32")), ["ACC261.wider"]),
    ("ACC261", compared(Call("Functional.cross_entropy", "float16")), ["ACC261.half"]),
    ("ACC261", compared(Call("Module.norm.LayerNorm", "bfloat16", "float32")), ["ACC261.wider"]),
    (
        "ACC261",
        compared(Call("Functional.softmax"), Call("Functional.dropout"), Call("Torch.matmul", "bfloat16", "float32")),
        ["ACC261.wider"],
    ),
    ("ACC262", Seen(compared(HALF), (log([4.0] * 4), log([8, 4, 2, 1]))), ["ACC262.minimum"]),
    ("ACC262", Seen(compared(HALF), (log([64.0] * 7), log([64, 32, 16, 8, 4]))), ["ACC262.falls"]),
    ("ACC262", Seen(compared(HALF), (log([64.0]), log([64.0], skipped=3))), ["ACC262.skipped"]),
    (
        "ACC262",
        Seen(
            compared(HALF, target=manifest("npu", settings={"environment": {"INF_NAN_MODE_ENABLE": "0"}})),
            (log([64.0]), log([64.0])),
        ),
        ["ACC262.saturated"],
    ),
    ("ACC262", compared(HALF, target=manifest("npu", experiment={"scaler": {}})), ["ACC262.without"]),
    (
        "ACC263",
        Seen(compared(CONV), again=compared(CONV, Call("Functional.relu", error=1e-4, before=3e-4))),
        ["ACC263.operator"],
    ),
    ("ACC263", Seen(compared(CONV), again=compared(Call("Distributed.all_reduce", error=1e-7))), ["ACC263.collective"]),
    (
        "ACC263",
        Seen(
            compared(CONV),
            again=compared(CONV, target=manifest("npu", settings={"flags": {"deterministic_algorithms": True}})),
        ),
        ["ACC263.although"],
    ),
    (
        "ACC263",
        Seen(compared(CONV), again=compared(Call("Functional.relu", error=None, outcome=CHECKSUM))),
        ["ACC263.operator"],
    ),
    ("ACC264", compared(Call("Torch.matmul", "float64"), target=NPU), ["ACC264.kept"]),
    ("ACC264", compared(Call("Torch.matmul", "float32", "float64"), target=SIMULATED), ["ACC264.lost"]),
    ("ACC265", compared(Call("Torch.sum", "bfloat16", shapes=((1024, 8), (8,)))), ["ACC265.sums"]),
    (
        "ACC265",
        compared(Call("Torch.matmul", "bfloat16"), baseline=manifest("cuda", settings=SWITCHES)),
        ["ACC265.split"],
    ),
    (
        "ACC266",
        compared(Call("Functional.dropout", error=1.0, arguments=(("input.1", 0.1), ("input.2", True)))),
        ["ACC266.masks"],
    ),
    ("ACC266", compared(Call("Torch.randn_like", error=1.4)), ["ACC266.draws"]),
    (
        "ACC267",
        compared(
            CONV, baseline=manifest("cuda", batches=order("a", "b")), target=manifest("npu", batches=order("b", "a"))
        ),
        ["ACC267.steps"],
    ),
    (
        "ACC267",
        compared(CONV, baseline=manifest("cuda", batches=order("a")), target=manifest("npu", batches=order("b"))),
        ["ACC267.other"],
    ),
    (
        "ACC267",
        compared(
            CONV,
            baseline=manifest("cuda", batches=order("a"), experiment={"batches": {"0": [{"samples": ["1", "2"]}]}}),
            target=manifest("npu", batches=order("b"), experiment={"batches": {"0": [{"samples": ["2", "1"]}]}}),
        ),
        ["ACC267.within"],
    ),
    (
        "ACC268",
        compared(CONV, baseline=manifest("cuda", experiment=LEFT_OPEN), target=manifest("npu", experiment=FUSED)),
        ["ACC268.unseen"],
    ),  # no step after it
    (
        "ACC268",
        compared(CONV, baseline=manifest("cpu", experiment=LEFT_OPEN), target=manifest("npu", experiment=LEFT_OPEN)),
        ["ACC268.unseen"],
    ),
    ("ACC268", two_steps(CONV), ["ACC268.differ"]),
    ("ACC268", two_steps(PARTED), ["ACC268.unseen"]),
    (
        "ACC269",
        compared(Call("Distributed.all_reduce", "bfloat16", "float32"), target=manifest("npu", nproc=2)),
        ["ACC269.wider"],
    ),
    (
        "ACC269",
        compared(Call("Distributed.reduce_scatter_tensor", "float16"), target=manifest("npu", nproc=2)),
        ["ACC269.half"],
    ),
]
NEAR_MISSES: list[tuple[str, Any, list[str]]] = [
    ("ACC260", compared(Call("Functional.conv2d", error=1e-7), target=SIMULATED), []),  # rounding alone
    ("ACC260", compared(Call("Torch.matmul", error=3e-4), target=SIMULATED), []),  # only convolutions are allowed it
    ("ACC260", compared(Call("Functional.conv2d", "bfloat16", error=3e-3), target=SIMULATED), []),
    ("ACC261", compared(Call("Functional.linear", "bfloat16", "float32")), []),  # meant for 16 bits
    ("ACC261", compared(Call("Functional.softmax", "bfloat16", made="float32")), []),  # autocast took float32
    ("ACC261", compared(Call("Functional.softmax"), Call("Torch.matmul", "bfloat16")), []),  # so does the baseline
    (
        "ACC261",
        compared(Call("Functional.softmax"), Call("Torch.add"), Call("Torch.matmul", "bfloat16", "float32")),
        [],
    ),  # not the softmax's result
    ("ACC262", Seen(compared(HALF), (log([64, 32, 32]), log([64, 32, 32]))), []),  # the usual search at the start
    (
        "ACC262",
        Seen(
            compared(CONV, target=manifest("npu", settings={"environment": {"INF_NAN_MODE_ENABLE": "0"}})),
            (None, Curve(Path("a"), "text")),
        ),
        [],
    ),  # nothing that overflows is scaled
    ("ACC262", compared(Call("Functional.linear", "bfloat16"), target=manifest("npu", experiment={"scaler": {}})), []),
    ("ACC263", Seen(compared(CONV, PARTED), again=compared(Call("Functional.conv2d"))), []),  # repeats itself
    ("ACC264", compared(CONV, target=NPU), []),
    ("ACC264", compared(Call("Torch.add", "int64"), target=NPU), []),
    ("ACC264", compared(Call("Tensor.reciprocal", "float64", place="/torch_npu/grad_scaler.py"), target=NPU), []),
    ("ACC265", compared(Call("Torch.sum", "bfloat16", shapes=((100, 8), (8,)))), []),  # few terms
    ("ACC265", compared(Call("Torch.sum", "bfloat16", shapes=((1024, 8), (8,)), made="float32")), []),
    ("ACC265", compared(Call("Torch.matmul"), baseline=manifest("cuda", settings=SWITCHES)), []),
    ("ACC265", compared(Call("Torch.matmul", "bfloat16"), baseline=manifest("cpu")), []),  # no GPU took part
    ("ACC266", compared(Call("Functional.dropout", error=1.0, arguments=(("input.1", 0.1), ("input.2", False)))), []),
    ("ACC266", compared(Call("Functional.dropout", error=1.0, arguments=(("input.p", 0.0),))), []),
    ("ACC266", compared(Call("Functional.dropout", error=0.4, before=0.3)), []),  # inherited, the mask is the same
    (
        "ACC267",
        compared(CONV, baseline=manifest("cuda", batches=order("a")), target=manifest("npu", batches=order("a", "b"))),
        [],
    ),  # one side took more steps
    (
        "ACC267",
        compared(CONV, baseline=manifest("cuda", batches=order("a", "b")), target=manifest("npu", batches=order("a"))),
        [],
    ),
    (
        "ACC268",
        compared(CONV, baseline=manifest("cuda", experiment=LEFT_OPEN), target=manifest("npu", experiment=LEFT_OPEN)),
        [],
    ),  # foreach on both
    ("ACC269", compared(Call("Distributed.all_reduce"), target=manifest("npu", nproc=2)), []),
    ("ACC269", compared(Call("Distributed.all_gather", "bfloat16"), target=manifest("npu", nproc=2)), []),  # no sum
]
LACKING: list[tuple[str, Any, list[str]]] = [
    ("ACC260", compared(CONV), ["ACC260.no_record"]),
    ("ACC260", compared(Call("Functional.conv2d", error=None), target=SIMULATED), ["ACC260.no_values"]),
    ("ACC261", compared(Call("Module.block.Block", "bfloat16")), ["ACC261.modules_only"]),
    ("ACC262", compared(HALF), ["ACC262.no_log"]),
    ("ACC262", Seen(compared(HALF), (None, WorkbookError("precision.no_log", path="x"))), ["precision.no_log"]),
    ("ACC263", compared(CONV), ["ACC263.once"]),
    ("ACC263", Seen(compared(CONV), again=compared(CONV, differences={"seed": []})), ["ACC263.other_experiment"]),
    ("ACC263", Seen(compared(CONV), again=compared(Call("Functional.relu", error=None))), ["ACC263.no_values"]),
    ("ACC264", compared(Call("Torch.matmul", "float64"), target=manifest("cpu")), ["ACC264.no_npu"]),
    ("ACC265", compared(Call("Torch.matmul", "bfloat16"), baseline=CUDA), ["ACC265.no_flags"]),
    ("ACC266", compared(Call("Functional.dropout", error=None)), ["ACC266.no_values"]),
    ("ACC267", compared(CONV), ["ACC267.no_record"]),
    ("ACC268", compared(CONV, baseline=CUDA, target=NPU), ["ACC268.no_record"]),
    ("ACC269", compared(CONV, target=manifest("npu", nproc=4)), ["ACC269.not_recorded"]),
]


@pytest.mark.parametrize(("code", "facts", "expected"), [*SPEAK, *NEAR_MISSES, *LACKING])
def test_a_rule_speaks_of_what_was_seen_and_of_nothing_else(code: str, facts: Any, expected: list[str]) -> None:
    assert said(code, facts) == expected


def test_every_rule_has_what_fires_what_does_not_and_what_lacks() -> None:
    for cases in (SPEAK, NEAR_MISSES, LACKING):
        assert {code for code, _, _ in cases} == set(CODES)
    assert {key for _, _, keys in (*SPEAK, *LACKING) for key in keys} | {"ACC268.parted", "precision.no_log"} >= {
        key for key in load_catalogue() if key[:6] in CODES and not key.endswith((".cause", *_KINDS))
    }


_KINDS = (".softmax", ".loss", ".norm", ".power", ".attention")


def finding(code: str, seen: Any) -> Finding:
    (found,) = judge_facts(Seen(seen), {code: CODES[code]}, strict=True)
    return found


def test_the_evidence_names_operator_place_and_change() -> None:
    found = finding("ACC261", compared(CONV, Call("Functional.softmax", "bfloat16", "float32")))
    assert found.status is Status.LOOK and found.place == Place("train.py", 11)
    assert found.args["names"] == ["Functional.softmax.1.forward (train.py:11)"] and "softmax(x.float()" in found.hint(
        "en"
    )
    off = finding("ACC260", compared(CONV, PARTED, baseline=CUDA, target=SIMULATED))
    assert "torch.npu.conv.allow_hf32 = False" in off.hint("zh") and off.args["error"] == 3e-4


def test_an_update_that_parts_the_weights_makes_its_form_a_suspect() -> None:
    facts = compared(
        Call("Functional.linear"),
        baseline=manifest("cuda", experiment=LEFT_OPEN),
        target=manifest("npu", experiment=FUSED),
    )
    later = compared(Call("Functional.linear", error=1e-2, before=1e-2), step=1)
    found = finding("ACC268", replace(facts, steps=(*facts.steps, *later.steps)))
    assert found.key == "ACC268.parted" and found.status is Status.LOOK and "torch.optim.AdamW(" in found.hint("en")


def test_the_report_has_a_row_for_every_rule_and_tells_what_was_not_looked_at() -> None:
    made = make_report(Seen(compared(CONV, PARTED, baseline=CUDA, target=SIMULATED)))
    assert made.table and made.table.column_values("rule") == list(CODES) and made.simulated
    assert made.headline and made.headline.key == "ACC260.off" and made.status is Status.LOOK
    assert made.facts["changes"] == 1 and made.facts["skipped"] == 4
    assert "torch.npu.conv.allow_hf32 = False" in made.text("en") and "hiascend.com" in made.html("zh")
    assert all(one is None or str(one).startswith("https://") for one in made.table.column_values("advice_source"))
    quiet = make_report(Seen(compared(CONV, baseline=CUDA, target=NPU)))
    assert quiet.headline and quiet.headline.key == "ACC259.none" and quiet.status is Status.NOT_LOOKED


OTHER = (Discrepancy("option", "seed", 1, 2),)
READ_TENSORS = ("ACC260", "ACC261", "ACC262", "ACC264", "ACC265", "ACC266", "ACC269")


@pytest.mark.parametrize("other", [True, False])
def test_where_no_tensor_was_compared_no_rule_says_that_it_looked(other: bool) -> None:
    about = manifest("npu", experiment={"scaler": {}})
    about.about["task"] = "tensor" if other else FINGERPRINTS
    facts = replace(compared(target=about, differences=OTHER if other else ()), steps=())
    made = make_report(Seen(facts))
    key = "other_experiment" if other else "no_operators"
    assert made.status is (Status.FIX if other else Status.NOT_LOOKED)
    assert made.headline and made.headline.key == f"ACC259.{key}" and ("seed" in made.text("zh")) is other
    assert {one.rule for one in made.findings if one.key == f"ACC230.{key}"} == {*READ_TENSORS}
    assert made.table and {"say": "advice.nothing"} not in made.table.column_values("advice_seen")


def test_a_loss_scale_in_trouble_is_told_of_other_experiments_too() -> None:
    facts = replace(compared(differences=OTHER), steps=())
    assert said("ACC262", Seen(facts, (log([4.0] * 4), log([8, 4, 2, 1])))) == [
        "ACC262.minimum",
        "ACC230.other_experiment",
    ]


def test_a_bundle_is_taken_as_a_folder_is(tmp_path: Path) -> None:
    capture = capture_of(tmp_path / "a")
    made = advise(bundle_of(capture, tmp_path / "a.zip"), capture, again=tmp_path / "a.zip")
    assert made.facts["baseline"] == str(tmp_path / "a.zip") and made.facts["target"] == str(capture)
    assert made.status <= Status.NOT_LOOKED and "ACC263" not in {one.rule for one in made.findings}


def test_a_second_run_with_other_checksums_does_not_repeat(tmp_path: Path) -> None:
    for name, factor in (("a", 1.0), ("b", 1.5)):
        dump = Dump(tmp_path / name, task="md5")
        dump.forward("Functional.relu", [torch.ones(3)], [torch.ones(3) * factor])
        dump.save()
    made = advise(tmp_path / "a", tmp_path / "a", again=tmp_path / "b")
    (found,) = (one for one in made.findings if one.rule == "ACC263")
    assert found.key == "ACC263.operator" and "unknown amount" in found.message("en")


def test_two_captures_their_logs_and_a_second_run(tmp_path: Path) -> None:
    for name in ("baseline", "target", "again"):
        noise = {"noise": lambda value: value * 1.0001} if name == "again" else {}
        convolutions(tmp_path / name / "dump", **noise)
        as_capture(tmp_path / name, tier="cpu" if name == "baseline" else "npu-simulated")
    (tmp_path / "target" / "gpulog.json").write_text(json.dumps({"schema": "unknown"}), encoding="utf-8")
    made = advise(tmp_path / "baseline", tmp_path / "target", again=tmp_path / "again")
    found = {one.rule: one for one in made.findings}
    assert found["ACC263"].key == "ACC263.operator" and "conv2d.0" in str(found["ACC263"].args["operator"])
    assert found["ACC262"].status is Status.NOT_LOOKED and "gpulog.json" in found["ACC262"].message("en")
    assert advise(tmp_path / "baseline", tmp_path / "target", again=tmp_path / "target").facts["changes"] == 0


def test_a_comparison_whose_runs_part_brings_its_advice_and_a_healthy_one_does_not(tmp_path: Path) -> None:
    for name, faults in (("a", {}), ("b", {"Functional.relu.1.forward": lambda value: value * 1.1})):
        noise = {f"Functional.conv2d.{call}.forward": lambda value: value * 1.0002 for call in range(3)}
        convolutions(tmp_path / name / "dump", faults={**faults, **(noise if name == "b" else {})})
        as_capture(tmp_path / name, tier="npu", numerics={"conv": "hf32"} if name == "b" else {})
    sick = compare(tmp_path / "a", tmp_path / "b")
    assert "ACC260.off" in {one.key for one in sick.findings} and sick.status is Status.FIX
    assert not {one.rule for one in compare(tmp_path / "a", tmp_path / "a").findings} & set(CODES)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_verdict_is_said_once(tmp_path: Path, lang: str) -> None:
    for name, tier in (("gpu", "cuda"), ("npu", "npu")):
        convolutions(tmp_path / name / "dump")
        as_capture(tmp_path / name, tier=tier)
    found = advise(tmp_path / "gpu", tmp_path / "npu")
    assert found.status is Status.NOT_LOOKED and found.headline is not None
    assert found.text(lang).count(found.headline.message(lang)) == 1
    assert found.html(lang).count(found.headline.message(lang)) == 1
