"""What curves say beside the first step: spikes, alignment, loss scale, rates, targets; and following a run."""

from __future__ import annotations

import math
import random
import threading
import time
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.curves import Follow
from helpers import curves
from tests.precision.curves import logs

FALLING = [2.0 + 3.0 * math.exp(-at / 80) for at in range(300)]


def keys(report: Report) -> set[str]:
    return {found.key for found in report.findings}


def found(report: Report, key: str) -> Finding:
    return next(one for one in report.findings if one.key == key)


def raised(values: list[float], at: int, by: tuple[float, ...]) -> list[float]:
    """The value of step `at` (from 1) and those after it, higher."""
    return [value + (by[step - at] if 0 <= step - at < len(by) else 0.0) for step, value in enumerate(values, 1)]


def test_a_spike_is_told_with_its_data_and_checkpoint_and_is_no_parting(tmp_path: Path) -> None:
    left = logs.megatron(tmp_path / "a.log", FALLING)
    report = curves(left, logs.megatron(tmp_path / "b.log", raised(FALLING, 170, (2.0, 4.0, 3.0, 1.9))))
    spike = found(report, "ACC253.one_side")
    assert (spike.args["first"], spike.args["last"], spike.args["skip_first"]) == (170, 173, 169)
    assert "checkpoint of step 150" in spike.message("en") and "第 150 步" in spike.message("zh")
    assert spike.place is not None and (spike.place.path, spike.place.line) == (str(tmp_path / "b.log"), 174)
    assert "ACC250.single" in keys(report) and report.status is Status.LOOK
    assert report.chart is not None and report.chart.marks == (170,) and report.figure("en") is not None
    assert Report.from_json(report.to_json()).chart == report.chart


def test_a_spike_of_both_sides_comes_with_the_data(tmp_path: Path) -> None:
    both = raised(FALLING, 170, (2.0, 4.0, 3.0))
    report = curves(logs.megatron(tmp_path / "a.log", both), logs.megatron(tmp_path / "b.log", both))
    assert "ACC253.data" in keys(report) and "ACC250.together" in keys(report)
    assert len([one for one in report.findings if one.rule == "ACC253"]) == 1
    later = logs.plain(tmp_path / "c.log", both, begin=11)
    assert "ACC253.data" in keys(curves(tmp_path / "a.log", later, shift=-10))


def test_noise_is_no_spike_and_a_loss_that_stays_up_is_lost(tmp_path: Path) -> None:
    draw = random.Random(7)
    noisy = [value + draw.gauss(0, 0.2) for value in FALLING]
    calm = curves(logs.plain(tmp_path / "a.log", noisy), logs.plain(tmp_path / "b.log", noisy))
    assert calm.status is Status.GOOD and calm.facts["spikes"] == {"baseline": [], "target": []}
    lost = [value + (5.0 if at >= 200 else 0.0) for at, value in enumerate(noisy)]
    report = curves(tmp_path / "a.log", logs.plain(tmp_path / "b.log", lost))
    assert found(report, "ACC253.lasting").args["first"] == 201
    assert found(report, "ACC250.apart").args["step"] == 201
    assert "none was found" in found(report, "ACC253.lasting").message("en")


def test_one_step_beyond_is_not_yet_apart(tmp_path: Path) -> None:
    left = logs.plain(tmp_path / "a.log", FALLING)
    lone = curves(left, logs.plain(tmp_path / "b.log", raised(FALLING, 100, (0.02,))))
    assert found(lone, "ACC250.single").args["step"] == 100 and lone.status is Status.LOOK
    drift = [value * (1 + (2e-3 if at >= 120 else 0)) for at, value in enumerate(raised(FALLING, 50, (0.02,)))]
    assert found(curves(left, logs.plain(tmp_path / "c.log", drift)), "ACC250.apart").args["step"] == 121
    late = curves(left, logs.plain(tmp_path / "d.log", raised(FALLING, 300, (0.02,))))
    assert "ACC250.apart" in keys(late), "the last step may be the beginning"


def test_other_intervals_resumed_and_missing_steps_are_told(tmp_path: Path) -> None:
    left = logs.megatron(tmp_path / "a.log", FALLING)
    tens = curves(left, logs.megatron(tmp_path / "b.log", FALLING, every=10))
    assert found(tens, "ACC252.interval").args == {"baseline": 1, "target": 10, "common": 30}
    assert tens.status is Status.NOT_LOOKED and tens.headline is not None and tens.headline.rule == "ACC250"
    text = left.read_text().splitlines()
    (tmp_path / "c.log").write_text("\n".join([*text[:120], *text[90:]]) + "\n")
    resumed = found(curves(left, tmp_path / "c.log"), "ACC252.resumed")
    assert resumed.args["times"] == 1 and resumed.args["steps"] == "89-117"
    (tmp_path / "d.log").write_text("\n".join([*text[:50], *text[56:]]) + "\n")
    missing = curves(left, tmp_path / "d.log")
    assert found(missing, "ACC252.missing").args["count"] == 5 and missing.status is Status.LOOK


