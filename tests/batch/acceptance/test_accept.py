"""The checklist says `met` only of what a report of an NPU shows, and is accepted only where nothing is left to see."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.batch import accept
from ascend_workbook.batch.acceptance import evidence, judge_as_it_stands
from ascend_workbook.batch.acceptance.checklist import GROUPS, group_of, rules, rules_of
from ascend_workbook.batch.acceptance.evidence import gather_evidence, parse_targets
from ascend_workbook.batch.acceptance.rules import items
from ascend_workbook.batch.plan.model import Targets
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, join_reports
from ascend_workbook.findings.sentence import Sentence, hint, load_catalogue
from ascend_workbook.page.render import draw_run
from ascend_workbook.page.texts import number_of
from tests.batch.results.made import night
from tests.page.reading import read_page, texts_of

TARGETS = ("loss=1%", "throughput=80%")
COUNTS = {"fallback": 0, "unsupported": 0, "unknown": 0}
CHECKPOINT = {"ACP541": "loaded on a CPU host, Li"}
Change = Callable[[dict[str, Report]], Any]


def found(rule: str, status: Status = Status.GOOD, key: str = "RUN400.not_run", **args: Any) -> Finding:
    return Finding(rule, status, key, args)


#: Losses that prove nothing.
NOTHING = found("ACC250", Status.NOT_LOOKED, "ACC250.nothing", steps=9, tolerance=0.1, worst=0.0, why="")


def parts(tmp_path: Path, tier: str) -> dict[str, Report]:
    """The reports of a whole run on an NPU whose every item is met, by verb."""
    script = tmp_path / "train.py"
    script.write_text("x = 1\n")
    (tmp_path / "baseline").mkdir()
    (tmp_path / "baseline" / "capture.json").write_text("{}")
    machine = {"python": {"version": "3.11", "packages": {"torch": "2"}}, "host": {}, "chosen": {"count": 8}}
    rewrite = {
        "scan_of_the_result": {"manual": 0, "unsupported": 0},
        "still_cuda": [],
        "in_place": False,
        "root": str(tmp_path),
        "sha256": {"train.py": hashlib.sha256(b"x = 1\n").hexdigest()},
    }
    baseline = {"baseline": str(tmp_path / "baseline"), "final": {"loss": [2.0, 2.01]}, "steps_compared": 9}
    made = {
        "machine_check": (
            [found(rule) for rule in ("ENV001", "ENV022", "ENV030", "ENV053", "ENV054")],
            {"machine": machine},
        ),
        "compute_check": ([found("ENV100"), found("ENV104")], {}),
        "rewrite": ([found("MIG130")], rewrite),
        "dry_run": ([found("MIG140")], {"nproc": 8}),
        "operator_support": ([found("MIG170", **COUNTS)], {}),
        "experiment": ([found("ACC205")], {}),
        "curves": ([found("ACC250")], baseline),
        "divergence": ([found("ACC230", Status.NOTE)], baseline),
        "verify": ([found("ACC270")], {}),
        "benchmark": ([found("PRF370", name="-"), found("PRF376", name="-", ratio=0.81)], {"benchmark": {"nproc": 1}}),
        "idle_time": ([found("PRF321")], {"idle_ns": {"unexplained": 4.0}}),
        "time_by_kind": ([found("PRF310")], {"step_ns": 100.0}),
        "tuning": ([found("PRF369")], {}),
    }
    return {
        verb: Report("batch", verb, tuple(findings), facts=facts, tier="" if verb == "rewrite" else tier)
        for verb, (findings, facts) in made.items()
    }


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Report]:
    """`run(change)` accepts a run after the change of its reports."""

    def judged(change: Change = lambda made: None, tier: str = "npu", **options: Any) -> Report:
        made = parts(tmp_path, tier)
        change(made)
        folder = tmp_path / "run" / "environment"
        folder.mkdir(parents=True)
        join_reports("environment", "environment", list(made.values()), tier=tier).save(folder)
        given = {"target": TARGETS, "confirm": CHECKPOINT, "lang": "en", **options}
        return accept(tmp_path / "run", **given)

    return judged


def checklist_on_page(folder: Path) -> dict[str, Any]:
    """The checklist as the page of the run shows it, beside the run's own parts."""
    (shown,) = [
        report for report in read_page((folder / "index.html").read_text())["beside"] if report["id"] == "accept"
    ]
    return dict(shown)


def with_finding(verb: str, finding: Finding) -> Change:
    """The report of a verb with this finding in the place of those of its rule."""

    def change(made: dict[str, Report]) -> None:
        rest = tuple(one for one in made[verb].findings if one.rule != finding.rule)
        made[verb] = replace(made[verb], findings=(*rest, finding))

    return change


