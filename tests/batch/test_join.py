"""The shards of a plan on one page: all of them, of one plan, of one night; what nobody ran is red."""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable

import pytest

from ascend_workbook.batch import Selection, accept, join_shards, run_plan
from ascend_workbook.batch.plan.model import Expected, Plan
from ascend_workbook.batch.plan.selection import select_items, shard_of
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from tests.batch.results.made import ended, item
from tests.batch.results.test_publish import written
from tests.page.reading import read_page

NOW = datetime(2026, 5, 4, 3, 0, tzinfo=timezone.utc)
NAMES = ("a", "b", "c", "d", "e", "f")
COUNT = 3


def made(
    root: Path,
    part: int,
    red: str = "",
    *,
    count: int = COUNT,
    finished: bool = True,
    began: datetime = NOW,
    stopped: str = "",
    **plan: Any,
) -> Path:
    """A shard of the plan of NAMES that has ended; its folder."""
    given: dict[str, Any] = {name: {} for name in NAMES}
    whole = Plan("night", tuple(map(item, NAMES)), digest="1", given=given, **plan)
    chosen = select_items(whole, Selection(shard=(part, count)))
    folder = root / "night" / f"shard-{part}-of-{count}"
    done = {one.name: ended(folder, one.name, "red" if one.name in red else "good") for one in chosen.items}
    publish_results(chosen, done, folder, "en", finished=finished, began=began, stopped=stopped)
    return folder


def all_made(root: Path, red: str = "", **other: Any) -> Path:
    for part in range(1, COUNT + 1):
        made(root, part, red, **other)
    return root / "night"


def test_shards_are_one_plan_again(tmp_path: Path) -> None:
    folder = all_made(tmp_path, "b")
    report = join_shards([folder], lang="en")
    content = written(folder)
    assert [run["name"] for run in content["runs"]] == list(NAMES) and report.status is Status.FIX
    assert content["counts"]["good"] == 5 and content["counts"]["left_out"] == 0 and content["complete"]
    assert content["verdict"]["en"].startswith("1 of 6 runs to fix; first b")
    page, way = read_page((folder / "index.html").read_text())["plan"], content["first_red"]["page"]
    assert way == f"shard-{shard_of('b', COUNT)}-of-3/b/index.html"
    assert [row["href"] for row in page["rows"] if row["name"] == "b"] == [way]
    assert all((folder / run["page"]).is_file() for run in content["runs"])
    suites = [suite.get("name") for suite in xml.parse(folder / "junit.xml").getroot()]
    assert suites == ["shards", *NAMES]


RED = Report("batch", "run", (Finding("RUN400", Status.FIX, "RUN400.not_run"),)).to_json()


