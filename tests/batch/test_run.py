"""Red is never green: failing cells, dead kernels, silent exits and stopped runs each show as what they are."""

from __future__ import annotations

import errno
import json
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any, Callable

import pytest

from ascend_workbook import batch
from ascend_workbook.batch.fingerprint import local_sources
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import Stopped, WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.page.texts import number_of
from tests.page.reading import read_page, texts_of

Make = Callable[..., Path]


def go(make: Make, tmp_path: Path, parameters: dict[str, str] | None = None, **options: object) -> Report:
    books = make(**{name: str(options.pop(name)) for name in batch.STAGES if name in options})
    stages = tuple(sorted((path.stem[3:] for path in (books / "en").iterdir()), key=batch.STAGES.index))
    return batch.run(
        "t", parameters or {}, stages=stages, lang="en", root=tmp_path, notebooks=books, say_progress=str, **options
    )  # type: ignore[arg-type]


def state(tmp_path: Path, stage: str) -> str:
    return str(json.loads((tmp_path / "t" / stage / "outcome.json").read_text())["state"])


def page_of(tmp_path: Path) -> dict[str, Any]:
    return read_page((tmp_path / "t" / "index.html").read_text())


def test_good_stages_are_green_and_reused(notebooks: Make, tmp_path: Path) -> None:
    report = go(notebooks, tmp_path, {"steps": "5"}, environment="good", migration="good")
    assert report.status is Status.GOOD and report.verdict("en") == "2 of 2 stages good"
    assert load_report(tmp_path / "t" / "environment" / "report.json").facts == {"steps": 5}
    again = go(notebooks, tmp_path, {"steps": "5"}, environment="good", migration="good")
    assert [outcome["reused"] for outcome in again.facts["outcomes"]] == [True, True]
    assert (tmp_path / "t" / "count-environment").read_text() == "x"
    other = go(notebooks, tmp_path, {"environment.steps": "6"}, environment="good", migration="good")
    assert [outcome["reused"] for outcome in other.facts["outcomes"]] == [False, False]
    forced = go(notebooks, tmp_path, {"environment.steps": "6"}, environment="good", migration="good", force=True)
    assert not any(outcome["reused"] for outcome in forced.facts["outcomes"])


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:50],
        lambda text: "[" * 100_000,
        lambda text: json.dumps({**json.loads(text), "findings": ["x"]}),
        lambda text: json.dumps({**json.loads(text), "schema_version": 9}),
    ],
)
def test_a_stage_whose_report_was_damaged_runs_again(
    notebooks: Make, tmp_path: Path, damage: Callable[[str], str]
) -> None:
    go(notebooks, tmp_path, environment="good", migration="good")
    report = tmp_path / "t" / "environment" / "report.json"
    report.write_text(damage(report.read_text()))
    again = go(notebooks, tmp_path, environment="good", migration="good")
    assert [outcome["reused"] for outcome in again.facts["outcomes"]] == [False, True]
    assert load_report(report).status is Status.GOOD and again.status is Status.GOOD


@pytest.mark.parametrize("timeout_s", [0, -1])
def test_a_limit_that_would_be_none_is_refused(tmp_path: Path, timeout_s: int) -> None:
    with pytest.raises(WorkbookError, match="at least 1"):
        batch.run("t", {}, lang="en", root=tmp_path, timeout_s=timeout_s)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("bound", [{"workers": -1}, {"deadline_s": -1.0}, {"deadline_s": float("nan")}])
def test_bounds_of_a_plan_that_would_be_none_are_refused(tmp_path: Path, bound: dict[str, float]) -> None:
    with pytest.raises(WorkbookError, match="at least 1"):
        batch.run_plan(tmp_path / "plan.yaml", lang="en", root=tmp_path, **bound)  # type: ignore[arg-type]