def without(verb: str, rule: str) -> Change:
    """The report of a verb where this rule said nothing."""

    def change(made: dict[str, Report]) -> None:
        made[verb] = replace(made[verb], findings=tuple(one for one in made[verb].findings if one.rule != rule))

    return change


def with_facts(verb: str, **facts: Any) -> Change:
    def change(made: dict[str, Report]) -> None:
        made[verb] = replace(made[verb], facts={**made[verb].facts, **facts})

    return change


def two_configurations(*, fastest: float, other: float) -> Change:
    """A benchmark whose fastest configuration, of two with a baseline, is `a`; of a third is said something else."""
    names = [found("PRF371", name="b"), found("PRF370", name="a"), found("PRF370", name="b")]
    ratios = [found("PRF376", name="b", ratio=other), found("PRF376", name="a", ratio=fastest)]

    def change(made: dict[str, Report]) -> None:
        made["benchmark"] = replace(made["benchmark"], findings=(*names, *ratios))

    return change


@pytest.mark.parametrize(
    "code, change",
    [
        ("ACP525", with_facts("curves", final={"loss": [100.0, 101.0]})),
        ("ACP531", with_finding("benchmark", found("PRF376", name="-", ratio=0.8))),
        ("ACP531", two_configurations(fastest=0.8, other=0.1)),
        ("ACP532", with_facts("idle_time", idle_ns={"unexplained": 5.0})),
        ("ACP552", with_facts("divergence", baseline="environment")),
    ],
)
def test_what_is_just_within_is_met(run: Callable[..., Report], code: str, change: Change) -> None:
    """1 % of 100 is 1; 80 % are aimed at; 5 of 100 ns are a twentieth; a path is looked for in the run's folder."""
    assert run(change).facts["items"][code] == "met"


def finding_of(report: Report, code: str) -> Finding:
    return next(finding for finding in report.findings if finding.rule == code)


def test_what_ticked_an_item_says_its_numbers(run: Callable[..., Report]) -> None:
    report = run(
        with_facts("curves", final={"loss": [100.0, 101.0], "top1": [0.5, 0.4]}), target=[*TARGETS, "top1=0.2"]
    )
    said = finding_of(report, "ACP525").args["said"]
    assert said == [
        Sentence("accept.metric.met", name="loss", baseline=100.0, target=101.0, steps=9, within="1 %"),
        Sentence("accept.metric.met", name="top1", baseline=0.5, target=0.4, steps=9, within="0.2"),
    ]
    ratio = finding_of(report, "ACP531").args["said"]
    assert ratio == Sentence("accept.throughput", ratio="81 %", wanted="80 %")
    share = finding_of(report, "ACP532").args["said"]
    assert share == Sentence("accept.unexplained", share="4 %", limit="5 %")
    cards = finding_of(report, "ACP543").args["said"]
    assert cards == Sentence("accept.many_cards", count=8, what=Sentence("name.dry_run"))
    record = finding_of(report, "ACP542").args["said"]
    assert record == Sentence("accept.recorded", count=1, python="3.11", container="-")


def test_of_several_reports_the_best_device_counts_then_the_newest() -> None:
    made = [("npu", "2026-01-02"), ("npu", "2026-01-03"), ("npu-simulated", "2026-01-04"), ("cpu", "2026-01-05")]
    reports = [Report("batch", "curves", (), tier=tier, created=f"{day}T00:00:00+00:00") for tier, day in made]
    known = evidence.Evidence(Path(), tuple(evidence.Found(report, "p.json") for report in reports))
    best = known.find_report("verify", "curves")
    assert (best.report.tier, best.date) == ("npu", "2026-01-03")


def test_only_the_rule_of_an_item_ticks_it(run: Callable[..., Report]) -> None:
    def other_first(made: dict[str, Report]) -> None:
        other = found("MIG171", fallback=9, unsupported=9, unknown=9)
        support = made["operator_support"]
        made["operator_support"] = replace(support, findings=(other, *support.findings))

    assert run(other_first).facts["items"]["ACP513"] == "met"


@pytest.mark.parametrize("there", [True, False])
def test_the_page_says_the_next_step_of_what_is_not_met_alone(
    run: Callable[..., Report], tmp_path: Path, there: bool
) -> None:
    report = run(lambda made: None if there else made.pop("dry_run"))
    step = hint("accept.item.ACP512", "en")
    assert (step in "\n".join(texts_of(checklist_on_page(tmp_path / "run"), "en"))) is not there
    assert report.table
    widths = {column.name: column.wrap for column in report.table.columns if column.wrap}
    assert widths == {"accept_item": 22, "evidence": 24, "accept_where": 12, "next_step": 24}


