"""A fixed part of the first-divergence matrix: the right operator by name, call and direction; healthy runs in peace.

The whole of it, drawn at run time, is benchmarks/divergence.py."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.comparison import Comparison, examine_captures
from ascend_workbook.precision.divergence import POSSIBLE, first_parting
from ascend_workbook.precision.rules import operators, uncompared
from benchmarks.matrix import faults, networks, training
from benchmarks.matrix.cases import record
from benchmarks.matrix.recorder import Tampering
from benchmarks.matrix.replaying import in_this_process

SEED = 41
#: model, kind, noise, which of the calls that the kind can strike.
CASES = [
    ("cnn", "eps argument", "threads", 1),
    ("cnn", "backward scaled by 1.02", "hf32 untold", 4),
    ("cnn", "transposed weight", "bf16", 2),
    ("gpt", "dropped mask", "hf32 told", 1),
    ("gpt", "one operator in bf16", "hf32 untold", 4),
]
MORE = [
    ("cnn", "overflow to infinity", "hf32 untold", 2),
    ("lstm", "stale buffer", "bf16", 9),
    ("lstm", "wrong reduction dim", "hf32 untold", 0),
    ("lstm", "off-by-one index", "threads", 2),
    ("lstm", "backward stale", "hf32 told", 11),
    ("lstm", "one operator in bf16", "threads", 12),
    ("gpt", "wrong eps", "none", 2),
    ("gpt", "NaN in one element", "bf16", 7),
    ("gpt", "backward NaN", "threads", 3),
    ("cnn", "wrong eps", "hf32 told", 3),
    ("cnn", "2^-10 relative", "threads", 5),
]
HEALTHY = [("cnn", "hf32 untold"), ("gpt", "bf16")]


def examined(base: Path, target: Path, noise: str) -> Comparison:
    plain = noise == "hf32 untold"
    with in_this_process():
        return examine_captures(*(side / manifest.DUMP if plain else side for side in (base, target)))


def named(tmp_path: Path, model: str, kind: str, noise: str, which: int) -> tuple[list[str], str]:
    calls = record(tmp_path / "a", model, SEED, "none", Tampering())
    call = faults.sites(kind, calls)[which]
    record(tmp_path / "b", model, SEED, noise, faults.tamper(kind, call, random.Random(SEED)))
    return examined(tmp_path / "a", tmp_path / "b", noise).named, faults.expected(kind, call)


@pytest.mark.parametrize(("model", "kind", "noise", "which"), CASES)
def test_the_right_operator_is_named(tmp_path: Path, model: str, kind: str, noise: str, which: int) -> None:
    found, wanted = named(tmp_path, model, kind, noise, which)
    assert found == [wanted]


@pytest.mark.full
@pytest.mark.parametrize(("model", "kind", "noise", "which"), MORE)
def test_the_right_operator_is_named_in_more(tmp_path: Path, model: str, kind: str, noise: str, which: int) -> None:
    found, wanted = named(tmp_path, model, kind, noise, which)
    assert found == [wanted]


@pytest.mark.parametrize("model", networks.NAMES)
@pytest.mark.parametrize("noise", ["hf32 untold", "bf16"])
def test_healthy_statistics_are_not_flagged(tmp_path: Path, model: str, noise: str) -> None:
    for folder, level in (("a", "none"), ("b", noise)):
        record(tmp_path / folder, model, SEED, level, Tampering(), "statistics")
    found = examined(tmp_path / "a", tmp_path / "b", noise)
    assert found.named == []
    open_ones = [one for one in found.steps[0].judged if one.outcome == POSSIBLE]
    assert bool(open_ones) == (noise == "hf32 untold"), "what an untold format may explain is left open, not passed"
    rooms = [one for one in uncompared.check_blind(found) if one.args["why"]]
    assert bool(rooms) == (noise == "bf16"), "how large a fault would have gone unseen is said where it is large"


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        ("overflow to infinity", "statistics"),
        ("backward NaN", "statistics"),
        ("NaN in one element", "statistics"),
        ("overflow to infinity", "tensor"),
    ],
)
def test_the_first_producer_is_told(tmp_path: Path, kind: str, task: str) -> None:
    calls = record(tmp_path / "a", "gpt", SEED, "none", Tampering(), task)
    call = [one for one in faults.sites(kind, calls) if one.api == "gelu"][1]
    record(tmp_path / "b", "gpt", SEED, "threads", faults.tamper(kind, call, random.Random(SEED)), task)
    (found,) = operators.check_nonfinite(examined(tmp_path / "a", tmp_path / "b", "threads"))
    assert (found.key, found.args["operator"]) == ("ACC232.made", [faults.expected(kind, call)])
    assert found.args["kind"] == {"say": f"ACC232.{'inf' if 'infinity' in kind else 'nan'}"}


@pytest.mark.full
def test_step_and_rank_are_named_and_no_other_is_flagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 1 computes wrongly from step 1 on, and both ranks go on by the mean of their gradients."""
    monkeypatch.setattr(training, "STEPS", 3)
    monkeypatch.setattr(training, "CAPTURED", (0, 1, 2))
    calls = training.train(tmp_path / "a", "lstm", SEED, "none", training.Strike())
    call = faults.sites("backward scaled by 1.02", calls)[3]
    strike = training.Strike("backward scaled by 1.02", call, 1, 1, draw=random.Random(SEED))
    training.train(tmp_path / "b", "lstm", SEED, "none", strike)
    found = examined(tmp_path / "a", tmp_path / "b", "none")
    assert found.named == [faults.expected(strike.kind, call)] and found.first is not None
    assert (found.first[0].step, found.first[0].rank) == (1, 1)
    flagged = {(one.step, one.rank) for one in found.steps if first_parting(one.judged)}
    assert flagged == {(1, 1), (2, 1)}, "rank 0 inherits the weights and is not to blame"


@pytest.mark.parametrize(("model", "noise"), HEALTHY)
def test_healthy_runs_are_not_flagged(tmp_path: Path, model: str, noise: str) -> None:
    for folder, level in (("a", "none"), ("b", noise)):
        record(tmp_path / folder, model, SEED, level, Tampering())
    found = examined(tmp_path / "a", tmp_path / "b", noise)
    assert found.named == [] and found.steps[0].judged
    seen = found.steps[0].replays.seen
    assert seen == ({"conv": "hf32", "matmul": "hf32"} if noise == "hf32 untold" else {})