NOTHING = Report("batch", "run", ()).to_json()
DAMAGED = {
    "none": None,
    "empty": "",
    "cut short": RED[:40],
    "other": "[]",
    "deep": "[" * 100_000,
    "findings": json.dumps({**json.loads(RED), "findings": ["x"]}),
    "newer": json.dumps({**json.loads(RED), "schema_version": 9}),
    "nothing": NOTHING,
    "red": RED,
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_run_whose_shard_calls_it_good_without_a_report_that_says_so_is_red(tmp_path: Path, text: str | None) -> None:
    folder = all_made(tmp_path)
    path = folder / f"shard-{shard_of('c', COUNT)}-of-3" / "c" / "report.json"
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    report = join_shards([folder], lang="en")
    content = written(folder)
    assert report.status is Status.FIX and (content["exit_code"], content["complete"]) == (1, False)
    assert [run["name"] for run in content["runs"] if run["state"] == "not_run"] == ["c"]
    assert "holds no report that says so" in content["verdict"]["en"] and content["counts"]["good"] == 5


def test_a_shard_that_is_not_there_is_red(tmp_path: Path) -> None:
    lacks = shard_of("a", COUNT)
    for part in {1, 2, 3} - {lacks}:
        made(tmp_path, part)
    report = join_shards([tmp_path / "night"], lang="en")
    content = written(tmp_path / "night")
    assert report.status is Status.FIX and content["exit_code"] == 1 and not content["complete"]
    states = {run["name"]: run["state"] for run in content["runs"]}
    assert all((state == "not_run") is (shard_of(name, COUNT) == lacks) for name, state in states.items())
    assert f"shard {lacks} of 3, which has it, is not there" in content["verdict"]["en"]
    assert "RUN415.missing" in [one["code"] for one in content["shards"]]
    root = xml.parse(tmp_path / "night" / "junit.xml").getroot()
    assert int(root.get("errors", "0")) > 0


def test_one_that_is_not_there_is_red_though_it_had_no_run(tmp_path: Path) -> None:
    count = next(count for count in range(7, 100) if any(_without_runs(count)))
    empty = _without_runs(count)[0]
    for part in range(1, count + 1):
        if part != empty:
            made(tmp_path, part, count=count)
    assert join_shards([tmp_path / "night"], lang="en").status is Status.FIX
    made(tmp_path, empty, count=count)
    assert join_shards([tmp_path / "night"], lang="en").status is Status.GOOD


def _without_runs(count: int) -> list[int]:
    return [part for part in range(1, count + 1) if part not in {shard_of(name, count) for name in NAMES}]


@pytest.mark.parametrize(("stopped", "code"), [("", "RUN415.unfinished"), ("user", "RUN415.stopped")])
def test_one_that_has_not_ended_is_red(tmp_path: Path, stopped: str, code: str) -> None:
    all_made(tmp_path)
    made(tmp_path, 2, finished=False, stopped=stopped)
    report = join_shards([tmp_path / "night"], lang="en")
    assert [one["code"] for one in written(tmp_path / "night")["shards"]] == [code, "RUN415.joined"]
    assert report.status is Status.FIX


def test_a_shard_of_the_night_before_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    folder = all_made(tmp_path)
    path = folder / "shard-2-of-3" / "shard.json"
    told = json.loads(path.read_text())
    earlier = datetime.fromisoformat(told["began"]) - timedelta(hours=7)
    path.write_text(json.dumps({**told, "began": earlier.isoformat(), "ended": earlier.isoformat()}))
    report = join_shards([folder], lang="en")
    assert report.status is Status.FIX
    assert [one["code"] for one in written(folder)["shards"]] == ["RUN415.earlier", "RUN415.joined"]


def test_shards_of_another_plan_or_division_or_given_twice_are_refused(tmp_path: Path) -> None:
    first = made(tmp_path, 1)
    told = json.loads((first / "shard.json").read_text())
    for name, change, said in (
        ("plan", {"digest": "other", "part": 2}, "no shards of one plan"),
        ("count", {"count": 4, "part": 2}, "different divisions"),
        ("twice", {"part": 2}, "is in two shards"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shard.json").write_text(json.dumps({**told, **change}))
        with pytest.raises(WorkbookError, match=said):
            join_shards([first, tmp_path / name], root=tmp_path / "out", lang="en")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"form": 2},
        {"plan": "../x"},
        {"rows": [{}]},
        {"order": ["a"]},
        {"began": "yesterday"},
        {"part": 9},
        {"began": "2026-05-04T03:00:00"},
        {"ended": "2026-05-04T03:00:00"},
    ],
)
def test_what_is_no_shard_is_one_error(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = made(tmp_path, 1)
    told = json.loads((folder / "shard.json").read_text())
    (folder / "shard.json").write_text(json.dumps({**told, **change}))
    with pytest.raises(WorkbookError, match="cannot be read"):
        join_shards([folder], lang="en")
    with pytest.raises(WorkbookError, match="holds no shard"):
        join_shards([tmp_path], lang="en")


def test_a_run_may_not_lead_elsewhere(tmp_path: Path) -> None:
    folder = all_made(tmp_path) / "shard-1-of-3" / "shard.json"
    folder.write_text(folder.read_text().replace('"place": "', '"place": "../'))
    with pytest.raises(WorkbookError, match="may not be called"):
        join_shards([tmp_path / "night"], lang="en")


def test_what_is_expected_is_judged_over_all_shards(tmp_path: Path) -> None:
    known = (Expected("*", "2999-12-31", "a bug", state="red"),)
    folder = all_made(tmp_path, "b", expect=known)
    report = join_shards([folder], lang="en", against="last")
    assert report.status is not Status.FIX
    assert [one["code"] for one in written(folder)["expected"]] == ["RUN412.expected"]
    lone = written(folder / f"shard-{shard_of('b', COUNT) % 3 + 1}-of-3")
    assert lone["expected"] == [], "in a shard that does not have all runs nobody knows"
    assert join_shards([folder], lang="en", against="last").facts and written(folder)["against"]["newly_red"] == []


def test_folders_of_several_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [str(made(tmp_path / f"machine{part}", part)) for part in range(1, COUNT + 1)]
    assert main(["run", "--join", *places, "--root", str(tmp_path / "out"), "--lang", "en"]) == 0
    content = written(tmp_path / "out" / "night")
    assert content["runs"][0]["page"].startswith("../../machine")
    assert all((tmp_path / "out" / "night" / run["page"]).is_file() for run in content["runs"])
    assert main(["run", "plan.yaml", "--join", "x"]) == 2 and "--join" in capsys.readouterr().err


PLAN = "name: night\nstages: [environment]\nmatrix: {steps: [1, 2]}\n"


def test_two_shards_below_one_root_and_one_without_runs(notebooks: Callable[..., Path], tmp_path: Path) -> None:
    plan, books = tmp_path / "plan.yaml", notebooks(environment="good")
    plan.write_text(PLAN)
    parts = [shard_of(f"steps={step}", 40) for step in (1, 2)]
    empty = next(part for part in range(1, 41) if part not in parts)
    none = run_plan(
        plan, root=tmp_path, lang="en", notebooks=books, say_progress=str, selection=Selection(shard=(empty, 40))
    )
    assert none.status is Status.NOT_LOOKED and "no run was asked for" in none.verdict("en")
    for part in (1, 2):
        chosen = Selection(shard=(part, 2))
        assert (
            run_plan(plan, root=tmp_path, lang="en", notebooks=books, say_progress=str, selection=chosen).status
            is not Status.FIX
        )
    report = join_shards([tmp_path / "night" / f"shard-{part}-of-2" for part in (1, 2)], root=tmp_path, lang="en")
    assert report.verdict("en") == "2 of 2 runs good"
    assert accept(tmp_path / "night", lang="en").facts["runs"] == ["steps=1", "steps=2"]
