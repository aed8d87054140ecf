"""What a rehearsal is told as: fits, unsure, out; an assumed size never makes a plain Good; ranges, no single times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES, Sentence
from ascend_workbook.machine.launch.result import ChildError
from ascend_workbook.planning.rehearsal.reads import Read
from ascend_workbook.planning.rehearsal.report import FITS, OUT, UNSURE, Material, Tried, judge_fit, make_report
from ascend_workbook.planning.rehearsal.runs import MOST_EVENTS, RankRun
from ascend_workbook.planning.rehearsal.settings import make_cluster
from ascend_workbook.planning.rehearsal.stand_ins import StandIn
from ascend_workbook.planning.rehearsal.times import count_tokens, estimate_step
from ascend_workbook.planning.rehearsal.variants import Variant
from ascend_workbook.planning.rehearsal.work import Call, Work
from tests.planning.rehearsal.made import WORK, make_memory, make_rehearsal, make_run

OOM = ChildError("OutOfMemoryError", "NPU out of memory", "train.py", 8)
CARD = make_cluster("910B3", 1, None, "60GiB")


def report_of(*runs: RankRun, **more: Any) -> Report:
    return make_report(Material(make_rehearsal(), runs, load_basis(), **more))


def finding_of(report: Report, rule: str) -> Any:
    return next((finding for finding in report.findings if finding.rule == rule), None)


@pytest.mark.parametrize(
    ("reserved", "refused", "verdict"),
    [
        (10.0, 0.0, FITS),
        (53.39, 0.0, FITS),  # 60 - 8 % - 1.8 GiB outside
        (53.41, 0.0, UNSURE),
        (59.44, 0.0, UNSURE),
        (59.46, 0.0, OUT),  # 60 less 0.55 GiB outside at least
        (10.0, 1.0, OUT),
    ],
)
def test_the_border_of_what_fits(reserved: float, refused: float, verdict: str) -> None:
    assert judge_fit(make_memory(reserved, refused_gib=refused), CARD, 0) == verdict


def test_many_groups_take_from_the_card() -> None:
    assert judge_fit(make_memory(53.0), CARD, 1) == FITS
    assert judge_fit(make_memory(53.0), CARD, 10) == UNSURE


def test_it_fits() -> None:
    report = report_of(make_run(make_memory(10.0)))
    assert report.status is Status.NOTE and report.headline is not None and report.headline.key == "PLN500.fits"
    assert report.headline.args["reserved"] == 10.0 and report.table is not None and len(report.table.rows) == 1
    for lang in LANGUAGES:
        assert "10 GiB" in report.text(lang)


def test_a_size_that_was_assumed_is_no_plain_good() -> None:
    read = Read("/x/train.py", 9, "aten::nonzero", "256", sets_shape=True)
    report = report_of(make_run(make_memory(10.0), reads=(read,)))
    assert report.status is Status.LOOK and finding_of(report, "PLN500").key == "PLN500.shaped"
    assert finding_of(report, "PLN504").args == {"count": 1, "places": ["train.py:9"]}


def stand_in(guessed: bool) -> StandIn:
    facts = {"examples": 10_000, "size": [500, 375], "classes": 1000}
    return StandIn("folder" if guessed else "dataset", "x", guessed, "data.py", 3, facts)


@pytest.mark.parametrize(
    ("guessed", "key", "status"), [(True, "PLN500.stood_in", Status.LOOK), (False, "PLN500.fits", Status.NOTE)]
)
def test_made_up_data_is_told_and_no_plain_good_where_it_is_guessed(guessed: bool, key: str, status: Status) -> None:
    run = replace(make_run(make_memory(10.0)), stand_ins=(stand_in(guessed),))
    report = report_of(run)
    assert report.status is status and finding_of(report, "PLN500").key == key
    told = finding_of(report, "PLN509")
    assert told.args["places"] == ["data.py:3"] and "500 x 375" in told.message("en")


def test_a_name_that_is_gone_is_looked_at_whatever_fits() -> None:
    gone = StandIn("older", "numpy.product", False, "model.py", 63, {"now": "numpy.prod"})
    run = replace(make_run(make_memory(10.0)), stand_ins=(gone, stand_in(False)))
    report = report_of(run)
    told = {finding.key: finding for finding in report.findings if finding.rule == "PLN509"}
    assert told["PLN509.older"].status is Status.LOOK
    assert told["PLN509.older"].args["places"] == ["model.py:63"]
    assert told["PLN509.known"].args["count"] == 1
    assert report.status is Status.LOOK


def test_a_run_that_ended_after_a_step_says_how_far_it_came() -> None:
    memory = replace(make_memory(10.0), steps=({"peak": 1},))
    report = report_of(make_run(memory, error=ChildError("IndexError", "invalid index", "train.py", 8)))
    finding = finding_of(report, "PLN500")
    assert (finding.key, finding.status, finding.args["steps"]) == ("PLN500.partial", Status.LOOK, 1)
    assert "invalid index" in finding.message("en") and report.table is not None
    assert report.table.rows[0][-1] == Sentence("rehearsal.verdict.fits")
    assert finding_of(report_of(make_run(make_memory(10.0), error=ChildError("IndexError", "x"))), "PLN500").key == (
        "PLN500.failed"
    )


def test_a_failure_behind_made_up_data_names_both() -> None:
    made_up = StandIn("file", "data/train.txt", True, "train.py", 3, {"words": 5, "different": 2})
    compiler = StandIn("compiler", "torch.compile", False, "train.py", 4, {})
    failed = make_run(None, error=ChildError("TypeError", "split() lacks y", "train.py", 8))
    finding = finding_of(report_of(replace(failed, stand_ins=(made_up, compiler))), "PLN500")
    assert (finding.key, finding.status, finding.args["names"]) == ("PLN500.made_up", Status.FIX, ["data/train.txt"])
    assert "split() lacks y" in finding.message("en")
    finding = finding_of(report_of(replace(failed, stand_ins=(compiler,))), "PLN500")
    assert finding.key == "PLN500.failed", "what has no content is not to blame"


def test_memory_that_was_never_asked_for_is_no_answer() -> None:
    report = report_of(make_run(make_memory(0.0)))
    assert finding_of(report, "PLN500").key == "PLN500.no_device"


@pytest.mark.parametrize(
    ("message", "address"),
    [
        ("HTTPSConnectionPool(host='a.edu', port=443): Max retries (Caused by NameResolutionError(...", "a.edu"),
        (
            "Error downloading: Tried https://a.b/mnist/, got:\n<urlopen error [Errno -3] name resolution",
            "https://a.b/mnist/",
        ),
        ("<urlopen error [Errno -3] Temporary failure in name resolution>", "-"),
        (
            "We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached "
            "files.\nCheck your internet connection or see how to run the library in offline mode",
            "https://huggingface.co",
        ),
        ("An error happened while trying to locate the file on the Hub and we cannot find the requested files", "-"),
        ("no such thing", ""),
    ],
)
def test_a_script_that_wants_the_network_is_told_so(message: str, address: str) -> None:
    error = ChildError("ConnectionError", message, "train.py", 8)
    finding = finding_of(report_of(make_run(None, error=error)), "PLN500")
    assert finding.key == {"-": "PLN500.download", "": "PLN500.failed"}.get(address, "PLN500.network")
    assert finding.args.get("address", "-") == (address or "-")


def test_a_history_that_was_cut_is_told() -> None:
    cut = replace(make_memory(10.0), replayed=False, facts={"events": MOST_EVENTS})
    keys = [finding.key for finding in report_of(make_run(cut)).findings]
    assert "PLN502.cut" in keys
    whole = replace(cut, replayed=True)
    assert "PLN502.cut" not in [finding.key for finding in report_of(make_run(whole)).findings]


def test_a_value_that_was_assumed_is_told() -> None:
    read = Read("/x/train.py", 9, "item", "1.0")
    report = report_of(
        make_run(make_memory(10.0), reads=(read,)),
    )
    assert report.status is Status.NOTE and finding_of(report, "PLN504").args["values"] == ["train.py:9 = 1.0"]


def test_where_memory_runs_out_the_first_cure_that_fits_is_told() -> None:
    run = make_run(make_memory(58.0, refused_gib=2.0), error=OOM)
    free = make_run(make_memory(75.0))
    cures = tuple(
        Tried(Variant(name, Sentence("rehearsal.cure_expandable"), {}), tried)
        for name, tried in (
            ("a", make_run(make_memory(58.0, refused_gib=1.0), error=OOM)),
            ("b", make_run(make_memory(40.0))),
        )
    )
    report = report_of(run, free=free, cures=cures)
    assert report.status is Status.FIX and finding_of(report, "PLN500").args["needed"] == 75.0
    assert finding_of(report, "PLN507").key == "PLN507.fits" and finding_of(report, "PLN507").args["reserved"] == 40.0
    part = next(part for part in report.parts if part.verb == "cures")
    assert part.table is not None and len(part.table.rows) == 2
    none = report_of(run, free=free, cures=cures[:1])
    assert finding_of(none, "PLN507").key == "PLN507.none"


def test_a_script_that_fails_is_no_lack_of_memory() -> None:
    report = report_of(make_run(None, error=ChildError("ValueError", "no such file: data.bin", None, None), work=None))
    assert report.status is Status.FIX and finding_of(report, "PLN500").key == "PLN500.failed"
    assert "data.bin" in report.text("en") and finding_of(report, "PLN505") is None


def test_a_script_that_fails_before_its_steps_fits_nothing() -> None:
    error = ChildError("SystemExit", "unrecognized arguments", "train.py", 3)
    report = report_of(make_run(make_memory(0.01), error=error))
    assert report.table is not None and report.table.column_values("verdict") == [Sentence("rehearsal.verdict.failed")]
    assert finding_of(report, "PLN502") is None and report.parts == ()


def test_a_peak_of_the_building_is_told_as_one() -> None:
    memory = make_memory(10.0)
    built = report_of(make_run(replace(memory, later=memory.active // 2)))
    assert finding_of(built, "PLN502").key == "PLN502.built" and finding_of(built, "PLN502").args["later"] == 5.0
    for later in (0, memory.active):
        assert finding_of(report_of(make_run(replace(memory, later=later))), "PLN502").key == "PLN502.holders"


def test_what_holds_next_to_nothing_is_one_row() -> None:
    report = report_of(make_run(make_memory(10.0)))
    part = next(part for part in report.parts if part.verb == "holders")
    assert part.table is not None
    assert part.table.column_values("memory_kind")[1] == Sentence("rehearsal.kind.rest")
    assert part.table.column_values("count") == [32, 1]


def test_a_script_without_a_device_is_not_looked_at() -> None:
    report = report_of(make_run(None, work=None))
    assert report.status is Status.NOT_LOOKED and finding_of(report, "PLN500").key == "PLN500.no_device"


def test_the_rank_that_reserves_most_decides() -> None:
    report = report_of(make_run(make_memory(10.0), rank=0), make_run(make_memory(59.9), rank=3))
    assert finding_of(report, "PLN500").args["rank"] == 3 and report.status is Status.FIX


def test_fragments_are_worth_a_look() -> None:
    report = report_of(make_run(make_memory(20.0, active_gib=15.0)))
    assert finding_of(report, "PLN503").args == {"lost": 5.0, "percent": 25}
    assert finding_of(report_of(make_run(make_memory(20.0, active_gib=19.0))), "PLN503") is None


def test_a_step_is_a_range() -> None:
    times = estimate_step(WORK, CARD, load_basis())
    assert 0 < times.step.low < times.step.high and times.compute.low <= times.step.high
    assert times.flops == pytest.approx(3 * 2 * 4096**3)
    assert times.collectives[0].bytes == 2 << 20 and times.collectives[0].ranks == 8
    report = report_of(make_run(make_memory(10.0)), times=times, tokens=4096)
    step = finding_of(report, "PLN505")
    assert step.key == "PLN505.tokens" and step.args["low"] < step.args["high"]
    assert report.facts["estimated"] is True and report.facts["step_us"][0] < report.facts["step_us"][2]


def test_many_small_kernels_are_bound_by_the_host() -> None:
    small = Call("aten::add", ((8,), (8,)), ("FLOAT", "FLOAT"), ((8,),), ("FLOAT",))
    times = estimate_step(Work((small,) * 5000), CARD, load_basis())
    assert times.host_bound is True and times.step.low >= 5000 * 15
    large = Call("aten::mm", ((16384, 16384), (16384, 16384)), ("DT_BF16",) * 2, ((16384, 16384),), ("DT_BF16",))
    assert estimate_step(Work((large,) * 5), CARD, load_basis()).host_bound is False


def test_tokens_are_the_indices_into_the_largest_embedding() -> None:
    words = Call("aten::embedding", ((32000, 8), (2, 128)), ("FLOAT", "INT64"), ((2, 128, 8),), ("FLOAT",))
    places = replace(words, inputs=((512, 8), (1, 128)))
    assert count_tokens(Work((words, places, words))) == 2 * 2 * 128
    assert count_tokens(WORK) == 0


def test_the_files_that_it_names_a_line_of_are_kept(tmp_path: Path) -> None:
    """Not a library's, nor one of the script's own that no line is named of; nor a credential in one that is."""
    texts = {"train.py": "x = 1\n", "net.py": "token = 'hf_" + "a" * 34 + "'\n", "other.py": "y = 2\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    rehearsal = make_rehearsal(root=tmp_path)
    rehearsal.plan.original.texts = {tmp_path / name: text.encode() for name, text in texts.items()}
    reads = (Read("net.py", 1, "aten::item", "1.0"), Read("/usr/lib/site-packages/lib.py", 3, "aten::item", "1.0"))
    report = make_report(Material(rehearsal, (make_run(make_memory(10.0), reads=reads),), load_basis()))
    sources = report.facts["sources"]
    assert sorted(sources) == ["net.py", "train.py"]  # what is held at the peak is of train.py, line 8
    assert sources["train.py"] == {"before": texts["train.py"]}
    assert "hf_" not in sources["net.py"]["before"] and "token = " in sources["net.py"]["before"]
