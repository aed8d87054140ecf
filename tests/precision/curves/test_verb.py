"""Loss curves: the first step beyond the tolerance, NaN, other lengths, unfinished runs; and the joint verdict."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.precision.align import join
from ascend_workbook.precision.curves import curves
from tests.precision.dumps import as_capture


def log(path: Path, losses: list[float | None], status: str = "stopped_after", tier: str = "cpu") -> Path:
    steps = [
        {
            "step": number,
            "loss": str(loss) if isinstance(loss, float) and not math.isfinite(loss) else loss,
            "lr": 0.1,
            "grad_norm": 1.0,
            "time_s": 0.1,
            "micro_batches": 1,
        }
        for number, loss in enumerate(losses, 1)
    ]
    content = {
        "schema": "ascend-workbook/gpulog/1",
        "status": status,
        "meta": {"tier": tier},
        "steps": steps,
        "skipped_steps": 0,
        "notes": [],
        "error": None,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def headline(report: Report) -> tuple[str, Status]:
    assert report.headline is not None
    return report.headline.key, report.status


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([2.0, 1.5, 1.0], ("ACC250.together", Status.GOOD)),
        ([2.0, 1.5 * (1 + 9e-4), 1.0], ("ACC250.together", Status.GOOD)),
        ([2.0, 1.5 * (1 + 2e-3), 1.0], ("ACC250.apart", Status.LOOK)),
        ([2.1, 1.5, 1.0], ("ACC250.at_once", Status.FIX)),
        ([2.0, math.nan, 1.0], ("ACC251.nan", Status.FIX)),
        ([2.0, 1.5, math.inf], ("ACC251.nan", Status.FIX)),
    ],
)
def test_where_losses_part(tmp_path: Path, losses: list[float], expected: tuple[str, Status]) -> None:
    report = curves(log(tmp_path / "a.json", [2.0, 1.5, 1.0]), log(tmp_path / "b.json", list(losses)))
    assert headline(report) == expected
    assert json.loads(report.to_json()) and report.text("zh")


def test_the_step_is_named_and_marked(tmp_path: Path) -> None:
    report = curves(log(tmp_path / "a.json", [2.0, 1.5, 1.0, 0.9]), log(tmp_path / "b.json", [2.0, 1.5, 1.1, 0.9]))
    assert report.chart is not None and report.chart.mark == 3
    assert "part at step 3: 1 and 1.1" in report.verdict("en")
    assert curves(tmp_path / "a.json", tmp_path / "b.json", tolerance=0.2).status is Status.GOOD


def test_a_folder_stands_for_its_log_and_the_tier_comes_along(tmp_path: Path) -> None:
    log(tmp_path / "a" / "gpulog.json", [1.0])
    log(tmp_path / "b" / "gpulog.json", [1.0], tier="npu-simulated")
    report = curves(tmp_path / "a", tmp_path / "b")
    assert report.simulated and report.tier == "npu-simulated"


def test_what_makes_the_comparison_smaller_is_said(tmp_path: Path) -> None:
    short = curves(log(tmp_path / "a.json", [1.0, 1.0]), log(tmp_path / "b.json", [1.0]))
    assert headline(short) == ("ACC251.lengths", Status.LOOK)
    killed = curves(tmp_path / "a.json", log(tmp_path / "c.json", [1.0, 1.0], status="running"))
    assert headline(killed) == ("ACC251.unfinished", Status.FIX)


def test_logs_that_cannot_be_compared(tmp_path: Path) -> None:
    log(tmp_path / "a.json", [None, None])
    with pytest.raises(WorkbookError, match="no step with a loss"):
        curves(tmp_path / "a.json", tmp_path / "a.json")
    (tmp_path / "b.json").write_text('{"schema": ')
    with pytest.raises(WorkbookError, match=r"b\.json"):
        curves(tmp_path / "a.json", tmp_path / "b.json")


ROUNDED = {"count": 1, "agrees": 1, "explained": 0, "left": 0, "own": 1e-7, "operator": "relu"}
UNCLEAR = {"allowed": 1e-3, "operators": ["Torch.matmul.0"]}
UPDATES = {
    "unseen": (Status.NOTE, {"steps": [0]}),
    "parted": (Status.LOOK, {"step": 0, "rank": 0, "operator": "conv", "error": 1e-2, "limit": 1e-5}),
}


def comparison(
    status: Status,
    steps: list[int],
    weights: str = "",
    key: str = "ACC230.none",
    *more: Finding,
    errors: tuple[tuple[int, float, float], ...] = (),
) -> Report:
    unclear = UNCLEAR if key == "ACC230.possible" else {}
    found = Finding("ACC230", status, key, {**ROUNDED, **unclear}, weight=100)
    told: tuple[Finding, ...] = (found, *more)
    if weights:
        update, args = UPDATES[weights]
        told = (found, Finding("ACC235", update, f"ACC235.{weights}", {**args}))
    facts = {"steps": steps, "judged": True, "outcomes": {"agrees": 1}}
    table = Table(tuple(map(Column, ("step", "error_in", "error_out"))), errors)
    return Report("precision", "compare", told, table, facts=facts, tier="cpu")


@pytest.mark.parametrize(
    ("status", "steps", "weights", "expected"),
    [
        (Status.GOOD, [0, 1, 2], "", Status.NOTE),
        (Status.GOOD, [0], "unseen", Status.LOOK),
        (Status.GOOD, [2], "unseen", Status.LOOK),
        (Status.GOOD, [0, 2], "unseen", Status.LOOK),
        (Status.GOOD, [0, 1, 2], "parted", Status.LOOK),
        (Status.GOOD, [1, 2], "", Status.LOOK),
        (Status.GOOD, [0, 1], "", Status.LOOK),
        (Status.LOOK, [0, 1, 2], "", Status.LOOK),
        (Status.FIX, [0, 1, 2], "", Status.FIX),
    ],
)
def test_drift_is_explained_only_where_both_ends_were_compared(
    tmp_path: Path, status: Status, steps: list[int], weights: str, expected: Status
) -> None:
    drift = curves(log(tmp_path / "a.json", [2.0, 1.5, 1.0]), log(tmp_path / "b.json", [2.0, 1.6, 1.0]))
    joined = join(drift, comparison(status, steps, weights))
    assert joined.status is expected
    assert joined.headline is not None
    if expected is not Status.LOOK:
        assert joined.headline.rule == "ACC230", "the tensors have the last word"
    keys = {part_finding.key for part in joined.parts for part_finding in part.findings}
    assert ("ACC250.amplified" in keys) == (expected is Status.NOTE)


@pytest.mark.parametrize(
    ("steps", "errors", "key"),
    [
        ([0], ((0, 0.0, 1e-7),), "ACC250.later"),
        ([0, 1, 2], ((0, 0.0, 1e-7), (1, 1e-7, 2e-7)), "ACC250.beside"),
        ([0, 1, 2], ((0, 0.0, 1e-7), (1, 2e-2, 1e-3)), "ACC250.amplified"),
    ],
)
def test_losses_are_held_against_the_tensors_of_the_dumped_steps(
    tmp_path: Path, steps: list[int], errors: tuple[tuple[int, float, float], ...], key: str
) -> None:
    """A loss 6 % apart is rounding only where tensors differ by enough; behind the dumped steps it is not known."""
    drift = curves(log(tmp_path / "a.json", [2.0, 1.5, 1.0]), log(tmp_path / "b.json", [2.0, 1.6, 1.0]))
    joined = join(drift, comparison(Status.GOOD, steps, errors=errors))
    (found,) = [one for one in joined.parts[1].findings if one.rule == "ACC250"]
    assert found.key == key and (found.status is Status.LOOK) == (key != "ACC250.amplified")
    assert "{" not in found.message("en") + found.message("zh") + found.hint("en") + found.hint("zh")


@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("ACC230.identical", ()),
        ("ACC230.possible", ()),
        ("ACC230.none", (Finding("ACC217", Status.NOTE, "ACC217.selected", {"count": 1, "names": ["mean"]}),)),
        (
            "ACC230.none",
            (Finding("ACC217", Status.NOTE, "ACC217.sampled", {"share": 0.1, "seed": 0, "count": 1, "worst": 0.1}),),
        ),
        ("ACC230.none", (Finding("ACC215", Status.NOT_LOOKED, "ACC215.replay", {"error": "killed"}),)),
    ],
)
def test_drift_without_rounding_that_was_seen_stays_a_warning(
    tmp_path: Path, key: str, more: tuple[Finding, ...]
) -> None:
    """Tensors equal to the last bit leave nothing to amplify; what was not wholly looked at excuses nothing."""
    drift = curves(log(tmp_path / "a.json", [2.0, 1.5, 1.0]), log(tmp_path / "b.json", [2.0, 1.6, 1.0]))
    status = Status.NOT_LOOKED if key == "ACC230.possible" else Status.GOOD
    joined = join(drift, comparison(status, [0, 1, 2], "", key, *more))
    assert joined.status is Status.LOOK and headline(joined)[0] == "ACC250.apart"


def test_an_attempt_that_cannot_be_compared_leaves_drift_explained(tmp_path: Path) -> None:
    drift = curves(log(tmp_path / "a.json", [2.0, 1.5, 1.0]), log(tmp_path / "b.json", [2.0, 1.6, 1.0]))
    apart = Finding("ACC286", Status.NOT_LOOKED, "ACC284.no_curves", {"name": "gpulog.json"})
    assert join(drift, comparison(Status.GOOD, [0, 1, 2], "", "ACC230.none", apart)).parts[1].status is Status.NOTE


@pytest.mark.parametrize("tolerance", [-1.0, float("nan")])
def test_a_tolerance_that_cannot_be_is_refused(tmp_path: Path, tolerance: float) -> None:
    log(tmp_path / "a.json", [1.0])
    with pytest.raises(WorkbookError, match="tolerance"):
        curves(tmp_path / "a.json", tmp_path / "a.json", tolerance=tolerance)


def test_a_folder_without_a_log_is_told_without_python_words(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as caught:
        curves(tmp_path, tmp_path)
    assert caught.value.key == "precision.no_log" and "Errno" not in caught.value.message("en")


@pytest.mark.parametrize(
    ("side", "status"),
    [
        ({"dtypes": {"float32": 9}}, Status.FIX),
        ({"dtypes": {"float32": 9}, "autocast": [[False, "bfloat16"]]}, Status.FIX),
        ({"dtypes": {"float32": 9}, "autocast": [[True, "bfloat16"]]}, Status.GOOD),
        ({"dtypes": {"bfloat16": 9}}, Status.GOOD),
    ],
)
def test_what_a_run_computes_in_says_how_near_its_losses_lie(tmp_path: Path, side: object, status: Status) -> None:
    """One unit of bfloat16 on every operator moved a healthy loss from 2.502 to 2.506."""
    for name, first in (("a", 2.502), ("b", 2.506)):
        log(tmp_path / name / "gpulog.json", [first, 2.2, 2.0])
        as_capture(tmp_path / name, side={"experiment": side})
    assert curves(tmp_path / "a", tmp_path / "b").status is status
    assert curves(tmp_path / "a", tmp_path / "b", tolerance=1e-3).status is Status.FIX