def test_one_card_needs_no_run_on_several(run: Callable[..., Report]) -> None:
    def one_card(made: dict[str, Report]) -> None:
        with_facts("machine_check", machine={**made["machine_check"].facts["machine"], "chosen": {"count": 1}})(made)
        with_facts("dry_run", nproc=1)(made)

    report = run(one_card)
    assert report.facts["items"]["ACP543"] == "not_applicable" and report.facts["verdict"] == "accepted_by_hand"


def test_backups_of_all_files_are_a_way_back(run: Callable[..., Report], tmp_path: Path) -> None:
    (tmp_path / "train.py.orig").write_text("x = 0\n")
    assert run(with_facts("rewrite", in_place=True, backups=["train.py.orig"])).facts["items"]["ACP551"] == "met"


def test_no_backup_at_all_is_none(run: Callable[..., Report]) -> None:
    assert run(with_facts("rewrite", in_place=True, backups=[])).facts["items"]["ACP551"] == "missed"


@pytest.mark.parametrize(
    "change, options, key, more",
    [
        (lambda made: None, {}, "ACP500.accepted_by_hand", {"met": 19, "by_hand": 1, "items": 20}),
        (lambda made: None, {"confirm": {}}, "ACP500.not_yet", {"not_looked": 1}),
        (with_finding("dry_run", found("MIG140", Status.FIX)), {}, "ACP500.missed", {"missed": 2}),
    ],
)
def test_the_verdict_counts_the_items_and_is_the_headline(
    run: Callable[..., Report], change: Change, options: dict[str, Any], key: str, more: dict[str, int]
) -> None:
    report = run(change, **options)
    verdict = report.findings[0]
    assert (verdict.key, verdict.weight) == (key, 300) and report.headline == verdict
    assert {name: verdict.args[name] for name in more} == more


def test_a_run_that_meets_all_is_accepted(run: Callable[..., Report], tmp_path: Path) -> None:
    report = run()
    assert report.status is Status.GOOD and report.facts["verdict"] == "accepted_by_hand", report.text("en")
    assert set(report.facts["items"]) == set(rules_of(rules)) and report.facts["items"]["ACP541"] == "by_hand"
    said = "\n".join(texts_of(checklist_on_page(tmp_path / "run"), "en"))
    assert "environment/report.json" in said and CHECKPOINT["ACP541"] in said
    assert "environment/report.json" in read_page((tmp_path / "run" / "index.html").read_text())["run"]["files"]
    assert json.loads((tmp_path / "run" / "acceptance.json").read_text())["status"] == "Good"


@pytest.mark.parametrize(
    "code, change",
    [
        ("ACP501", with_finding("machine_check", found("ENV053", Status.FIX))),
        ("ACP502", with_finding("machine_check", found("ENV030", Status.LOOK))),
        ("ACP504", with_finding("compute_check", found("ENV104", Status.FIX))),
        ("ACP511", with_facts("rewrite", still_cuda=["a.py"])),
        ("ACP511", with_facts("rewrite", scan_of_the_result={"manual": 1, "unsupported": 0})),
        ("ACP512", with_finding("dry_run", found("MIG140", Status.FIX))),
        ("ACP511", with_facts("rewrite", scan_of_the_result={"manual": 0, "unsupported": 1})),
        ("ACP513", with_finding("operator_support", found("MIG170", fallback=1, unsupported=0, unknown=0))),
        ("ACP513", with_finding("operator_support", found("MIG170", fallback=0, unsupported=1, unknown=0))),
        ("ACP513", with_finding("operator_support", found("MIG170", fallback=0, unsupported=0, unknown=1))),
        ("ACP523", with_finding("divergence", found("ACC230", Status.FIX))),
        ("ACP525", with_facts("curves", final={"loss": [2.0, 2.03]})),
        ("ACP525", with_facts("curves", final={"loss": [2.0, float("nan")]})),
        ("ACP525", with_facts("curves", final={"loss": [float("inf"), 2.0]})),
        ("ACP531", with_finding("benchmark", found("PRF376", name="-", ratio=0.79))),
        ("ACP531", two_configurations(fastest=0.79, other=2.0)),
        ("ACP532", with_facts("idle_time", idle_ns={"unexplained": 5.1})),
        ("ACP551", with_facts("rewrite", sha256={"train.py": "0"})),
        ("ACP551", with_facts("rewrite", in_place=True, backups=["train.py.orig"])),
        ("ACP552", with_facts("divergence", baseline="/nowhere/at/all")),
        ("ACP512", with_finding("dry_run", found("MIG158", Status.LOOK))),
        ("ACP521", with_finding("experiment", found("ACC204", Status.FIX))),
        ("ACP522", with_finding("curves", found("ACC251", Status.FIX, "ACC251.nan", path="l", step=1))),
        ("ACP523", with_finding("divergence", found("ACC235", Status.LOOK))),
        ("ACP524", with_finding("verify", found("ACC276", Status.FIX))),
    ],
)
def test_each_item_can_be_missed(run: Callable[..., Report], code: str, change: Change) -> None:
    report = run(change)
    missed = {one for one, state in report.facts["items"].items() if state == "missed"}
    assert missed - {"ACP543"} == {code}, "a dry run on several cards that failed is no run on several cards either"
    assert report.status is Status.FIX and report.facts["verdict"] == "missed"


