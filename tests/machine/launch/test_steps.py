"""What counts as a step, and which loss is its own: against what the scripts print themselves. About 60 seconds."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchResult
from tests.machine.launch.running import SCRIPTS, output, printed, run


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LaunchResult:
    """Asked for more steps than the script makes."""
    return run(tmp_path_factory.mktemp("plain"), "plain.py", steps=50)


def test_plain_loop(plain: LaunchResult) -> None:
    result, seen = plain, plain.steps
    assert result.outcome == "finished" and result.ok and result.exit_code == 0
    assert [step.step for step in seen] == [1, 2, 3, 4, 5]
    assert result.losses == pytest.approx(printed(result, "loss"), abs=1e-8)
    assert all(step.lr == 0.1 and step.time_s > 0 and step.micro_batches == 1 for step in seen)
    assert result.logs[0].meta["seeds"][0] == {"call": "torch.manual_seed", "seed": 0}
    assert result.logs[0].meta["parameter_devices"] == ["cpu"]
    assert "the end" in output(result)
    assert result.logs[0].meta["steps_wanted"] == 50


def test_stops_after_n_steps_with_the_same_losses(tmp_path: Path, plain: LaunchResult) -> None:
    part = run(tmp_path, "plain.py", steps=3)
    assert part.outcome == "stopped_after" and part.ok and part.exit_code == 0
    assert part.losses == plain.losses[:3]
    assert "the end" not in output(part)


def test_observing_changes_no_number(plain: LaunchResult) -> None:
    """The script prints the same digits without the launcher."""
    alone = subprocess.run(
        [sys.executable, str(SCRIPTS / "plain.py")],
        env=device.child_environment("cpu"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert output(plain) == alone.stdout


def test_accumulation_is_one_step_with_the_mean_loss(tmp_path: Path) -> None:
    result = run(tmp_path, "accumulate.py")
    assert [step.micro_batches for step in result.steps] == [3, 3, 3, 3]
    assert result.losses == pytest.approx(printed(result, "mean"), rel=1e-6)
    norms = [step.grad_norm for step in result.steps]
    assert norms == pytest.approx(printed(result, "norm"), rel=1e-6), "before clipping"
    assert all(norm is not None and norm > 0.5 for norm in norms)


@pytest.mark.parametrize("how", ["class", "data", "functional"])
def test_updates_without_an_optimizer_of_torch_are_steps(tmp_path: Path, how: str) -> None:
    """Each is seen when the next one's backward begins: the last one is not."""
    result = run(tmp_path, "own_updates.py", how)
    assert result.outcome == "finished"
    assert [step.micro_batches for step in result.steps] == [1 if how == "functional" else 2] * 5
    assert result.losses == pytest.approx(printed(result, "mean")[:5], rel=1e-6)
    stopped = run(tmp_path / "stopped", "own_updates.py", how, steps=3)
    assert stopped.outcome == "stopped_after" and stopped.losses == result.losses[:3]


def test_a_skipped_update_is_no_step_and_the_loss_is_unscaled(tmp_path: Path) -> None:
    result = run(tmp_path, "scaled.py", transform="baseline_cpu")
    losses = printed(result, "loss")
    assert math.isinf(losses.pop(2))
    assert result.losses == pytest.approx([loss / 2 for loss in losses], rel=1e-6)  # it divides after scaling
    assert result.logs[0].skipped_steps == 1
    assert printed(result, "scale") == [1024.0, 1024.0, 512.0, 512.0, 512.0]


def test_fused_optimizer_that_skips_by_itself(tmp_path: Path) -> None:
    result = run(tmp_path, "fused.py")
    losses, norms = printed(result, "loss"), printed(result, "norm")
    assert math.isinf(losses.pop(1))
    norms.pop(1)
    assert result.losses == pytest.approx(losses, rel=1e-6)
    assert result.logs[0].skipped_steps == 1
    # after the skip the scale printed is halved only at the next update, so all three norms are unscaled alike
    assert [step.grad_norm for step in result.steps] == pytest.approx(norms, rel=1e-5)


def test_two_optimizers_make_one_step(tmp_path: Path) -> None:
    result = run(tmp_path, "gan.py")
    critic, generator = printed(result, "critic"), printed(result, "generator")
    assert len(result.steps) == 3
    assert result.losses == pytest.approx([c + g for c, g in zip(critic, generator)], rel=1e-6, abs=1e-6)
    updates = result.steps[1].updates
    assert [update["optimizer"] for update in updates] == ["0 Adam", "1 SGD"]
    assert [update["lr"] for update in updates] == [0.02, 0.01]
    assert [update["loss"] for update in updates] == pytest.approx([critic[1], generator[1]], rel=1e-6)


def test_two_updates_of_one_for_each_of_the_other(tmp_path: Path) -> None:
    """Six updates of `a`: six steps; the update of `b` belongs to the step after it."""
    result = run(tmp_path, "critics.py")
    assert len(result.steps) == 6
    assert [len(step.updates) or 1 for step in result.steps] == [1, 1, 2, 1, 2, 1]


def test_an_optimizer_that_is_made_anew_counts_on(tmp_path: Path) -> None:
    result = run(tmp_path, "remade.py")
    assert [len(step.updates) or 1 for step in result.steps] == [1] * 6


def test_closure(tmp_path: Path) -> None:
    result = run(tmp_path, "lbfgs.py")
    assert result.losses == pytest.approx(printed(result, "loss"), abs=1e-8)
    assert all(step.grad_norm is not None for step in result.steps)


def test_loss_from_the_output(tmp_path: Path) -> None:
    result = run(tmp_path, "accumulate.py", loss_regex=r"mean (?P<loss>[\d.]+)")
    assert result.losses == printed(result, "mean")
    assert result.ok


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    result = run(tmp_path, "plain.py", "1", loss_regex=r"LOSS=([\d.]+)")
    assert result.trouble is not None and result.trouble["say"] == "launch.no_match"


def test_the_scripts_own_seed_wins(tmp_path: Path, plain: LaunchResult) -> None:
    seeded = run(tmp_path, "plain.py", seed=3, steps=2)
    assert seeded.losses == plain.losses[:2]
    assert seeded.logs[0].meta["forced_seed"] == 3


def test_seeds_before_the_script(tmp_path: Path) -> None:
    """A script that does not seed itself: the same seed gives the same run, another one another."""
    unseeded = [run(tmp_path / f"u{n}", "identity.py", seed=seed).losses for n, seed in enumerate((3, 3, 4))]
    assert unseeded[0] == unseeded[1] != unseeded[2]


def test_a_compiled_model_is_observed_and_the_observer_is_not_traced(tmp_path: Path) -> None:
    result = run(tmp_path, "compiled.py")
    assert result.ok and result.losses == pytest.approx(printed(result, "loss"), abs=1e-6)
    assert len(result.losses) == 4