def test_no_report_of_an_earlier_time_is_left_in_a_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would tick the checklist of a migration that was not looked at this time."""
    stage = tmp_path / "profiling"
    for name in ("report", "benchmark", "given"):
        Report("profiling", "benchmark", ()).save(stage, name=name)
    (stage / "settings.json").write_text("{}")
    (stage / "older.json").write_text("of a version that drew a page of it")
    (stage / "older.html").write_text("<html></html>")
    monkeypatch.setattr(batch.execute, "_run_papermill", lambda stage, *more: batch.execute.Outcome(stage, "good", ""))
    parameters = {"run_dir": str(tmp_path), "baseline": str(stage / "given.json")}
    batch.execute.execute_notebook("profiling", tmp_path / "none.ipynb", parameters, {}, 60)
    left = {path.name for path in stage.iterdir() if path.suffix in (".json", ".html")}
    assert left == {"given.json", "settings.json", "basis.json", "outcome.json"}


@pytest.mark.parametrize(
    ("body", "status", "verdict"),
    [
        ("partly", Status.NOT_LOOKED, "2 stages with nothing to fix; not everything could be looked at in"),
        ("blind", Status.NOT_LOOKED, "2 stages with nothing to fix; not everything could be looked at in"),
        ("warned", Status.LOOK, "2 stages with nothing to fix; look at"),
    ],
)
def test_a_stage_that_did_not_look_is_not_green_and_one_that_warned_says_so(
    notebooks: Make, tmp_path: Path, body: str, status: Status, verdict: str
) -> None:
    for again in (False, True):
        report = go(notebooks, tmp_path, environment="good", precision=body)
        assert (report.status, report.verdict("en")) == (status, f"{verdict} Precision")
        assert report.facts["outcomes"][1]["reused"] is again
        assert report.table and report.table.rows[1][1] == status.json
    shown = {answer["stage"]: answer["status"] for answer in page_of(tmp_path)["answers"]}
    assert (shown["environment"], shown["precision"]) == (number_of(Status.GOOD), number_of(status))
    stage = load_report(tmp_path / "t" / "precision" / "report.json")
    assert stage.status is (Status.LOOK if body == "warned" else Status.NOT_LOOKED)


@pytest.mark.parametrize(
    ("body", "expected", "shown"),
    [
        ("red", "red", "stopped"),
        ("raises", "cell_failed", "ValueError: boom"),
        ("out_of_memory", "cell_failed", "Cause (documented): The NPU's memory is full or in pieces"),
        ("dies", "kernel_died", "died"),
        ("exits", "cell_failed", "did not complete"),
        ("silent", "good", "without saving a report"),
    ],
)
def test_a_bad_stage_is_red_and_the_rest_goes_on(
    notebooks: Make, tmp_path: Path, body: str, expected: str, shown: str
) -> None:
    report = go(notebooks, tmp_path, environment=body, migration="good", keep_going=True)
    assert report.status is Status.FIX and state(tmp_path, "environment") == expected
    assert state(tmp_path, "migration") == "good"
    page = page_of(tmp_path)
    assert {
        answer["stage"]: answer["status"]
        for answer in page["answers"]
        if answer["stage"] in ("environment", "migration")
    } == {"environment": number_of(Status.FIX), "migration": number_of(Status.GOOD)}
    assert shown in "\n".join(texts_of([page["cards"][0], page["answers"][0]], "en"))
    assert report.findings[0].place and report.findings[0].place.path == "environment/notebook.ipynb"
    junit = xml.parse(tmp_path / "t" / "junit.xml").getroot()
    assert (junit.get("tests"), junit.get("failures" if body == "red" else "errors")) == ("2", "1")
    if body != "red":
        assert report.findings[0].args["cell"] == (None if body == "silent" else 3)


def test_a_cell_that_hangs_is_stopped(notebooks: Make, tmp_path: Path) -> None:
    report = go(notebooks, tmp_path, environment="hangs", timeout_s=2)
    assert state(tmp_path, "environment") == "timed_out" and report.status is Status.FIX


def test_a_killed_run_is_seen_as_stopped(notebooks: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(notebooks, tmp_path, environment="good")

    def killed(*args: object, **kwargs: object) -> None:
        assert kwargs["extra_arguments"] == [
            "--IPKernelApp.log_level=50"
        ]  # it would print a traceback when it is ended
        raise KeyboardInterrupt

    monkeypatch.setattr("papermill.execute_notebook", killed)
    with pytest.raises(Stopped) as caught:
        go(notebooks, tmp_path, environment="good", force=True)
    told = caught.value.message("en")
    kept = "what has ended is kept, and the same command goes on from there"
    assert told == f"stopped by the user in Environment: {kept}; {tmp_path / 't' / 'index.html'}"
    assert state(tmp_path, "environment") == "stopped"
    assert not (tmp_path / "t" / "environment" / "report.json").exists()
    kept = load_report(tmp_path / "t" / "report.json")
    assert kept.status is Status.FIX and kept.verdict("en") == "stopped before it ended"


def test_a_disk_that_fails_is_told_with_the_file(
    notebooks: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("papermill.execute_notebook", broken)
    with pytest.raises(OSError, match="Input/output") as caught:
        go(notebooks, tmp_path, environment="good")
    assert caught.value.filename == str(tmp_path / "t" / "environment" / "notebook.ipynb")
    assert state(tmp_path, "environment") == "stopped"


def test_a_stop_is_one_line_and_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for stop, told in ((Stopped("run.stopped_before"), "before the first stage"), (KeyboardInterrupt(), "by the user")):

        def stopped(*args: object, stop: BaseException = stop, **kwargs: object) -> None:
            raise stop

        monkeypatch.setattr(batch, "run", stopped)
        assert main(["run", "--name", "x", "--lang", "en"]) == 130
        err = capsys.readouterr().err
        assert told in err and err.count("\n") == 1


def test_a_changed_script_or_import_runs_again(notebooks: Make, tmp_path: Path) -> None:
    script, module = tmp_path / "train.py", tmp_path / "model.py"
    script.write_text("import model")
    module.write_text("a = 1")
    parameters = {"script": str(script)}
    assert not go(notebooks, tmp_path, parameters, environment="good").facts["outcomes"][0]["reused"]
    assert go(notebooks, tmp_path, parameters, environment="good").facts["outcomes"][0]["reused"]
    module.write_text("a = 2")
    assert not go(notebooks, tmp_path, parameters, environment="good").facts["outcomes"][0]["reused"]


def test_another_baseline_of_the_same_name_runs_again(notebooks: Make, tmp_path: Path) -> None:
    bundle = tmp_path / "gpu.zip"
    for text, reused in (("a", False), ("a", True), ("b", False)):
        bundle.write_text(text)
        outcome = go(notebooks, tmp_path, {"baseline": str(bundle)}, environment="good").facts["outcomes"][0]
        assert outcome["reused"] is reused


def test_packages_and_parents_count_as_imports(tmp_path: Path) -> None:
    for name, text in {
        "train.py": "import pkg.sub.m",
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/m.py": "from ..a import x",
        "pkg/a.py": "x = 1",
        "other.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {path.relative_to(tmp_path).as_posix() for path in local_sources(tmp_path / "train.py")}
    assert found == {"train.py", "pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/m.py", "pkg/a.py"}


def test_a_run_that_cannot_start_leaves_no_green_page(
    notebooks: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(notebooks, tmp_path, environment="good")

    def absent(wanted: str) -> None:
        raise WorkbookError("device.absent", wanted="npu", why={"say": "device.why.no_cann"})

    monkeypatch.setattr("ascend_workbook.batch.workbook.device_versions", absent)
    with pytest.raises(WorkbookError):
        go(notebooks, tmp_path, environment="good")
    page = page_of(tmp_path)
    assert "device npu is not here" in "\n".join(texts_of(page["cards"][0], "en"))
    assert page["cards"][0]["status"] == number_of(Status.FIX) and not page["tabs"]
    assert {answer["status"] for answer in page["answers"]} == {number_of(Status.NOT_LOOKED)}
    assert load_report(tmp_path / "t" / "report.json").status is Status.FIX


def test_a_red_report_is_red_though_nothing_raised(notebooks: Make, tmp_path: Path) -> None:
    assert go(notebooks, tmp_path, environment="red_but_quiet").status is Status.FIX
    assert state(tmp_path, "environment") == "red"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stpes": "3"}, "Did you mean steps"),
        ({"steps": "three"}, "not of type int"),
        ({"fast": "maybe"}, "type bool"),
        ({"run_dir": "/x"}, "no notebook has a parameter run_dir"),
        ({"precision.steps": "1"}, "no notebook has"),
        ({"script": "/nowhere.py"}, "is not there"),
        ({"baseline": "/nowhere.zip"}, "the baseline /nowhere.zip is not there"),
        ({"baseline": "obs://bucket/gpu.zip"}, "no keys for object storage"),
    ],
)
def test_bad_parameters_stop_before_anything_starts(
    notebooks: Make, tmp_path: Path, parameters: dict[str, str], message: str
) -> None:
    with pytest.raises(WorkbookError, match=message):
        go(notebooks, tmp_path, parameters, environment="good")
    assert not (tmp_path / "t" / "environment").exists()


@pytest.mark.parametrize("name", ["", "..", "a/b"])
def test_a_run_name_is_a_plain_folder(notebooks: Make, tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkbookError, match="plain folder name"):
        batch.run(name, {}, root=tmp_path)


def test_exit_codes(notebooks: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    books = notebooks(environment="good", migration="red", precision="good", profiling="good")
    monkeypatch.setitem(batch.run.__kwdefaults__, "notebooks", books)
    common = ["run", "--name", "t", "--root", str(tmp_path), "--lang", "en"]
    assert main([*common, "--stage", "environment", "--json", str(tmp_path / "r.json")]) == 0
    assert capsys.readouterr().out.strip().endswith("index.html")
    assert load_report(tmp_path / "r.json").stage == "batch"
    assert main([*common, "--stage", "migration"]) == 1
    assert main([*common, "-p", "stpes", "3"]) == 2
    assert "next step: Did you mean steps" in capsys.readouterr().err