@pytest.mark.parametrize(
    "code, change",
    [
        ("ACP503", lambda made: made.pop("machine_check")),
        ("ACP503", with_finding("machine_check", found("ENV022", Status.NOT_LOOKED))),
        ("ACP503", without("machine_check", "ENV022")),
        ("ACP504", without("compute_check", "ENV104")),
        ("ACP504", without("compute_check", "ENV100")),
        ("ACP503", without("machine_check", "ENV001")),
        ("ACP502", without("machine_check", "ENV054")),
        ("ACP543", with_finding("dry_run", found("MIG140", Status.NOT_LOOKED))),
        ("ACP512", lambda made: made.pop("dry_run")),
        ("ACP512", lambda made: made.update(dry_run=replace(made["dry_run"], tier="cpu"))),
        ("ACP522", lambda made: made.update(curves=replace(made["curves"], tier=""))),
        ("ACP523", with_finding("divergence", found("ACC230", Status.NOT_LOOKED))),
        ("ACP502", with_finding("machine_check", found("ENV054", Status.NOTE))),
        ("ACP501", with_finding("machine_check", found("ENV053", Status.NOTE))),
        ("ACP511", with_facts("rewrite", scan_of_the_result=None)),
        ("ACP511", with_facts("rewrite", scan_of_the_result={"manual": 0})),
        ("ACP513", with_finding("operator_support", found("MIG170", fallback=0, unsupported=0))),
        ("ACP513", without("operator_support", "MIG170")),
        ("ACP525", with_facts("curves", final={})),
        ("ACP525", with_facts("curves", final={"loss": 2.0})),
        ("ACP525", with_facts("curves", final={"loss": [2.0]})),
        ("ACP525", with_facts("curves", final={"loss": [2.0, 2.0, 2.0]})),
        ("ACP525", with_facts("curves", final={"loss": [2.0, "2.0"]})),
        ("ACP525", with_facts("curves", final={"loss": [True, 1.0]})),
        ("ACP531", without("benchmark", "PRF376")),
        ("ACP531", with_finding("benchmark", found("PRF376", name="-", ratio="0.81"))),
        ("ACP532", with_facts("idle_time", idle_ns={"other": 1.0})),
        ("ACP532", with_facts("idle_time", idle_ns=None)),
        ("ACP532", with_facts("time_by_kind", step_ns=0)),
        ("ACP542", with_facts("machine_check", machine=None)),
        ("ACP542", with_facts("machine_check", machine={"python": {"packages": {}}})),
        ("ACP542", with_facts("machine_check", machine={"python": {"packages": ["torch"]}})),
        ("ACP551", with_facts("rewrite", sha256={})),
        ("ACP551", with_facts("rewrite", sha256={"gone.py": "0"})),
        ("ACP551", with_facts("rewrite", root="")),
        ("ACP552", with_facts("divergence", baseline="")),
        ("ACP531", with_finding("benchmark", found("PRF376", Status.LOOK, name="-", ratio=2.0))),
        ("ACP543", with_facts("dry_run", nproc=1)),
        ("ACP551", lambda made: made.pop("rewrite")),
        ("ACP511", with_finding("rewrite", found("MIG100", Status.NOT_LOOKED))),
        ("ACP512", with_finding("dry_run", found("MIG157", Status.NOT_LOOKED))),
        ("ACP543", with_finding("dry_run", found("MIG157", Status.NOT_LOOKED))),
        ("ACP513", with_finding("operator_support", found("MIG170", Status.NOT_LOOKED, **COUNTS))),
        ("ACP513", with_finding("operator_support", found("MIG170", operators=0, **COUNTS))),
        ("ACP521", with_finding("experiment", found("ACC205", Status.NOT_LOOKED, "ACC205.no_manifest"))),
        ("ACP522", with_finding("curves", NOTHING)),
        ("ACP525", with_finding("curves", NOTHING)),
        ("ACP524", with_finding("verify", found("ACC273", Status.NOT_LOOKED))),
        ("ACP532", without("idle_time", "PRF321")),
        ("ACP532", with_finding("idle_time", found("PRF321", Status.NOT_LOOKED))),
    ],
)
def test_without_evidence_an_item_is_not_looked_at(run: Callable[..., Report], code: str, change: Change) -> None:
    report = run(change)
    assert report.facts["items"][code] == "not_looked"
    assert report.status is Status.FIX and report.facts["verdict"] == "not_yet"
    assert "items not looked at" in report.verdict("en")