def test_a_log_that_counts_from_another_number_is_told(tmp_path: Path) -> None:
    left = logs.plain(tmp_path / "a.log", FALLING)
    right = logs.plain(tmp_path / "b.log", FALLING, begin=0)
    assert found(curves(left, right), "ACC252.shifted").args["shift"] == 1
    assert "ACC250.together" in keys(curves(left, right, shift=1))
    with pytest.raises(WorkbookError, match="--shift|no step is in both"):
        curves(left, logs.plain(tmp_path / "c.log", [1.0, 2.0], begin=900))


def test_few_printed_digits_hide_and_do_not_accuse(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("".join(f"step {at} loss {2.04:.1f}\n" for at in range(1, 31)))
    (tmp_path / "b.log").write_text("".join(f"step {at} loss {2.06:.1f}\n" for at in range(1, 31)))
    report = curves(tmp_path / "a.log", tmp_path / "b.log")
    assert {"ACC250.undecided", "ACC252.coarse"} <= keys(report) and report.status is Status.NOT_LOOKED
    (tmp_path / "c.log").write_text("".join(f"step {at} loss {2.26:.1f}\n" for at in range(1, 31)))
    assert "ACC250.at_once" in keys(curves(tmp_path / "a.log", tmp_path / "c.log"))


def test_another_learning_rate_is_another_training(tmp_path: Path) -> None:
    left = logs.megatron(tmp_path / "a.log", FALLING)
    text = left.read_text().replace("1.000000E-04", "1.100000E-04")
    (tmp_path / "b.log").write_text(text)
    report = curves(left, tmp_path / "b.log")
    assert report.headline is not None and report.headline.key == "ACC256.rate" and report.headline.place is not None


def test_the_loss_scale_and_its_minimum(tmp_path: Path) -> None:
    steady = [65536.0] * 300
    falls = [max(1.0, 65536.0 / 2 ** (at // 4)) for at in range(300)]
    left = logs.megatron(tmp_path / "a.log", FALLING, scales=steady)
    report = curves(left, logs.megatron(tmp_path / "b.log", FALLING, scales=falls))
    assert report.headline is not None and report.headline.key == "ACC254.minimum" and report.status is Status.FIX
    some = [65536.0 / 2 ** min(6, at // 4) for at in range(300)]
    more = curves(left, logs.megatron(tmp_path / "c.log", FALLING, scales=some))
    assert found(more, "ACC254.falls").args["falls"] == 6
    bf16 = logs.megatron(tmp_path / "d.log", FALLING)
    assert not {one for one in keys(curves(bf16, bf16)) if one.startswith("ACC254")}


@pytest.mark.parametrize(
    ("wanted", "key", "status"),
    [
        ("loss<=2.1", "ACC255.met", Status.NOTE),
        ("loss<2.05", "ACC255.missed", Status.FIX),
        ("loss >= 2", "ACC255.met", Status.NOTE),
        ("accuracy>=0.9", "ACC255.absent", Status.FIX),
    ],
)
def test_final_metrics_against_their_targets(tmp_path: Path, wanted: str, key: str, status: Status) -> None:
    left = logs.plain(tmp_path / "a.log", FALLING)
    report = curves(left, left, target_metric=[wanted])
    assert key in keys(report) and report.status is status
    with pytest.raises(WorkbookError, match="--target-metric"):
        curves(left, left, target_metric=["loss about 2"])


def test_a_long_run_keeps_a_small_table_with_what_is_pointed_out(tmp_path: Path) -> None:
    values = [2.0 + 1e-5 * (at % 7) for at in range(20_000)]
    left = logs.plain(tmp_path / "a.log", values)
    report = curves(left, logs.plain(tmp_path / "b.log", raised(values, 12_345, (4.0,))))
    assert report.table is not None and len(report.table.rows) < 1500
    assert 12_345 in report.table.column_values("step") and report.facts["steps_compared"] == 20_000


def test_following_reads_what_is_appended_until_the_baselines_last_step(tmp_path: Path) -> None:
    left = logs.plain(tmp_path / "a.log", FALLING[:40])
    right, told = tmp_path / "b.log", []

    def train() -> None:
        with right.open("w") as stream:
            for step, value in enumerate(FALLING[:40], 1):
                stream.write(f"step {step} loss {value!r}\n")
                stream.flush()
                time.sleep(0.005)

    thread = threading.Thread(target=train)
    thread.start()
    report = curves(left, right, following=Follow(0.02, 60.0, 60.0), progress=told.append)
    thread.join()
    assert report.facts["followed"] == "ended" and report.facts["steps_compared"] == 40 and len(told) >= 2


def test_following_ends_with_a_whole_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = logs.plain(tmp_path / "a.log", FALLING)
    right = logs.plain(tmp_path / "b.log", FALLING[:20])
    report = curves(left, right, following=Follow(0.01, 0.05, 60.0))
    assert report.facts["followed"] == "timeout" and found(report, "ACC251.lengths").args["target"] == 20

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    stopped = curves(left, right, following=Follow())
    assert stopped.facts["followed"] == "stopped" and stopped.facts["steps_compared"] == 20
    with pytest.raises(WorkbookError, match="every_s"):
        curves(left, right, following=Follow(every_s=0))
