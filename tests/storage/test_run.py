"""`run --root obs://…` and notebooks at addresses: papermill reads and writes them, each ended part is sent whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest

from ascend_workbook import batch
from ascend_workbook.batch.addresses import register_handler
from ascend_workbook.batch.campaign.ended import Ended
from ascend_workbook.batch.fingerprint import hash_parts, join_hashes
from ascend_workbook.batch.mirror import Mirror
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.storage import open_storage, verb
from tests.batch.conftest import notebooks  # noqa: F401 - a fixture
from tests.batch.test_join import NAMES
from tests.batch.test_join import made as made_shard
from tests.storage.conftest import Service
from tests.storage.test_transfer import made

Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def test_papermill_takes_notebooks_at_addresses(service: Service, notebooks: Make, tmp_path: Path) -> None:  # noqa: F811
    import papermill

    register_handler()
    register_handler()
    book = next((notebooks(environment="good") / "en").iterdir())
    service.requests.write_object("books/in.ipynb", book.read_bytes())
    values = {"run_dir": str(tmp_path / "run"), "device": "cpu"}
    papermill.execute_notebook(
        f"{service.place}/books/in.ipynb",
        f"{service.place}/out/out.ipynb",
        values,
        kernel_name="python3",
        prepare_only=True,
    )
    written = json.loads(service.requests.read_object("out/out.ipynb"))
    assert written["metadata"]["papermill"]["output_path"] == f"{service.place}/out/out.ipynb"
    assert papermill.iorw.papermill_io.listdir(f"{service.place}/out") == [f"{service.place}/out/out.ipynb"]


def test_each_stage_is_sent_when_it_ended(service: Service, notebooks: Make, tmp_path: Path) -> None:  # noqa: F811
    books, place = notebooks(environment="red"), f"{service.place}/runs"
    made(Path("runs/t/environment"), {"npu/output.log": b"token=planted"})
    report = batch.run(
        "t", {"device": "cpu"}, stages=("environment",), lang="en", root=place, notebooks=books, say_progress=str
    )
    assert report.status is Status.FIX and report.facts["sent_to"] == f"{place}/t"
    (kept,) = [finding for finding in report.findings if finding.key == "RUN402.kept_here"]
    assert kept.args["names"] == ["environment/npu/output.log"]
    assert not [key for key in service.held() if key.endswith("output.log")]
    storage = open_storage(f"{place}/t")
    pages = ["acceptance.json", "environment/", "index.html", "junit.xml", "report.json"]
    assert sorted(storage.list_children()) == pages, "what the page links to comes with it"
    assert verb.verify(f"{place}/t/environment").status is Status.GOOD
    name = "environment/notebook.ipynb"
    assert storage.read_bytes(name) == Path("runs/t", name).read_bytes()
    assert storage.read_text("index.html") == Path("runs/t/index.html").read_text()
    assert json.loads(storage.read_text("report.json"))["status"] == "Fix"


def test_what_an_earlier_run_left_at_the_place_is_not_taken_for_this_ones(service: Service) -> None:
    storage = open_storage(f"{service.place}/runs/t")
    for name in ("acceptance.json", "summary.json", "notes.txt", "environment/acceptance.json"):
        storage.write_text(name, "accepted")
    folder = made(Path("runs/t"), {"index.html": b"waits"})
    Mirror(f"{service.place}/runs", folder).finish_sending(Report("batch", "run"))
    assert sorted(storage.list_files()) == ["environment/acceptance.json", "index.html", "notes.txt"]


@pytest.mark.full
def test_a_plan_is_sent_run_by_run(service: Service, notebooks: Make, tmp_path: Path) -> None:  # noqa: F811
    Path("plan.yaml").write_text("name: night\nstages: [environment]\nmatrix: {steps: [1, 2]}\n")
    report = batch.run_plan(
        "plan.yaml",
        workers=2,
        root=f"{service.place}/runs",
        lang="en",
        notebooks=notebooks(environment="good"),
        say_progress=str,
    )
    assert report.status is Status.GOOD
    names = open_storage(f"{service.place}/runs/night").list_children()
    assert {"steps=1/", "steps=2/", "index.html", "summary.json", "junit.xml", "report.json"} <= set(names)
    assert verb.verify(f"{service.place}/runs/night/steps=1").status is Status.GOOD


def test_a_run_of_a_plan_is_sent_as_it_ends(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "night"
    made(folder, {"a/report.json": b"{}", "b/report.json": b"{}", "summary.json": b"{}", ".lock": b""})
    mirror = Mirror(f"{service.place}/runs/", folder)
    assert service.held() == ["runs/night/summary.json"]
    ended = mirror.send_parts(Ended(name, "good", "Good") for name in ("a", "never", "b"))
    assert [one.name for one in ended] == ["a", "never", "b"]
    report = mirror.finish_sending(Report("batch", "run"))
    assert report.status is Status.GOOD and [one.key for one in report.findings] == ["RUN402.sent"]
    assert verb.verify(f"{service.place}/runs/night/b").status is Status.GOOD
    assert not any("lock" in key for key in service.held())


def test_what_cannot_be_sent_makes_it_red(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "night"
    made(folder, {"a/report.json": b"{}", "b/report.json": b"{}"})
    mirror = Mirror(service.place, folder)
    service.fail({"method": "PUT", "match": "/a/", "times": 999, "status": 403, "code": "AccessDenied"})
    for name in ("a", "b"):
        mirror.send_part(name)
    report = mirror.finish_sending(Report("batch", "run"))
    assert report.status is Status.FIX and "not all of the run was sent" in report.verdict("en")
    assert verb.verify(f"{service.place}/night/b").status is Status.GOOD


def test_a_plan_that_cannot_be_sent_does_not_start(service: Service, notebooks: Make) -> None:  # noqa: F811
    Path("plan.yaml").write_text("name: night\nstages: [environment]\nmatrix: {steps: [1]}\n")
    # the server is everybody's: this bucket alone
    service.fail({"method": "PUT", "match": f"/{service.bucket}/", "times": 999, "status": 403, "code": "AccessDenied"})
    with pytest.raises(WorkbookError, match="not allowed"):
        batch.run_plan(
            "plan.yaml",
            root=f"{service.place}/runs",
            lang="en",
            notebooks=notebooks(environment="good"),
            say_progress=str,
        )
    assert not Path("runs/night/steps=1/order.json").exists()


def test_a_folder_is_sent_nowhere(tmp_path: Path) -> None:
    report = Report("batch", "run")
    assert Mirror(tmp_path, tmp_path / "night").finish_sending(report) is report


def test_without_keys_nothing_starts(notebooks: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("HOME", str(tmp_path))
    books = notebooks(environment="good")
    with pytest.raises(WorkbookError, match="no keys for object storage"):
        batch.run("t", {}, stages=("environment",), root="obs://bucket/runs", notebooks=books, say_progress=str)
    assert not Path("runs/t/environment").exists()


def test_another_baseline_is_another_result(service: Service, notebooks: Make) -> None:  # noqa: F811
    book = next((notebooks(environment="good") / "en").iterdir())
    keys = []
    for key, data in (("b/gpu.zip", b"one"), ("b/gpu.zip", b"two"), ("b/x/y", b"1"), ("b/x/y", b"2")):
        service.requests.write_object(key, data)
        place = f"{service.place}/b/{'gpu.zip' if key.endswith('zip') else 'x'}"
        keys.append(join_hashes(hash_parts(book, {"baseline": place}, {})))
    assert len(set(keys)) == 4


def test_shards_are_joined_where_they_lie(service: Service, tmp_path: Path) -> None:
    for part in (1, 2):
        folder = made_shard(tmp_path / "made", part, count=2)
        mirror = Mirror(f"{service.place}/runs/night", folder)
        list(mirror.send_parts(Ended(name, "good", "Good") for name in NAMES))
        mirror.finish_sending(Report("batch", "run"))
    report = batch.join_shards([f"{service.place}/runs/night/"], lang="en")
    assert report.status is Status.GOOD and report.facts["sent_to"] == f"{service.place}/runs/night"
    summary = json.loads(service.requests.read_object("runs/night/summary.json"))
    pages = [run["page"] for run in summary["runs"]]
    assert len(pages) == len(NAMES) and {f"runs/night/{page}" for page in pages} < set(service.held())
    assert (tmp_path / "work" / "runs" / "night" / "index.html").is_file()