def test_the_simulator_ticks_no_performance_and_leaves_the_rest_to_be_repeated(run: Callable[..., Report]) -> None:
    report = run(tier="npu-simulated")
    states = report.facts["items"]
    assert {states[code] for code in states if group_of(code) == "performance"} == {"not_looked"}
    assert states["ACP512"] == "simulated" and states["ACP502"] == "not_looked"
    assert "ACP512" in report.facts["repeat_on_hardware"] and report.facts["verdict"] == "not_yet"


def test_targets_are_not_made_up(run: Callable[..., Report]) -> None:
    states = run(target=()).facts["items"]
    assert states["ACP525"] == states["ACP531"] == "not_looked"


def test_a_person_cannot_answer_for_what_was_seen(run: Callable[..., Report]) -> None:
    change = with_finding("dry_run", found("MIG140", Status.FIX))
    assert run(change, confirm={**CHECKPOINT, "ACP512": "works for me"}).facts["items"]["ACP512"] == "missed"


def test_an_empty_answer_is_none(run: Callable[..., Report]) -> None:
    with pytest.raises(WorkbookError, match="ACP541: the text is empty"):
        run(confirm={"ACP541": " "})


@pytest.mark.parametrize("code", ["ACP531", "ACP999"])
def test_a_person_cannot_answer_for_a_speed(run: Callable[..., Report], code: str) -> None:
    with pytest.raises(WorkbookError, match=code) as refused:
        run(confirm={code: "fast"})
    able = refused.value.arguments["known"]
    assert (
        isinstance(able, list) and "ACP541" in able and not [item for item in able if group_of(item) == "performance"]
    )


@pytest.mark.parametrize("text", ["loss", "loss<=1", "loss=x", "=1", "loss=1e999", "throughput=0%"])
def test_a_target_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(WorkbookError, match="NAME=VALUE"):
        parse_targets([text])


def test_of_two_aims_for_the_throughput_none_is_forgotten() -> None:
    with pytest.raises(WorkbookError, match="throughput=1%"):
        parse_targets(["throughput=80%", "throughput=1%"])


def test_reports_beyond_the_bounds_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("report", "a", "b"):
        Report("profiling", "benchmark", ()).save(tmp_path / "profiling", name=name)
    (tmp_path / "profiling" / "basis.json").write_text("{}")  # what reuse goes by, no report
    assert gather_evidence(tmp_path, Targets()).unread == ()
    monkeypatch.setattr(evidence, "MOST", 2)
    found = gather_evidence(tmp_path, Targets())
    assert [one.page for one in found.found] == ["profiling/report.json", "profiling/a.json"]
    assert found.unread == ("profiling/b.json",)


def test_the_targets_of_a_plan_are_kept_beside_its_runs(run: Callable[..., Report], tmp_path: Path) -> None:
    evidence.save_targets(tmp_path / "run", parse_targets(TARGETS))
    report = run(target=())
    assert report.facts["items"]["ACP525"] == report.facts["items"]["ACP531"] == "met"
    assert (
        evidence.load_targets(tmp_path / "run") == parse_targets(TARGETS)
        and evidence.load_targets(tmp_path) == Targets()
    )


def test_a_run_page_shows_the_checklist_and_is_not_red_for_it(run: Callable[..., Report], tmp_path: Path) -> None:
    run(lambda made: made.pop("dry_run"))
    judge_as_it_stands(tmp_path / "run")
    draw_run(tmp_path / "run", "en")
    shown = checklist_on_page(tmp_path / "run")
    assert shown["status"] == number_of(Status.NOT_LOOKED) and "not looked" in "\n".join(texts_of(shown, "en"))
    assert json.loads((tmp_path / "run" / "acceptance.json").read_text())["status"] == "Not looked"


def test_a_folder_without_reports_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="no report"):
        accept(tmp_path)


def plan_of(folder: Path, **runs: str) -> Path:
    """A plan's folder whose summary names these runs and their states."""
    told = {"runs": [{"name": name, "state": state} for name, state in runs.items()]}
    (folder / "summary.json").write_text(json.dumps(told))
    return folder


