"""What is written of a plan: its status, summary.json by its schema, JUnit that CI servers read, and the page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ascend_workbook.batch.campaign.ended import EXPECTED, LEFT_OUT, STOPPED
from ascend_workbook.batch.campaign.run import _mark_unsent
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.plan.model import Expected, LeftOut
from ascend_workbook.batch.results import history
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Sentence, say
from ascend_workbook.page.texts import number_of
from tests.batch.results.made import ended, night, run_folder
from tests.conftest import ROOT
from tests.page.reading import read_page, said_on, texts_of

SCHEMA = json.loads((ROOT / "ascend_workbook" / "batch" / "summary.schema.json").read_text())
TODAY = date(2026, 5, 4)


def written(folder: Path) -> dict[str, Any]:
    """summary.json, valid by its schema."""
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    jsonschema.validate(content, SCHEMA, format_checker=jsonschema.FormatChecker())
    return content


def page_of(folder: Path) -> dict[str, Any]:
    """What the plan's page shows of it, and `runs`: the number of each run's status."""
    page = read_page((folder / "index.html").read_text())
    return {**page, **page["plan"], "runs": {row["name"]: row["status"] for row in page["plan"]["rows"]}}


@pytest.mark.parametrize("how", ["red", "oom", "error", "died", "timed_out", "not_run"])
def test_any_red_makes_the_night_red(tmp_path: Path, how: str) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": how})
    report = publish_results(plan, done, tmp_path, "en", finished=True)
    content = written(tmp_path)
    assert report.status is Status.FIX and content["exit_code"] == 1
    assert content["runs"][1]["status"] == ("Not looked" if how == "not_run" else "Fix")
    assert content["first_red"]["run"] == "b" and "1 of 2 runs to fix; first b" in content["verdict"]["en"]
    root = xml.parse(tmp_path / "junit.xml").getroot()
    assert int(root.get("failures", "")) + int(root.get("errors", "")) == 1


def test_the_counts_of_all_runs_stand_before_what_the_first_red_says(tmp_path: Path) -> None:
    plan, _ = night(tmp_path, {"a": "good", "b": "red"})
    done = {name: ended(tmp_path, name, how, tier="npu-simulated") for name, how in (("a", "good"), ("b", "red"))}
    publish_results(plan, done, tmp_path, "en", finished=True)
    verdict = written(tmp_path)["verdict"]
    assert verdict["en"].startswith("1 of 2 runs to fix (2 on the simulated NPU); first b: ")
    assert verdict["zh"].startswith("2 个运行中 1 个待修（模拟 NPU 上 2 个）；首个为 b：")
    assert "simulated" not in verdict["en"].partition("first b")[2]


def test_what_is_still_to_come_is_not_red_yet(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "not_run"})
    assert publish_results(plan, done, tmp_path, "en").status is Status.NOT_LOOKED
    content = written(tmp_path)
    assert not content["finished"] and content["exit_code"] is None


def test_a_good_night_is_good_though_runs_were_left_out(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good"}, left_out=(LeftOut("b", "tag weekly"),))
    report = publish_results(plan, done, tmp_path, "en", finished=True)
    assert report.status is Status.GOOD and report.verdict("en") == "1 of 1 runs good (1 left out)"
    assert [run["state"] for run in written(tmp_path)["runs"]] == ["good", LEFT_OUT]
    page = page_of(tmp_path)
    assert page["runs"] == {"a": number_of(Status.GOOD), "b": number_of(Status.NOT_LOOKED)}
    assert "left out" in [*texts_of(page["table"]["columns"], "en")]


def test_a_run_that_did_not_look_is_neither_good_nor_fixed_nor_unexpectedly_green(tmp_path: Path) -> None:
    """It was red: without a proof that it is mended nobody may take it for that."""
    plan, done = night(tmp_path, {"a": "red", "b": "good"}, expect=(Expected("a", "2026-01-01", "x", "precision"),))
    publish_results(plan, done, tmp_path, "en", finished=True)
    before = history.find_earlier("last", tmp_path, "night")
    done["a"] = replace(ended(tmp_path, "a", "good"), status="Not looked")
    report = publish_results(plan, done, tmp_path, "en", finished=True, before=before)
    content = written(tmp_path)
    assert report.status is Status.NOT_LOOKED and content["exit_code"] == 0
    assert content["verdict"]["en"] == "1 of 2 runs are good, none is to fix (1 not looked at whole)"
    assert (content["counts"]["good"], content["counts"]["not_looked"]) == (1, 1)
    assert content["against"]["fixed"] == [] and not content["expected"]
    page = page_of(tmp_path)
    assert page["runs"] == {"a": number_of(Status.NOT_LOOKED), "b": number_of(Status.GOOD)}
    counts = {word: count for count, (word, _) in page["counts"]}
    assert (counts["not all looked at"], counts["Good"]) == (1, 1)
    assert report.table and report.table.rows[0][1] == Sentence("run.not_looked")


def test_a_run_that_left_no_page_has_no_link_to_one(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "died"})
    (tmp_path / "b" / "index.html").unlink()
    report = publish_results(plan, done, tmp_path, "en", finished=True)
    content = written(tmp_path)
    assert [run["page"] for run in content["runs"]] == ["a/index.html", ""] and content["first_red"]["page"] == ""
    assert "b/index.html" not in report.to_json()
    assert not [name for name in ("index.html", "junit.xml") if "b/index.html" in (tmp_path / name).read_text()]
    assert "b/index.html" not in said_on((tmp_path / "index.html").read_text())
    assert {row["name"]: row["href"] for row in page_of(tmp_path)["rows"]} == {"a": "a/index.html", "b": None}


def test_cases_of_the_junit_file(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"g": "good", "r": "red", "o": "oom", "d": "died"})
    publish_results(plan, done, tmp_path, "zh", finished=True)
    root = xml.parse(tmp_path / "junit.xml").getroot()
    suites = {suite.get("name"): suite for suite in root}
    told = {
        name: (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped"))
        for name, suite in suites.items()
    }
    assert told == {
        "g": ("4", "0", "0", "0"),
        "r": ("4", "1", "0", "1"),
        "o": ("4", "0", "1", "1"),
        "d": ("5", "0", "1", "3"),
    }
    assert suites["g"].find("properties/property[@name='simulated']").get("value") == "false"  # type: ignore[union-attr]
    assert [case.get("time") for case in suites["g"].iter("testcase")] == ["15.000"] * 4


def test_what_could_not_be_sent_is_as_red_here_as_the_exit_code(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good"})
    last = partial(publish_results, plan, done, tmp_path, "en", finished=True)
    report = last()
    assert _mark_unsent(report, last) is report and written(tmp_path)["exit_code"] == 0
    unsent = Finding("RUN402", Status.FIX, "RUN402.not_sent", {"place": "obs://b/r", "error": "403"}, weight=400)
    _mark_unsent(replace(report, findings=(*report.findings, unsent)), last)
    content, root = written(tmp_path), xml.parse(tmp_path / "junit.xml").getroot()
    assert (content["exit_code"], content["status"], content["complete"]) == (1, "Fix", False)
    assert "not all of the run was sent to obs://b/r" in content["verdict"]["en"]
    assert [suite.get("name") for suite in root] == ["storage", "a"] and root.get("errors") == "1"
    (told,) = [finding for finding in page_of(tmp_path)["findings"] if finding["rule"] == "RUN402"]
    assert told["status"] == number_of(Status.FIX) and "obs://b/r" in "\n".join(texts_of(told, "en"))


def test_reds_of_one_cause_are_told_together(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "oom", "b": "oom", "c": "error", "d": "error", "e": "red"})
    publish_results(plan, done, tmp_path, "en", finished=True)
    causes = {one["cause"]: one["runs"] for one in written(tmp_path)["causes"]}
    known = [runs for cause, runs in causes.items() if cause.startswith("known:")]
    assert known == [["a", "b"]] and len(causes) == 4, "what the others say differs"
    shown = [[run["name"] for run in cause["runs"]] for cause in page_of(tmp_path)["causes"]]
    assert sorted(shown) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert "<script>alert" not in (tmp_path / "index.html").read_text()


def test_of_many_causes_the_first_are_told_and_the_rest_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_workbook.batch.results.publish.CAUSES", 2)
    plan, done = night(tmp_path, {"a": "oom", "b": "oom", "c": "error", "d": "error", "e": "red"})
    publish_results(plan, done, tmp_path, "en", finished=True)
    page = page_of(tmp_path)
    assert (len(page["causes"]), page["more_causes"]) == (2, 2)


@pytest.mark.parametrize("day, state, code", [(4, EXPECTED, "RUN412.expected"), (3, "red", "RUN412.expired")])
def test_an_expected_failure_is_not_red_up_to_its_date(tmp_path: Path, day: int, state: str, code: str) -> None:
    known = Expected("b*", f"2026-05-0{day}", "a bug", "precision")
    plan, done = night(tmp_path, {"a": "good", "b1": "red"}, expect=(known,))
    report = publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    content = written(tmp_path)
    assert (content["runs"][1]["state"], content["expected"][0]["code"]) == (state, code)
    assert (report.status is Status.FIX) == (state == "red")
    if state == EXPECTED:
        assert report.verdict("en") == "1 of 2 runs are good, none is to fix (1 failed as expected)"


@pytest.mark.parametrize(
    "run, how, stage, code",
    [
        ("b", "good", "", "RUN412.passes"),
        ("x", "red", "", "RUN412.nothing"),
        ("b", "red", "profiling", "RUN412.elsewhere"),
    ],
)
def test_what_an_expectation_is_worth_is_told(tmp_path: Path, run: str, how: str, stage: str, code: str) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": how}, expect=(Expected(run, "2026-12-31", "", stage),))
    report = publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    assert [one["code"] for one in written(tmp_path)["expected"]] == [code]
    assert (report.status is Status.FIX) == (how == "red")


@pytest.mark.parametrize(
    "how, told",
    [
        ("red", "They failed so: b at Precision, a verdict that is Fix: "),
        (
            "oom",
            "They failed so: b at Precision, a cell that raises: code cell 7 failed: RuntimeError: NPU out of memory",
        ),
        ("timed_out", "They failed so: b out of time: stopped"),
        ("died", "They failed so: b a process that dies: "),
    ],
)
def test_a_failure_other_than_the_expected_says_what_it_is(tmp_path: Path, how: str, told: str) -> None:
    plan, done = night(tmp_path, {"b": how}, expect=(Expected("b", "2026-12-31", "a bug", says="no such text"),))
    publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    assert told in written(tmp_path)["expected"][0]["message"]["en"]


@pytest.mark.parametrize(
    "outcomes, told",
    [
        ([Outcome("migration", "kernel_died", "k", 1.0, 3, "DeadKernelError")], "b at Migration: the kernel died"),
        ([], "b Fix: "),
    ],
)
def test_a_failure_that_cannot_be_expected_is_told_too(tmp_path: Path, outcomes: list[Outcome], told: str) -> None:
    plan, done = night(tmp_path, {"b": "red"}, expect=(Expected("b", "2026-12-31", "a bug", says="no such text"),))
    run_folder(tmp_path / "b", "b", outcomes)
    publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    assert told in written(tmp_path)["expected"][0]["message"]["en"]


def test_of_many_that_fail_otherwise_the_first_are_told(tmp_path: Path) -> None:
    runs = {f"b{number}": "red" for number in range(5)}
    plan, done = night(tmp_path, runs, expect=(Expected("b*", "2026-12-31", "a bug", "migration"),))
    publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    said = written(tmp_path)["expected"][0]["message"]["en"].partition("They failed so")[2]
    assert said.count(" at Precision") == 3 and said.endswith(", …")


OF_STAGE = {"state": "cell_failed", "says": "out of memory"}


@pytest.mark.parametrize(
    "how, bound, met",
    [
        ("oom", OF_STAGE, True),
        ("oom", {"says": "Tried*GiB (NPU ?;"}, True),
        ("error", OF_STAGE, False),
        ("error", {"state": "cell_failed"}, True),
        ("red", {"state": "red"}, True),
        ("red", {"state": "timed_out"}, False),
        ("oom", {"state": "red"}, False),
        ("oom", {"says": "out of memory", "stage": "migration"}, False),
        ("timed_out", {"state": "timed_out"}, True),
        ("died", {"says": "out of memory"}, False),
    ],
)
def test_a_failure_other_than_the_expected_is_red(tmp_path: Path, how: str, bound: dict[str, str], met: bool) -> None:
    plan, done = night(tmp_path, {"b": how}, expect=(Expected("b", "2026-12-31", "a bug", **bound),))
    report = publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    assert written(tmp_path)["runs"][0]["red"] is not met
    assert [one["code"] for one in written(tmp_path)["expected"]] == [f"RUN412.{'expected' if met else 'elsewhere'}"]
    assert (report.status is Status.FIX) is not met


def test_a_run_that_was_ended_from_outside_says_why_and_not_its_stage(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "timed_out", "b": "timed_out"})
    for name in done:
        run_folder(tmp_path / name, name, [Outcome("environment", "good", "k"), Outcome("migration", "stopped", "k")])
    done["a"] = replace(done["a"], verdict={"say": "plan.no_time"})
    done["b"] = replace(done["b"], verdict={"say": "plan.beyond_disk"})
    publish_results(plan, done, tmp_path, "en", finished=True)
    assert len(written(tmp_path)["causes"]) == 2
    listed = "\n".join(texts_of(page_of(tmp_path)["causes"], "en"))
    assert all(say(key, "en") in listed for key in ("plan.no_time", "plan.beyond_disk"))


def test_every_red_stage_must_say_what_is_expected(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"b": "oom"}, expect=(Expected("b", "2026-12-31", "", says="out of memory"),))
    errors = {"migration": "RuntimeError: NPU out of memory", "precision": "ValueError: something new"}
    failed = [Outcome(stage, "cell_failed", "k", 1.0, 1, error) for stage, error in errors.items()]
    run_folder(tmp_path / "b", "b", failed)
    assert publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY).status is Status.FIX


def test_what_one_expectation_meets_is_no_news_for_another(tmp_path: Path) -> None:
    over, valid = (
        Expected("b", day, "a bug", state=state)
        for day, state in (("2026-05-03", "red"), ("2026-05-09", "cell_failed"))
    )
    plan, done = night(tmp_path, {"b": "oom"}, expect=(over, valid))
    publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    assert [one["code"] for one in written(tmp_path)["expected"]] == ["RUN412.expected"]


def test_one_that_is_good_among_those_that_failed_as_expected_is_not_told(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"b1": "red", "b2": "good"}, expect=(Expected("b*", "2026-12-31", "", state="red"),))
    publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    assert [one["code"] for one in written(tmp_path)["expected"]] == ["RUN412.expected"]


def test_an_expected_failure_hides_no_other_stage(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"b": "red"}, expect=(Expected("b", "2026-12-31", "", "precision"),))
    failed = Outcome("migration", "red", "k", 1.0, 1, "stopped")
    run_folder(tmp_path / "b", "b", [failed, Outcome("precision", "red", "k", 1.0, 1, "stopped")])
    report = publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    assert report.status is Status.FIX
    assert [one["code"] for one in written(tmp_path)["expected"]] == ["RUN412.elsewhere"]


def test_what_changed_comes_first(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "red", "c": "good", "d": "red", "f": "good"})
    publish_results(plan, done, tmp_path, "en", finished=True)
    before = history.find_earlier("last", tmp_path, "night")
    assert before and before.runs["b"]["red"]
    plan, done = night(tmp_path, {"a": "red", "b": "good", "c": "good", "d": "red", "e": "good"})
    done["c"] = ended(tmp_path, "c", "good", seconds=60 * 1.25)
    publish_results(plan, done, tmp_path, "en", finished=True, before=before, asked_for="last")
    content = written(tmp_path)
    told = {kind: names for kind, names in content["against"].items() if isinstance(names, list) and names}
    assert told == {
        "newly_red": ["a"],
        "fixed": ["b"],
        "slower": ["c"],
        "still_red": ["d"],
        "new": ["e"],
        "gone": ["f"],
    }
    assert content["first_red"]["run"] == "a" and "1 newly" in content["verdict"]["en"]


def test_a_red_that_was_left_out_the_last_time_is_not_compared_and_not_newly_red(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "red"})
    publish_results(plan, done, tmp_path, "en", finished=True)
    part, _ = night(tmp_path, {"a": "good"}, left_out=(LeftOut("b", "--only"),))
    publish_results(part, {"a": done["a"]}, tmp_path, "en", finished=True)
    before = history.find_earlier("last", tmp_path, "night")
    report = publish_results(plan, done, tmp_path, "en", finished=True, before=before, asked_for="last")
    content = written(tmp_path)
    assert (content["against"]["newly_red"], content["against"]["uncompared"]) == ([], ["b"])
    assert content["runs"][1]["change"] == "" and content["first_red"]["run"] == "b"
    assert "newly" not in report.verdict("en")
    assert "RUN411.newly_red" not in [one.key for one in report.findings]


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": 74.9},
        {"seconds": 39.9, "before": 30.0},
        {"seconds": 90.0, "reused": True},
        {"seconds": 90.0, "attempts": 2},
    ],
)
def test_no_slower_within_noise_or_where_something_else_took_the_time(tmp_path: Path, change: dict[str, Any]) -> None:
    plan, done = night(tmp_path, {"a": "good"})
    done["a"] = ended(tmp_path, "a", "good", seconds=change.pop("before", 60.0))
    publish_results(plan, done, tmp_path, "en", finished=True)
    before = history.find_earlier("last", tmp_path, "night")
    done["a"] = ended(tmp_path, "a", "good", **change)
    publish_results(plan, done, tmp_path, "en", finished=True, before=before)
    assert written(tmp_path)["runs"][0]["change"] == ""


def test_an_expected_failure_is_not_called_slower(tmp_path: Path) -> None:
    known = (Expected("a", "2026-12-31", "a bug"),)
    plan, done = night(tmp_path, {"a": "good"}, expect=known)
    publish_results(plan, done, tmp_path, "en", finished=True, today=TODAY)
    before = history.find_earlier("last", tmp_path, "night")
    done["a"] = ended(tmp_path, "a", "red", seconds=200.0)
    publish_results(plan, done, tmp_path, "en", finished=True, before=before, today=TODAY)
    assert (written(tmp_path)["runs"][0]["state"], written(tmp_path)["runs"][0]["change"]) == (EXPECTED, "")


def test_last_is_the_last_complete_one_of_this_plan_and_history_is_bounded(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "not_run"})
    publish_results(plan, done, tmp_path, "en", finished=True)
    assert history.find_earlier("last", tmp_path, "night") is None, "a run did not run"
    plan, done = night(tmp_path, {"a": "good"})
    publish_results(plan, done, tmp_path, "en", finished=True)
    summary = written(tmp_path)
    for day in range(1, history.KEPT + 5):
        history.keep_summary(tmp_path, {**summary, "created": f"2025-01-01T00:00:{day:02}.000+00:00"})
    found = history.find_earlier("last", tmp_path, "night")
    assert found and found.created == f"2025-01-01T00:00:{history.KEPT + 4:02}.000+00:00", "by order, not by clock"
    assert len(list((tmp_path / "history").glob("*.json"))) == history.KEPT
    assert history.find_earlier("last", tmp_path, "other") is None


def test_an_earlier_summary_is_found_by_path_or_refused(tmp_path: Path) -> None:
    plan, done = night(tmp_path / "night", {"a": "good"})
    publish_results(plan, done, tmp_path / "night", "en", finished=True)
    for place in (tmp_path / "night", tmp_path / "night" / "summary.json"):
        found = history.find_earlier(str(place), tmp_path, "other")
        assert found and list(found.runs) == ["a"]
    with pytest.raises(WorkbookError, match="nowhere"):
        history.find_earlier(str(tmp_path / "nowhere"), tmp_path, "night")


def test_that_nothing_changed_is_told_of_what_was_compared_alone(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "red"})
    assert not [
        one for one in publish_results(plan, done, tmp_path, "en", finished=True).findings if one.rule == "RUN411"
    ]
    assert "RUN411" not in [finding["rule"] for finding in page_of(tmp_path)["findings"]]
    before = history.find_earlier("last", tmp_path, "night")
    report = publish_results(plan, done, tmp_path, "en", finished=True, before=before, asked_for="last")
    assert [one.args["count"] for one in report.findings if one.key == "RUN411.same"] == [2]
    (same,) = [finding for finding in report.findings if finding.key == "RUN411.same"]
    assert same.message("en") in "\n".join(texts_of(page_of(tmp_path)["findings"], "en"))
    done["b"] = ended(tmp_path, "b", "good")
    report = publish_results(plan, done, tmp_path, "en", finished=True, before=before, asked_for="last")
    assert "RUN411.same" not in [one.key for one in report.findings]


def test_a_good_run_whose_stages_cannot_be_read_is_no_passing_case(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good"})
    (tmp_path / "a" / "report.json").unlink()
    publish_results(plan, done, tmp_path, "en", finished=True)
    suite = xml.parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("1", "1", "0")


def test_a_night_that_the_user_stopped_says_so_and_has_its_exit_code(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "red", "c": "died", "d": "not_run"})
    done["c"] = replace(done["c"], state=STOPPED)
    publish_results(plan, done, tmp_path, "en", stopped="user")
    content = written(tmp_path)
    assert content["exit_code"] == 130 and content["status"] == "Fix" and not content["complete"]
    assert content["verdict"]["en"] == "stopped by the user: 2 of 4 runs ended by themselves, 1 of them to fix"


@pytest.mark.parametrize(
    "tiers, said",
    [
        (("npu", "npu"), ""),
        (("npu", "npu-simulated"), "1 of 2 runs were made on the simulated NPU"),
        (("npu-simulated", "npu-simulated"), ""),
    ],
)
def test_the_page_says_how_many_runs_were_simulated(tmp_path: Path, tiers: tuple[str, str], said: str) -> None:
    plan, _ = night(tmp_path, {"a": "good", "b": "good"}, left_out=(LeftOut("c", "tag weekly"),))
    done = {name: ended(tmp_path, name, "good", tier=tier) for name, tier in zip("ab", tiers)}
    report = publish_results(plan, done, tmp_path, "en", finished=True)
    count = tiers.count("npu-simulated")
    assert written(tmp_path)["counts"]["simulated"] == count and written(tmp_path)["simulated"] is bool(count)
    assert [run["simulated"] for run in written(tmp_path)["runs"][:2]] == [tier != "npu" for tier in tiers]
    page = page_of(tmp_path)
    assert page["simulated"] is bool(count), "what the header's tag says"
    assert [row["simulated"] for row in page["rows"]][:2] == [tier != "npu" for tier in tiers]
    assert "".join(texts_of([page["note"]], "en")).startswith(said) if said else not page["note"]
    assert (f"{count} on the simulated NPU" in report.verdict("en")) is bool(count)
