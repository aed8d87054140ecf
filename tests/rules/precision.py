"""Two captures, made in memory: what the rules say of them, and what is advised."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place
from ascend_workbook.precision.advice.evidence import Seen
from ascend_workbook.precision.comparison import Comparison, Selection
from ascend_workbook.precision.divergence import ALLOWED, DRAWN, JUMP, NOT_COMPARED, POSSIBLE
from ascend_workbook.precision.divergence.devices import Again
from ascend_workbook.precision.experiment.start import Changed, Start
from ascend_workbook.precision.experiment.told import Discrepancy
from ascend_workbook.precision.pairing import Pair, Pairing
from ascend_workbook.precision.record import BACKWARD, FORWARD, PARAMETERS, Operator, Run, TensorRecord
from ascend_workbook.precision.state.judge import Event, Judged, Row
from ascend_workbook.precision.tensors.agreement import DTYPE, ONLY_BASELINE, ONLY_TARGET, UNREADABLE
from tests.precision.experiment.test_experiment import recorded, side
from tests.precision.experiment.test_experiment import told as capture
from tests.precision.test_advice import LACKING, NEAR_MISSES, PARTED, SPEAK, Call, compared
from tests.precision.test_uncompared import facts as two_steps
from tests.rules.lines import Example

Facts = Callable[[], Any]
CASES = [*SPEAK, *NEAR_MISSES, *LACKING]
NAN = float("nan")
RELU = Call("Functional.relu", error=1e-7)


def advice(number: int) -> Facts:
    """A case of the tests of the advice."""
    facts = CASES[number][1]
    return lambda: facts if isinstance(facts, Seen) else Seen(facts)


def of(*calls: Call, **fields: Any) -> Facts:
    """A comparison of these calls, with fields replaced."""
    return lambda: dataclasses.replace(compared(*calls), **fields)


def judged(change: Callable[[int, Any], dict[str, Any]], *calls: Call) -> Facts:
    """A comparison of these calls whose judgements are changed, by number."""

    def make() -> Comparison:
        facts = compared(*calls)
        (step,) = facts.steps
        found = tuple(dataclasses.replace(one, **change(at, one)) for at, one in enumerate(step.judged))
        return dataclasses.replace(facts, steps=(dataclasses.replace(step, judged=found),))

    return make


def plain(**fields: Any) -> Facts:
    """Facts of which a rule reads these alone."""
    empty = SimpleNamespace(about=None, troubles=(), runs={}, folder=Path("/c"))
    known = {
        "baseline": empty,
        "target": empty,
        "stopped": False,
        "bare": False,
        "first": None,
        "steps": (),
        "only": ((), ()),
    }
    return lambda: SimpleNamespace(**{**known, **fields})


def ranked(left: set[int], right: set[int], **fields: Any) -> Facts:
    """Sides that hold these ranks of step 0."""
    sides = [
        SimpleNamespace(about=None, troubles=(), runs={(0, rank): 1 for rank in ranks}, folder=Path("/c"))
        for ranks in (left, right)
    ]
    return plain(baseline=sides[0], target=sides[1], **fields)


def abouts(left: Any, right: Any, differences: tuple[Discrepancy, ...] = (), anyway: bool = False) -> Facts:
    sides = {"baseline": SimpleNamespace(about=left), "target": SimpleNamespace(about=right)}
    return plain(**sides, differences=differences, anyway=anyway)


def summed(at: int, judgement: Any) -> dict[str, Any]:
    """Outputs that were held against each other by a checksum."""
    agreement = judgement.agreement
    outputs = tuple(dataclasses.replace(slot, summed=True) for slot in agreement.outputs)
    return {"agreement": dataclasses.replace(agreement, outputs=outputs)}


def started(weights: int, total: int, data: int, factor: float = 2.0) -> Facts:
    """A start at which so many weights and batches differ, by 0.1, 0.2 and so on."""
    made = [
        tuple(Changed(f"{word}{at}", (at + 1) / 10, factor) for at in range(count))
        for word, count in (("w", weights), ("x", data))
    ]
    return plain(start=Start(made[0], total, made[1]))


def calls(total: int, alone: int) -> Facts:
    """Steps of `total` operators of which so many have no partner in the baseline."""

    def make() -> Any:
        facts = compared(*[RELU] * total)
        (step,) = facts.steps
        pairing = step.pairing
        lone = tuple(pairing.target.operators[:alone])
        pairing = dataclasses.replace(pairing, pairs=pairing.pairs[alone:], only_target=lone)
        return dataclasses.replace(facts, steps=(dataclasses.replace(step, pairing=pairing),))

    return make


def holding(
    *outputs: tuple[float | None, float | None], given: tuple[float | None, float | None] = (1.0, 1.0)
) -> Facts:
    """One operator whose outputs have these largest values, (target, baseline), and one input."""

    def make() -> Any:
        def operator(side: int) -> Operator:
            ins = (TensorRecord("input.0", "float16", (2,), given[side], 0.0, 0.0, 0.0),)
            outs = tuple(
                TensorRecord(f"output.{at}", "float16", (2,), one[side], 0.0, 0.0, 0.0)
                for at, one in enumerate(outputs)
            )
            return Operator("Torch.exp.0.forward", "Torch.exp", 0, FORWARD, 0, ins, outs, Place("train.py", 7))

        pair = Pair(operator(0), operator(1))
        runs = [Run(Path(), 3, 1, "tensor", "L1", (one,)) for one in (pair.target, pair.baseline)]
        step = SimpleNamespace(step=3, rank=1, pairing=Pairing(runs[0], runs[1], (pair,), (), ()))
        return plain(steps=(step,))()

    return make


def again(verdict: str, *runs: Again) -> Facts:
    """The first divergence, run again on these devices."""
    target = SimpleNamespace(place=Place("train.py", 7))
    agreement = SimpleNamespace(pair=SimpleNamespace(target=target))
    named = SimpleNamespace(
        name="Torch.exp.0.forward", side="target", allowed=1e-6, own_error=0.25, agreement=agreement
    )
    return plain(confirmation=SimpleNamespace(judged=named, runs=runs, verdict=verdict))


def slot(problem: str = "", detail: str = "", *, direction: str = BACKWARD, **changes: Any) -> Facts:
    """One judged entry of this direction whose output has this problem."""

    def change(at: int, judgement: Any) -> dict[str, Any]:
        agreement = judgement.agreement
        pair = Pair(
            *(dataclasses.replace(one, direction=direction) for one in (agreement.pair.baseline, agreement.pair.target))
        )
        out = dataclasses.replace(agreement.outputs[0], problem=problem, detail=detail, **changes.pop("tensor", {}))
        return {"agreement": dataclasses.replace(agreement, pair=pair, outputs=(out,)), **changes}

    return judged(change, RELU)


def different(count: int) -> tuple[Discrepancy, ...]:
    return tuple(Discrepancy("seed", f"seed {at}", at, at + 1) for at in range(count))


EXAMPLES: list[Example] = [
    ("ACC201", ranked({0, 1}, {0, 1}), []),
    ("ACC201", ranked({0, 1}, {0, 2}), ["LOOK ACC201.ranks baseline=[0, 1] target=[0, 2] weight=85"]),
    ("ACC201", ranked({0, 2}, {0, 2}), ["NOTE ACC201.gap ranks=[1]"]),
    (
        "ACC201",
        ranked({0}, {0}, only=([(1, 0)], [(2, 0), (3, 1)])),
        [
            "FIX ACC201.one_sided side=precision.side_baseline() where=[step 1 rank 0] weight=90",
            "FIX ACC201.one_sided side=precision.side_target() where=[step 2 rank 0, step 3 rank 1] weight=90",
        ],
    ),
    ("ACC201", ranked({0}, {1}, bare=True), []),
    (
        "ACC201",
        plain(
            baseline=SimpleNamespace(
                about=SimpleNamespace(changed_files=lambda: ["a", "b", "c", "d"]), folder="/c", troubles=(), runs={}
            )
        ),
        ["FIX ACC201.changed count=4 files=[a, b, c] path=/c weight=400"],
    ),
    ("ACC202", plain(), []),
    (
        "ACC202",
        plain(target=SimpleNamespace(troubles=(WorkbookError("precision.no_log", path="x"),))),
        ["FIX precision.no_log path=x weight=95"],
    ),
    ("ACC204", started(0, 10, 0), []),
    (
        "ACC204",
        started(0, 10, 1),
        ["FIX ACC204.data count=0 names=[ACC204.scaled(error=0.1 factor=2 where=x0)] total=10 weight=400"],
    ),
    (
        "ACC204",
        started(2, 10, 2),
        [
            (
                "FIX ACC204.seed count=2 names=[ACC204.scaled(error=0.2 factor=2 where=w1), "
                "ACC204.scaled(error=0.2 factor=2 where=x1), ACC204.scaled(error=0.1 factor=2 where=w0)] "
                "total=10 weight=400"
            )
        ],
    ),
    (
        "ACC204",
        started(4, 10, 0),
        [
            (
                "FIX ACC204.weights count=4 names=[ACC204.scaled(error=0.4 factor=2 where=w3), "
                "ACC204.scaled(error=0.3 factor=2 where=w2), ACC204.scaled(error=0.2 factor=2 where=w1)] "
                "total=10 weight=400"
            )
        ],
    ),
    (
        "ACC204",
        started(3, 10, 0, NAN),
        [
            (
                "FIX ACC204.few count=3 names=[ACC204.one(error=0.3 where=w2), ACC204.one(error=0.2 where=w1), "
                "ACC204.one(error=0.1 where=w0)] total=10 weight=400"
            )
        ],
    ),
    ("ACC205", abouts(None, None), ["NOTE ACC205.no_manifest"]),
    (
        "ACC205",
        abouts(capture(), side({"0": "a"})),
        [
            "NOTE ACC205.loaders baseline=1 name=- target=0 weight=20",
            (
                "NOT_LOOKED ACC205.not_looked names=[settings, seeds, modules, weight values, samples, optimizer, "
                "learning rates, loss function] weight=25"
            ),
        ],
    ),
    (
        "ACC205",
        abouts(capture(), capture(), different(12)),
        [
            "FIX ACC205.seed baseline=0 name=seed 0 target=1 weight=600",
            "FIX ACC205.seed baseline=1 name=seed 1 target=2 weight=599",
            "FIX ACC205.seed baseline=2 name=seed 2 target=3 weight=598",
            "FIX ACC205.seed baseline=3 name=seed 3 target=4 weight=597",
            "FIX ACC205.seed baseline=4 name=seed 4 target=5 weight=596",
            "FIX ACC205.seed baseline=5 name=seed 5 target=6 weight=595",
            "FIX ACC205.seed baseline=6 name=seed 6 target=7 weight=594",
            "FIX ACC205.seed baseline=7 name=seed 7 target=8 weight=593",
            "FIX ACC205.seed baseline=8 name=seed 8 target=9 weight=592",
            "FIX ACC205.seed baseline=9 name=seed 9 target=10 weight=591",
            "FIX ACC205.seed baseline=10 name=seed 10 target=11 weight=590",
            "FIX ACC205.seed baseline=11 name=seed 11 target=12 weight=589",
            "NOT_LOOKED ACC205.not_looked names=[samples] weight=25",
        ],
    ),
    (
        "ACC205",
        abouts(capture(), capture(), different(19)),
        [
            "FIX ACC205.seed baseline=0 name=seed 0 target=1 weight=600",
            "FIX ACC205.seed baseline=1 name=seed 1 target=2 weight=599",
            "FIX ACC205.seed baseline=2 name=seed 2 target=3 weight=598",
            "FIX ACC205.seed baseline=3 name=seed 3 target=4 weight=597",
            "FIX ACC205.seed baseline=4 name=seed 4 target=5 weight=596",
            "FIX ACC205.seed baseline=5 name=seed 5 target=6 weight=595",
            "FIX ACC205.seed baseline=6 name=seed 6 target=7 weight=594",
            "FIX ACC205.seed baseline=7 name=seed 7 target=8 weight=593",
            "FIX ACC205.seed baseline=8 name=seed 8 target=9 weight=592",
            "FIX ACC205.seed baseline=9 name=seed 9 target=10 weight=591",
            "FIX ACC205.seed baseline=10 name=seed 10 target=11 weight=590",
            "FIX ACC205.seed baseline=11 name=seed 11 target=12 weight=589",
            "FIX ACC205.more count=7 names=[seed 12, seed 13, seed 14, seed 15, seed 16] weight=500",
            "NOT_LOOKED ACC205.not_looked names=[samples] weight=25",
        ],
    ),
    (
        "ACC205",
        abouts(capture(), capture(), different(1), anyway=True),
        [
            "LOOK ACC205.seed baseline=0 name=seed 0 target=1 weight=600",
            "NOT_LOOKED ACC205.not_looked names=[samples] weight=25",
        ],
    ),
    ("ACC206", abouts(side({}, tier="cpu"), side({}, tier="npu", parameter_devices=["cpu", "npu:0"])), []),
    (
        "ACC206",
        abouts(side({}, tier="cpu"), side({}, tier="npu", parameter_devices=["cpu"])),
        ["LOOK ACC206.off_npu devices=[cpu] weight=400"],
    ),
    (
        "ACC206",
        abouts(side({}, tier="cuda"), side({}, tier="cpu", parameter_devices=["cpu"])),
        ["LOOK ACC206.no_npu baseline=cuda target=cpu weight=400"],
    ),
    ("ACC206", abouts(None, side({})), []),
    ("ACC207", abouts(recorded("cuda"), recorded("npu")), []),
    (
        "ACC207",
        abouts(recorded("cuda"), recorded("npu", packages={"torch": "2.9.0", "numpy": "2.1.0", "scipy": "1.1"})),
        [
            (
                "NOTE ACC207.differ baseline=None count=2 others=[scipy] target=2.1.0 what=numpy "
                "why=settings.why.arithmetic() weight=30"
            )
        ],
    ),
    ("ACC208", of(RELU), []),
    (
        "ACC208",
        lambda: compared(RELU, seen={"conv": "hf32", "matmul": "hf32"}),
        [
            "NOTE ACC208.seen form=HF32 what=ACC208.conv() weight=40",
            "NOTE ACC208.seen form=HF32 what=ACC208.matmul() weight=40",
        ],
    ),
    ("ACC209", of(RELU), []),
    ("ACC210", calls(100, 0), []),
    (
        "ACC210",
        calls(100, 1),
        [
            (
                "NOTE ACC210.only count=1 names=[precision.alone(count=1 head=Functional.relu "
                "why=precision.why_repeated())] side=precision.side_target() weight=1"
            )
        ],
    ),
    (
        "ACC210",
        calls(100, 2),
        [
            (
                "LOOK ACC210.only count=2 names=[precision.alone(count=2 head=Functional.relu "
                "why=precision.why_repeated())] side=precision.side_target() weight=2"
            )
        ],
    ),
    ("ACC215", of(RELU), ["NOTE ACC215.statistics"]),
    (
        "ACC215",
        of(Call("Functional.relu", error=None, outcome="checksum")),
        ["NOTE ACC215.statistics", "LOOK ACC215.checksum count=1 names=[Functional.relu.0.forward output.0] weight=60"],
    ),
    ("ACC217", of(RELU), []),
    ("ACC217", of(RELU, selection=Selection(names=("relu",))), ["NOTE ACC217.selected count=1 names=[relu]"]),
    (
        "ACC218",
        judged(lambda at, one: {"allowed": (0.02, 0.01, 0.001)[at]}, RELU, RELU, RELU),
        ["NOTE ACC218.room count=3 room=0.01 why=[ACC218.statistics()]"],
    ),
    ("ACC218", judged(lambda at, one: {"allowed": (0.02, 0.009, 0.001)[at]}, RELU, RELU, RELU), []),
    (
        "ACC218",
        judged(lambda at, one: {"allowed": 0.02}, Call("Functional.relu", "float16", error=1e-7)),
        ["NOTE ACC218.room count=1 room=0.02 why=[ACC218.statistics(), ACC218.half()]"],
    ),
    ("ACC218", of(PARTED), []),
    (
        "ACC230",
        of(RELU),
        [
            "GOOD ACC230.none agrees=1 count=1 explained=0 left=0 operator=Functional.relu.0.forward own=1e-07 "
            "weight=100"
        ],
    ),
    (
        "ACC230",
        of(Call("Functional.relu", error=0.0)),
        ["GOOD ACC230.same_statistics agrees=1 count=1 explained=0 left=0 weight=100"],
    ),
    (
        "ACC230",
        judged(summed, Call("Functional.relu", error=0.0)),
        ["GOOD ACC230.same_checksums agrees=1 count=1 explained=0 left=0 weight=100"],
    ),
    (
        "ACC230",
        of(RELU, PARTED),
        [
            (
                "FIX ACC230.amplified allowed=1e-06 error_in=0 error_out=0.5 kernels=[aten::relu] "
                "next=ACC230.save_by_hand(side=precision.side_target() step=0) "
                "operator=Functional.relu.1.forward place=train.py:11 rank=0 step=0 "
                "why=precision.replay_not_saved() weight=300 @train.py:11"
            )
        ],
    ),
    (
        "ACC230",
        judged(lambda at, one: {"outcome": ALLOWED, "form": "hf32"}, Call("Functional.conv2d", error=3e-4)),
        [
            (
                "GOOD ACC230.reduced agrees=0 allowed=1e-06 count=1 explained=0 form=HF32 left=0 "
                "operator=Functional.conv2d.0.forward own=0.0003 weight=100"
            )
        ],
    ),
    (
        "ACC230",
        judged(lambda at, one: {"outcome": POSSIBLE, "allowed": 1e-3}, Call("Functional.conv2d", error=3e-4)),
        [
            (
                "NOT_LOOKED ACC230.possible agrees=0 allowed=0.001 count=1 explained=0 left=0 "
                "operators=[Functional.conv2d.0.forward] own=0.0003 weight=100"
            )
        ],
    ),
    (
        "ACC230",
        judged(lambda at, one: {"outcome": NOT_COMPARED}, RELU, RELU),
        ["FIX ACC230.nothing count=2 weight=100"],
    ),
    (
        "ACC230",
        judged(lambda at, one: {"outcome": DRAWN} if at else {}, RELU, Call("Functional.dropout", error=1.0), RELU),
        [
            (
                "LOOK ACC230.drawn api=[dropout] before=1 behind=2 count=1 error=1 "
                "operator=Functional.dropout.1.forward own=None place=train.py:11 replayed=0 step=0 weight=300 "
                "@train.py:11"
            )
        ],
    ),
    ("ACC230", of(RELU, differences=different(1)), ["CANNOT ACC230.other_experiment what=[seed 0]"]),
    ("ACC232", of(RELU), []),
    (
        "ACC232",
        holding((float("inf"), 1.0)),
        [
            (
                "FIX ACC232.made dtype=float16 expected=1 kernels=None kind=ACC232.inf() limit=65504 "
                "operator=[Torch.exp.0.forward] place=train.py:7 ranks=[1] receiver=Torch.exp.0.forward "
                "side=precision.side_target() slot=output.0 step=3 weight=250 @train.py:7"
            )
        ],
    ),
    (
        "ACC232",
        holding((float("nan"), 1.0)),
        [
            (
                "FIX ACC232.made dtype=float16 expected=1 kernels=None kind=ACC232.nan() limit=65504 "
                "operator=[Torch.exp.0.forward] place=train.py:7 ranks=[1] receiver=Torch.exp.0.forward "
                "side=precision.side_target() slot=output.0 step=3 weight=250 @train.py:7"
            )
        ],
    ),
    ("ACC232", holding((float("inf"), float("inf"))), []),
    (
        "ACC232",
        holding((float("inf"), 1.0), given=(float("inf"), 1.0)),
        [
            (
                "FIX ACC232.came dtype=float16 expected=1 kernels=None kind=ACC232.inf() limit=65504 "
                "operator=[Torch.exp.0.forward] place=train.py:7 ranks=[1] receiver=Torch.exp.0.forward "
                "side=precision.side_target() slot=input.0 step=3 weight=250 @train.py:7"
            )
        ],
    ),
    (
        "ACC232",
        holding((1.0, float("inf"))),
        [
            (
                "FIX ACC232.made dtype=float16 expected=1 kernels=None kind=ACC232.inf() limit=65504 "
                "operator=[Torch.exp.0.forward] place=train.py:7 ranks=[1] receiver=Torch.exp.0.forward "
                "side=precision.side_baseline() slot=output.0 step=3 weight=250 @train.py:7"
            )
        ],
    ),
    ("ACC232", holding((65504.0, 1.0)), []),
    ("ACC233", plain(confirmation=None), []),
    (
        "ACC233",
        again("again", Again("cpu", 0.5, 0.25)),
        [
            (
                "LOOK ACC233.again allowed=1e-06 operator=Torch.exp.0.forward own=0.25 "
                "runs=[ACC233.run(double=None saved=0.5 single=0.25 tier=cpu)] side=precision.side_target() "
                "weight=200 @train.py:7"
            )
        ],
    ),
    (
        "ACC233",
        again("dtype", Again("npu", 0.5, 1e-7, double=0.125)),
        [
            (
                "LOOK ACC233.dtype allowed=1e-06 operator=Torch.exp.0.forward own=0.25 "
                "runs=[ACC233.run_double(double=0.125 saved=0.5 single=1e-07 tier=npu)] "
                "side=precision.side_target() weight=200 @train.py:7"
            )
        ],
    ),
    (
        "ACC233",
        again("not_again", Again("cpu", 0.0, 0.0)),
        [
            (
                "LOOK ACC233.not_again allowed=1e-06 operator=Torch.exp.0.forward own=0.25 "
                "runs=[ACC233.run(double=None saved=0 single=0 tier=cpu)] side=precision.side_target() "
                "weight=200 @train.py:7"
            )
        ],
    ),
    (
        "ACC233",
        again("unknown", Again("npu", failed="no device")),
        [
            (
                "NOT_LOOKED ACC233.unknown allowed=1e-06 operator=Torch.exp.0.forward own=0.25 "
                "runs=[ACC233.run_failed(error=no device tier=npu)] side=precision.side_target() weight=200 "
                "@train.py:7"
            )
        ],
    ),
    ("ACC235", lambda: two_steps([1e-6, 2e-6, None], 1e-4), []),
    (
        "ACC235",
        lambda: two_steps([1e-6, 2e-6, 3.0], 1.01e-4),
        [
            (
                "LOOK ACC235.parted error=0.000101 limit=0.0001 operator=Functional.conv2d.0.forward rank=0 "
                "step=0 weight=200"
            )
        ],
    ),
    (
        "ACC235",
        lambda: two_steps([5e-2, 4e-2, 9e-2], 5e-2),
        [
            (
                "NOTE ACC235.explained error=0.05 gradients=0.05 operator=Functional.conv2d.0.forward rank=0 "
                "step=0 weight=60"
            )
        ],
    ),
    (
        "ACC235",
        lambda: two_steps([5e-2, 4e-2, 9e-2], 5.01e-2),
        ["LOOK ACC235.parted error=0.0501 limit=0.05 operator=Functional.conv2d.0.forward rank=0 step=0 weight=200"],
    ),
    (
        "ACC235",
        lambda: two_steps([], 1e-3),
        ["LOOK ACC235.parted error=0.001 limit=0.0001 operator=Functional.conv2d.0.forward rank=0 step=0 weight=200"],
    ),
    ("ACC235", of(RELU), ["NOTE ACC235.unseen steps=[0]"]),
    ("ACC235", of(PARTED), []),
    # what a step does besides its operators
    ("ACC237", of(RELU), []),
    (
        "ACC237",
        of(RELU, states=(Judged(0, (), (Row(0, "gradient", 4, "fc.weight", 1e-6, 2e-4),)),)),
        ["GOOD ACC237.same allowed=0.0002 count=4 error=1e-06 steps=1 worst=fc.weight weight=15"],
    ),
    (
        "ACC237",
        of(
            RELU,
            states=(
                Judged(
                    1,
                    (
                        Event(
                            2,
                            "rule",
                            "named",
                            (),
                            {"rule": ["no nesterov"], "optimizer": "SGD", "coefficients": None},
                            "/x/train.py:7",
                        ),
                    ),
                    (),
                ),
            ),
        ),
        [
            (
                "FIX ACC237.rule_named coefficients=None names=[] optimizer=SGD place=/x/train.py:7 rank=1 "
                "rule=[state.rule_no_nesterov()] side=precision.side_target() step=2 weight=350 @/x/train.py:7"
            )
        ],
    ),
    (
        "ACC237",
        of(PARTED, states=(Judged(0, (Event(0, "random", "", ("numpy",)),), ()),)),
        ["LOOK ACC237.random names=[numpy] place=- rank=0 side=precision.side_target() step=0 weight=160"],
    ),
    # what is advised
    (
        "ACC260",
        advice(0),
        [
            (
                "LOOK ACC260.off count=1 error=0.0003 operator=Functional.conv2d.0.forward (train.py:10) "
                "switch=torch.npu.conv.allow_hf32 = False what=ACC208.conv() weight=60 @train.py:10"
            )
        ],
    ),
    (
        "ACC260",
        advice(1),
        [
            (
                "NOTE ACC260.keep count=1 error=0.0003 operator=Functional.conv2d.0.forward (train.py:10) "
                "switch=torch.npu.conv.allow_hf32 = False what=ACC208.conv()"
            )
        ],
    ),
    (
        "ACC260",
        advice(2),
        [
            (
                "NOTE ACC260.alike count=1 error=0.0003 operator=Functional.conv2d.0.forward (train.py:10) "
                "switch=torch.npu.conv.allow_hf32 = False what=ACC208.conv()"
            )
        ],
    ),
    (
        "ACC260",
        advice(3),
        [
            (
                "LOOK ACC260.off count=1 error=0.0003 operator=Functional.conv2d.0.forward (train.py:10) "
                "switch=torch.npu.conv.allow_hf32 = False what=ACC208.conv() weight=60 @train.py:10"
            )
        ],
    ),
    (
        "ACC261",
        advice(4),
        [
            (
                "LOOK ACC261.wider api=softmax count=1 dtype=bfloat16 names=[Functional.softmax.0.forward "
                "(train.py:10)] what=ACC261.softmax() wider=1 weight=51 @train.py:10"
            )
        ],
    ),
    (
        "ACC261",
        advice(5),
        [
            (
                "NOTE ACC261.half api=cross_entropy count=1 dtype=float16 "
                "names=[Functional.cross_entropy.0.forward (train.py:10)] what=ACC261.loss() wider=0 weight=50 "
                "@train.py:10"
            )
        ],
    ),
    (
        "ACC261",
        advice(6),
        [
            (
                "LOOK ACC261.wider api=LayerNorm count=1 dtype=bfloat16 names=[Module.norm.LayerNorm.0.forward "
                "(train.py:10)] what=ACC261.norm() wider=1 weight=51 @train.py:10"
            )
        ],
    ),
    (
        "ACC261",
        advice(7),
        [
            (
                "LOOK ACC261.wider api=matmul count=1 dtype=bfloat16 names=[Torch.matmul.2.forward "
                "(train.py:12)] what=ACC261.attention() wider=1 weight=51 @train.py:12"
            )
        ],
    ),
    ("ACC262", advice(8), ["LOOK ACC262.minimum falls=3 lowest=1 step=3 weight=70 @train.log:1"]),
    ("ACC262", advice(9), ["LOOK ACC262.falls baseline=0 falls=4 lowest=4 step=1 weight=70 @train.log:1"]),
    ("ACC262", advice(10), ["LOOK ACC262.skipped baseline=0 target=3 weight=70"]),
    ("ACC262", advice(11), ["LOOK ACC262.saturated name=INF_NAN_MODE_ENABLE weight=75"]),
    (
        "ACC262",
        advice(12),
        ["LOOK ACC262.without count=1 names=[Functional.linear.0.forward (train.py:10)] weight=55 @train.py:10"],
    ),
    (
        "ACC263",
        advice(13),
        [
            (
                "LOOK ACC263.operator count=2 error=0.0003 operator=Functional.conv2d.0.forward (train.py:10) "
                "step=0 weight=90 @train.py:10"
            )
        ],
    ),
    (
        "ACC263",
        advice(14),
        [
            (
                "LOOK ACC263.collective count=1 error=1e-07 operator=Distributed.all_reduce.0.forward "
                "(train.py:10) step=0 weight=90 @train.py:10"
            )
        ],
    ),
    (
        "ACC263",
        advice(15),
        [
            (
                "LOOK ACC263.although count=1 error=0.0003 operator=Functional.conv2d.0.forward (train.py:10) "
                "step=0 weight=90 @train.py:10"
            )
        ],
    ),
    (
        "ACC263",
        advice(16),
        [
            (
                "LOOK ACC263.operator count=1 error=advice.unknown_size() operator=Functional.relu.0.forward "
                "(train.py:10) step=0 weight=90 @train.py:10"
            )
        ],
    ),
    (
        "ACC264",
        advice(17),
        ["LOOK ACC264.kept count=1 names=[Torch.matmul.0.forward (train.py:10)] weight=45 @train.py:10"],
    ),
    (
        "ACC264",
        advice(18),
        ["LOOK ACC264.lost count=1 names=[Torch.matmul.0.forward (train.py:10)] weight=45 @train.py:10"],
    ),
    (
        "ACC265",
        advice(19),
        [
            (
                "NOTE ACC265.sums api=sum count=1 dtype=bfloat16 names=[Torch.sum.0.forward (train.py:10)] "
                "terms=1024 weight=40 @train.py:10"
            )
        ],
    ),
    (
        "ACC265",
        advice(20),
        [
            (
                "NOTE ACC265.split count=1 dtype=bfloat16 names=[Torch.matmul.0.forward (train.py:10)] "
                "switch=torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False weight=42 "
                "@train.py:10"
            )
        ],
    ),
    (
        "ACC266",
        advice(21),
        ["LOOK ACC266.masks all=1 count=1 names=[Functional.dropout.0.forward (train.py:10)] weight=80 @train.py:10"],
    ),
    (
        "ACC266",
        advice(22),
        ["LOOK ACC266.draws all=1 count=1 names=[Torch.randn_like.0.forward (train.py:10)] weight=80 @train.py:10"],
    ),
    ("ACC267", advice(23), ["LOOK ACC267.steps at=1 count=2 loader=- rank=rank0 step=0 weight=85"]),
    ("ACC267", advice(24), ["LOOK ACC267.other at=None count=1 loader=- rank=rank0 step=0 weight=85"]),
    ("ACC267", advice(25), ["LOOK ACC267.within at=None count=1 loader=- rank=rank0 step=0 weight=85"]),
    (
        "ACC268",
        advice(26),
        ["NOTE ACC268.unseen baseline=foreach count=1 name=NpuFusedAdamW plain=AdamW target=fused weight=65"],
    ),
    (
        "ACC268",
        advice(27),
        ["NOTE ACC268.unseen baseline=for-loop count=1 name=AdamW plain=AdamW target=foreach weight=65"],
    ),
    (
        "ACC268",
        advice(28),
        ["NOTE ACC268.differ baseline=foreach count=1 name=NpuFusedAdamW plain=AdamW target=fused weight=65"],
    ),
    (
        "ACC268",
        advice(29),
        ["NOTE ACC268.unseen baseline=foreach count=1 name=NpuFusedAdamW plain=AdamW target=fused weight=65"],
    ),
    (
        "ACC269",
        advice(30),
        [
            (
                "LOOK ACC269.wider all=1 count=1 dtype=bfloat16 names=[Distributed.all_reduce.0.forward "
                "(train.py:10)] ranks=2 weight=48 @train.py:10"
            )
        ],
    ),
    (
        "ACC269",
        advice(31),
        [
            (
                "NOTE ACC269.half all=1 count=1 dtype=float16 names=[Distributed.reduce_scatter_tensor.0.forward "
                "(train.py:10)] ranks=2 weight=48 @train.py:10"
            )
        ],
    ),
    ("ACC260", advice(32), []),
    ("ACC260", advice(33), []),
    ("ACC260", advice(34), []),
    ("ACC261", advice(35), []),
    ("ACC261", advice(36), []),
    ("ACC261", advice(37), []),
    ("ACC261", advice(38), []),
    ("ACC262", advice(39), []),
    ("ACC262", advice(40), []),
    ("ACC262", advice(41), []),
    ("ACC263", advice(42), []),
    ("ACC264", advice(43), []),
    ("ACC264", advice(44), []),
    ("ACC264", advice(45), []),
    ("ACC265", advice(46), []),
    ("ACC265", advice(47), []),
    ("ACC265", advice(48), []),
    ("ACC265", advice(49), []),
    ("ACC266", advice(50), []),
    ("ACC266", advice(51), []),
    ("ACC266", advice(52), []),
    ("ACC267", advice(53), []),
    ("ACC267", advice(54), []),
    ("ACC268", advice(55), []),
    ("ACC269", advice(56), []),
    ("ACC269", advice(57), []),
    ("ACC260", advice(58), ["CANNOT ACC260.no_record"]),
    ("ACC260", advice(59), ["CANNOT ACC260.no_values count=1"]),
    ("ACC261", advice(60), ["CANNOT ACC261.modules_only"]),
    ("ACC262", advice(61), ["CANNOT ACC262.no_log"]),
    ("ACC262", advice(62), ["CANNOT precision.no_log path=x"]),
    ("ACC263", advice(63), ["CANNOT ACC263.once"]),
    ("ACC263", advice(64), ["CANNOT ACC263.other_experiment"]),
    ("ACC263", advice(65), ["CANNOT ACC263.no_values"]),
    ("ACC264", advice(66), ["CANNOT ACC264.no_npu tier=cpu"]),
    ("ACC265", advice(67), ["CANNOT ACC265.no_flags count=1"]),
    ("ACC266", advice(68), ["CANNOT ACC266.no_values count=1"]),
    ("ACC267", advice(69), ["CANNOT ACC267.no_record"]),
    ("ACC268", advice(70), ["CANNOT ACC268.no_record"]),
    ("ACC269", advice(71), ["CANNOT ACC269.not_recorded ranks=4"]),
    (
        "ACC215",
        slot(DTYPE, "float16 / float32"),
        ["NOTE ACC215.autograd count=1 names=[Functional.relu.0.forward]", "NOTE ACC215.statistics"],
    ),
    (
        "ACC215",
        slot(DTYPE, "float16 / float32", direction=FORWARD),
        [
            "LOOK ACC215.dtype count=1 names=[Functional.relu.0.forward float16 / float32] weight=50",
            "NOTE ACC215.statistics",
        ],
    ),
    (
        "ACC215",
        slot(DTYPE, "float32 / float64", direction=FORWARD),
        [
            "NOTE ACC215.double count=1 names=[Functional.relu.0.forward float32 / float64] weight=50",
            "NOTE ACC215.statistics",
        ],
    ),
    (
        "ACC215",
        slot(ONLY_TARGET),
        ["NOTE ACC215.lacking count=1 names=[Functional.relu.0.forward output.0]", "NOTE ACC215.statistics"],
    ),
    (
        "ACC215",
        slot(ONLY_BASELINE),
        ["NOTE ACC215.lacking count=1 names=[Functional.relu.0.forward output.0]", "NOTE ACC215.statistics"],
    ),
    ("ACC215", slot(ONLY_TARGET, direction=FORWARD), ["NOTE ACC215.statistics"]),
    (
        "ACC215",
        slot(ONLY_TARGET, outcome=NOT_COMPARED),
        ["NOTE ACC215.autograd count=1 names=[Functional.relu.0.forward]", "NOTE ACC215.statistics"],
    ),
    (
        "ACC215",
        slot(UNREADABLE, "broken zip"),
        ["FIX ACC215.unreadable count=1 first=broken zip weight=350", "NOTE ACC215.statistics"],
    ),
    (
        "ACC215",
        slot(UNREADABLE, "broken zip", outcome=NOT_COMPARED),
        ["FIX ACC215.unreadable count=1 first=broken zip weight=350", "NOTE ACC215.statistics"],
    ),
    (
        "ACC215",
        slot(outcome=NOT_COMPARED),
        ["NOTE ACC215.autograd count=1 names=[Functional.relu.0.forward]", "NOTE ACC215.statistics"],
    ),
    (
        "ACC215",
        slot(outcome=NOT_COMPARED, direction=PARAMETERS),
        ["NOT_LOOKED ACC215.adrift count=1 names=[Functional.relu.0.forward]", "NOTE ACC215.statistics"],
    ),
    ("ACC215", slot(tensor={"summed": True}), ["NOTE ACC215.statistics", "NOTE ACC215.summed count=1"]),
    ("ACC218", slot(allowed=0.02), []),
    ("ACC218", slot(direction=FORWARD, allowed=0.02, own=SimpleNamespace(worst=0.0)), []),
    ("ACC218", slot(direction=FORWARD, allowed=0.02, outcome=NOT_COMPARED), []),
    (
        "ACC230",
        judged(
            lambda at, one: {"outcome": (NOT_COMPARED, JUMP)[at]},
            RELU,
            Call("Functional.conv2d", error=1.0, before=0.9),
        ),
        [
            (
                "FIX ACC230.unseen allowed=1e-06 before=[Functional.relu.0.forward] error_in=0.9 error_out=1 "
                "kernels=[aten::convolution] operator=Functional.conv2d.1.forward place=train.py:11 rank=0 "
                "step=0 weight=300 @train.py:11"
            )
        ],
    ),
    (
        "ACC230",
        judged(lambda at, one: {"outcome": JUMP}, Call("Functional.conv2d", error=1.0, before=0.9)),
        ["CANNOT ACC230.other_start"],
    ),
    (
        "ACC265",
        lambda: Seen(compared(Call("Torch.sum", "bfloat16", shapes=((256, 8), (8,))))),
        [
            (
                "NOTE ACC265.sums api=sum count=1 dtype=bfloat16 names=[Torch.sum.0.forward (train.py:10)] "
                "terms=256 weight=40 @train.py:10"
            )
        ],
    ),
    ("ACC265", lambda: Seen(compared(Call("Torch.sum", "bfloat16", shapes=((255, 8), (8,))))), []),
]