def test_a_plan_is_not_accepted_while_a_run_has_no_results(run: Callable[..., Report], tmp_path: Path) -> None:
    run()
    options: dict[str, Any] = {"target": TARGETS, "confirm": CHECKPOINT, "lang": "en"}
    assert accept(plan_of(tmp_path, run="good", later="left_out"), **options).status is Status.GOOD
    report = accept(plan_of(tmp_path, run="good", dead="died"), **options)
    assert report.status is Status.FIX and report.facts["runs"] == ["run", "dead"]


def test_a_plans_page_shows_the_acceptance_with_its_conditions_and_the_runs_that_miss_them(tmp_path: Path) -> None:
    folder = tmp_path / "night"
    plan, done = night(folder, {"a": "good", "b": "red"})
    publish_results(plan, done, folder, "en", finished=True)
    before = read_page((folder / "index.html").read_text(encoding="utf-8"))
    missed = Report("batch", "dry_run", (found("MIG140", Status.FIX),), tier="npu")
    missed.save(folder / "b" / "migration", name="dry_run")
    report = accept(folder, lang="zh")
    page = read_page((folder / "index.html").read_text(encoding="utf-8"))
    shown = page.pop("acceptance")
    assert {name: page[name] for name in page if name != "lang"} == {
        name: before[name] for name in before if name != "lang"
    }
    assert page["lang"] == "zh" and shown["status"] == 3 and shown["verdict"][0] == "0 of 2 runs are accepted"
    assert shown["table"]["columns"][0]["links"] == ["a/index.html", "b/index.html"]
    items = report.parts[0].table
    assert items is not None
    rows = {str(row[1]): dict(zip((column.name for column in items.columns), row)) for row in items.rows}
    assert len(rows) == len(rules_of(rules))
    row = rows[str(Sentence("accept.item.ACP512"))]
    assert (row["status"], row["accept_missed"], row["accept_open"], row["accept_met"]) == ("Fix", ["b"], ["a"], 0)
    assert row["next_step"] and shown["parts"][0]["table"]["count"] == len(rows)
    other = rows[str(Sentence("accept.item.ACP541"))]
    assert (other["status"], other["accept_open"]) == ("Not looked", Sentence("accept.all_runs", count=2))
    assert items.rows[0][2] == "Fix" and [row[2] for row in items.rows].count("Fix") == 1, "what is missed comes first"
    publish_results(plan, done, folder, "en", finished=True)
    assert not (folder / "acceptance.json").exists(), "of an earlier time"
    assert "acceptance" not in read_page((folder / "index.html").read_text(encoding="utf-8"))


def test_a_plans_page_of_an_older_version_is_left_as_it_is(run: Callable[..., Report], tmp_path: Path) -> None:
    run()
    (tmp_path / "index.html").write_text("<html>old</html>")
    accept(plan_of(tmp_path, run="good"), target=TARGETS, confirm=CHECKPOINT, lang="en")
    assert (tmp_path / "index.html").read_text() == "<html>old</html>"


def test_a_run_of_a_shard_is_looked_for_in_the_shards_folder(run: Callable[..., Report], tmp_path: Path) -> None:
    run()
    plan = tmp_path / "plan"
    (plan / "shard-1-of-2").mkdir(parents=True)
    (tmp_path / "run").rename(plan / "shard-1-of-2" / "run")
    told = [{"name": "run", "state": "good", "page": "shard-1-of-2/run/index.html"}]
    (plan / "summary.json").write_text(json.dumps({"runs": told}))
    report = accept(plan, target=TARGETS, confirm=CHECKPOINT, lang="en")
    assert report.status is Status.GOOD and (report.tier, report.findings[0].weight) == ("npu", 400)
    assert str(report.findings[1].place) == "shard-1-of-2/run/index.html"


def test_what_an_item_rests_on(run: Callable[..., Report]) -> None:
    assert items.BASIS.keys() == run().facts["items"].keys()
    rules = {code for code, basis in items.BASIS.items() if basis == "rules"}
    assert rules == {f"ACP{n}" for n in (501, 502, 503, 504, 512, 521, 522, 523, 524, 531, 532, 533)}


def test_a_summary_cannot_name_a_folder_elsewhere(run: Callable[..., Report], tmp_path: Path) -> None:
    run()
    with pytest.raises(WorkbookError, match=r"\.\."):
        accept(plan_of(tmp_path / "run", **{"..": "good"}))


def test_every_item_has_words_and_a_group() -> None:
    for code in rules_of(rules):
        words = load_catalogue()[f"accept.item.{code}"]
        assert group_of(code) in GROUPS and words.hint_en and words.hint_zh


def test_the_checklist_fits_a_terminal(run: Callable[..., Report]) -> None:
    report = run()
    for lang in ("en", "zh"):
        table = report.text(lang).split("\n\n")[1]
        assert len(table.splitlines()) > 20 and max(map(len, table.splitlines())) <= 120


def test_on_real_and_simulated_devices_the_lower_tier_is_told(run: Callable[..., Report]) -> None:
    report = run(lambda made: made.update(verify=replace(made["verify"], tier="npu-simulated")))
    assert report.tier == "npu-simulated" and report.facts["repeat_on_hardware"] == ["ACP524"]


def test_the_table_says_the_next_step_of_each_state(run: Callable[..., Report]) -> None:
    report = run(lambda made: made.pop("tuning"), tier="npu-simulated")
    assert report.table
    steps = dict(zip(report.facts["items"], report.table.column_values("next_step")))
    assert steps["ACP512"] == Sentence("accept.repeat"), "what the simulator ticked is repeated on an NPU"
    assert steps["ACP533"] == {"hint": "accept.item.ACP533"} and steps["ACP541"] is None
    places = dict(zip(report.facts["items"], report.table.column_values("accept_where")))
    assert places["ACP512"] == "environment/report.json" and places["ACP533"] is None


def test_the_page_of_a_run_has_every_item_by_its_group(run: Callable[..., Report], tmp_path: Path) -> None:
    run(tier="npu-simulated")
    table = checklist_on_page(tmp_path / "run")["table"]
    group = next(column for column in table["columns"] if column["name"] == "accept_group")
    assert table["count"] == 20 and len(group["words"]) == len(GROUPS) == 6
    assert load_catalogue()["accept.repeat"].en in "\n".join(texts_of(table, "en"))


def test_a_wrong_confirmation_stops_a_plan_too(run: Callable[..., Report], tmp_path: Path) -> None:
    run()
    with pytest.raises(WorkbookError, match="ACP999"):
        accept(plan_of(tmp_path, run="good"), target=TARGETS, confirm={"ACP999": "x"}, lang="en")


def test_a_run_left_out_this_time_counts_by_its_earlier_results(run: Callable[..., Report], tmp_path: Path) -> None:
    run()
    (tmp_path / "run" / "report.json").write_text("{}")
    report = accept(plan_of(tmp_path, run="left_out"), target=TARGETS, confirm=CHECKPOINT, lang="en")
    assert report.facts["runs"] == ["run"] and report.table
    widths = [(column.name, column.wrap) for column in report.table.columns]
    assert widths == [("planned_run", 40), ("status", 0), ("verdict", 60)]
    kept = json.loads((tmp_path / "acceptance.json").read_text())
    assert [row[0] for row in kept["table"]["rows"]] == ["run"], "a plan has a row a run, and no groups"


@pytest.mark.parametrize(
    ("code", "change", "key"),
    [
        ("ACP522", lambda made: made.update(curves=replace(made["curves"], tier="")), "accept.tier_unknown"),
        ("ACP522", lambda made: made.update(curves=replace(made["curves"], tier="cpu")), "accept.no_npu"),
        ("ACP522", lambda made: made.pop("curves"), "accept.absent"),
        (
            "ACP531",
            with_finding("benchmark", found("PRF376", Status.LOOK, name="-", ratio=2.0)),
            "accept.other_benchmark",
        ),
        ("ACP551", with_facts("rewrite", sha256=None), "accept.not_in_report"),
        ("ACP551", with_facts("rewrite", sha256={"gone.py": "0"}), "accept.original_gone"),
        ("ACP552", with_facts("divergence", baseline=None), "accept.not_in_report"),
        ("ACP525", with_facts("curves", final=None), "accept.no_metric"),
    ],
)
def test_what_was_not_looked_at_says_why(run: Callable[..., Report], code: str, change: Change, key: str) -> None:
    assert finding_of(run(change), code).key == key


def test_one_ratio_of_another_benchmark_makes_all_of_no_use(run: Callable[..., Report]) -> None:
    def change(made: dict[str, Report]) -> None:
        ratios = (found("PRF376", name="-", ratio=0.9), found("PRF376", Status.LOOK, name="b", ratio=0.9))
        made["benchmark"] = replace(made["benchmark"], findings=(found("PRF370", name="-"), *ratios))

    assert finding_of(run(change), "ACP531").key == "accept.other_benchmark"


@pytest.mark.parametrize(
    ("code", "change", "said"),
    [
        (
            "ACP511",
            with_facts("rewrite", still_cuda=["a.py"]),
            ("accept.code_left", {"manual": 0, "unsupported": 0, "cuda": 1}),
        ),
        ("ACP511", lambda made: None, ("accept.code_clean", {"manual": 0, "unsupported": 0, "cuda": 0})),
        ("ACP551", lambda made: None, ("accept.original_kept", {"count": 1, "changed": []})),
        (
            "ACP551",
            with_facts("rewrite", sha256={"train.py": "0"}),
            ("accept.original_changed", {"count": 1, "changed": ["train.py"]}),
        ),
        (
            "ACP551",
            with_facts("rewrite", in_place=True, backups=["gone.orig"]),
            ("accept.backups", {"backups": 0, "of": 1}),
        ),
        (
            "ACP552",
            with_facts("divergence", baseline="/nowhere/at/all"),
            ("accept.baseline_gone", {"path": "/nowhere/at/all"}),
        ),
    ],
)
def test_what_is_said_of_the_code_and_the_way_back(
    run: Callable[..., Report], code: str, change: Change, said: tuple[str, dict[str, Any]]
) -> None:
    assert finding_of(run(change), code).args["said"] == Sentence(said[0], **said[1])


def test_an_aim_that_is_no_share_is_a_difference(run: Callable[..., Report]) -> None:
    """0.5 to 0.25 is 0.25 apart: beyond 0.2, within 0.25."""
    change = with_facts("curves", final={"top1": [0.5, 0.25]})
    assert run(change, target=["top1=0.25", "throughput=80%"]).facts["items"]["ACP525"] == "met"


def test_an_aim_that_is_no_share_is_missed_beyond_it(run: Callable[..., Report]) -> None:
    change = with_facts("curves", final={"top1": [0.5, 0.25]})
    assert run(change, target=["top1=0.2", "throughput=80%"]).facts["items"]["ACP525"] == "missed"


@pytest.mark.parametrize(("kept", "state"), [("file", "met"), ("empty", "missed")])
def test_a_baseline_is_a_file_or_a_folder_that_holds_something(
    run: Callable[..., Report], tmp_path: Path, kept: str, state: str
) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "empty").mkdir()
    assert run(with_facts("divergence", baseline=str(tmp_path / kept))).facts["items"]["ACP552"] == state


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        ({"dry_run": {"nproc": 2}}, 2),
        ({"dry_run": {"nproc": 2}, "operator_support": {"nproc": 4}}, 4),
        ({"dry_run": {"nproc": None}, "benchmark": {"benchmark": {"nproc": 3}}}, 3),
    ],
)
def test_the_run_on_most_cards_counts(run: Callable[..., Report], facts: dict[str, Any], count: int) -> None:
    def change(made: dict[str, Report]) -> None:
        for verb, more in facts.items():
            with_facts(verb, **more)(made)

    said = finding_of(run(change), "ACP543").args["said"]
    assert isinstance(said, dict) and said["args"]["count"] == count


@pytest.mark.parametrize(
    "findings",
    [
        (found("MIG140", Status.NOT_LOOKED), found("MIG141", Status.LOOK)),
        (found("MIG140"), found("MIG141", Status.NOT_LOOKED)),
    ],
)
def test_a_run_on_several_cards_that_could_not_look_is_none(
    run: Callable[..., Report], findings: tuple[Finding, ...]
) -> None:
    """By its own rule, whatever else was found; or by its worst finding."""
    report = run(lambda made: made.update(dry_run=replace(made["dry_run"], findings=findings)))
    finding = finding_of(report, "ACP543")
    assert finding.key == "accept.could_not_look"
    assert finding.args["said"] == Sentence("RUN400.not_run"), "the report's headline"


def test_targets_that_a_plan_no_longer_has_are_forgotten(tmp_path: Path) -> None:
    evidence.save_targets(tmp_path, Targets())
    evidence.save_targets(tmp_path, parse_targets(TARGETS))
    evidence.save_targets(tmp_path, Targets())
    assert not list(tmp_path.iterdir())


def test_up_to_forty_files_of_a_stage_are_read(tmp_path: Path) -> None:
    Report("profiling", "benchmark", ()).save(tmp_path / "profiling")
    text = (tmp_path / "profiling" / "report.json").read_text()
    for number in range(40):
        (tmp_path / "profiling" / f"z{number:02}.json").write_text(text)
    assert gather_evidence(tmp_path, Targets()).unread == ("profiling/z39.json",)


def test_files_of_up_to_256_mib_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Report("profiling", "benchmark", ()).save(tmp_path / "profiling")
    read: list[str] = []
    load_report = evidence.reports.load_report

    def load(path: Path) -> Report:
        read.append(path.name)
        return load_report(tmp_path / "profiling" / "report.json")

    monkeypatch.setattr(evidence.reports, "load_report", load)
    for name, size in (("a", 256 << 20), ("b", (256 << 20) + 1), ("c", 1)):
        with (tmp_path / "profiling" / f"{name}.json").open("wb") as stream:
            stream.truncate(size)
    found = gather_evidence(tmp_path, Targets())
    assert read == ["report.json", "a.json", "c.json"] and found.unread == ("profiling/b.json",)
    assert found.found[1].page == "profiling/a.json"
