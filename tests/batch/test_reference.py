"""A run's notebooks against blessed references: through nbval itself, never passed where nothing was compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import nbformat
import pytest

from ascend_workbook.batch import run_plan
from ascend_workbook.batch.campaign.ended import DIFFERS, GOOD, RED, Ended
from ascend_workbook.batch.plan.model import Item, Plan
from ascend_workbook.batch.reference import compare
from ascend_workbook.batch.reference.compare import Reference, compare_runs, machine_places
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from tests.page.reading import read_page

Book = Callable[..., None]
NAME = "a"


@pytest.fixture
def write(tmp_path: Path) -> Book:
    """`write(*outputs)`: an executed notebook as papermill leaves it, a cell per text printed, in its run's folder."""

    def make(
        *texts: str,
        steps: int = 3,
        code: str = "show",
        tags: tuple[str, ...] = (),
        count: bool = True,
        more: Any = None,
    ) -> None:
        folder = tmp_path / "runs" / NAME
        given = nbformat.v4.new_code_cell(f'# Parameters\nsteps = {steps}\nrun_dir = "{folder}"', execution_count=1)
        given.metadata.tags = ["injected-parameters"]
        cells = [given]
        for number, text in enumerate(texts, 2):
            output = nbformat.v4.new_output("stream", text=text.replace("{folder}", str(folder)))
            noise = nbformat.v4.new_output("stream", name="stderr", text=f"warning {number}")
            cell = nbformat.v4.new_code_cell(f"{code}({number})", execution_count=number if count else None)
            cell.outputs = [output, noise, *([more] if more else [])]
            cell.metadata.update(papermill={"status": "completed", "duration": 1.5}, tags=list(tags))
            cells.append(cell)
        book = nbformat.v4.new_notebook(cells=cells)
        book.metadata.papermill = {"input_path": str(folder)}
        path = folder / "environment" / "notebook.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(book, path)

    return make


@pytest.fixture
def hold(tmp_path: Path) -> Callable[..., Ended]:
    """`hold()` compares, `hold(bless=True)` blesses before."""

    def go(bless: bool = False, state: str = GOOD) -> Ended:
        plan = Plan("p", (Item(NAME, ("environment",), {}, "en"),))
        reference = Reference(tmp_path / "ref", bless)
        runs: Iterator[Ended] = compare_runs([Ended(NAME, state, "Good")], plan, tmp_path / "runs", reference, str)
        return next(runs)

    return go


@pytest.fixture
def bless(tmp_path: Path) -> Callable[[], None]:
    """Blesses, without the comparison that proves it."""
    run = tmp_path / "runs" / NAME
    target = tmp_path / "ref" / "en" / NAME / "environment.ipynb"
    return lambda: compare.bless_notebooks([(run / "environment" / "notebook.ipynb", target)], machine_places(run))


def compared_on(page: Path) -> dict[str, Any]:
    """The comparison as the run's page shows it."""
    (shown,) = [report for report in read_page(page.read_text())["beside"] if report["id"] == "reference"]
    return dict(shown)


def key(ended: Ended) -> object:
    assert isinstance(ended.verdict, dict)
    return ended.verdict["say"]


def test_the_same_is_the_same_and_says_how_much_was_compared(
    write: Book, hold: Callable[..., Ended], tmp_path: Path
) -> None:
    write("loss 0.5 after 3 s, in {folder}/x", "second")
    assert hold(bless=True).state == GOOD
    text = (tmp_path / "ref" / "en" / NAME / "environment.ipynb").read_text()
    assert str(tmp_path) not in text and "papermill" not in text and "warning" not in text and "<RUN>/x" in text
    assert [cell["execution_count"] for cell in json.loads(text)["cells"]] == [1, 2, 3]
    write("loss 0.5 after 7.25 s, in {folder}/x", "second")
    ended = hold()
    assert ended.state == GOOD and ended.notes == (
        {"say": "plan.reference_same", "args": {"compared": 2, "outputs": 2}},
    )


def test_a_difference_names_the_cell_and_is_shown_escaped(
    write: Book, hold: Callable[..., Ended], bless: Callable[[], None], tmp_path: Path
) -> None:
    write("loss 0.5", "<script>alert(1)</script>")
    bless()
    write("loss 0.5", "<script>alert(2)</script>")
    ended = hold()
    assert (ended.state, ended.red, key(ended)) == (DIFFERS, True, "RUN430.differs")
    assert ended.verdict["args"]["cells"] == [3]  # type: ignore[index,call-overload]
    page = tmp_path / "runs" / NAME / "index.html"
    text = compared_on(page)["listing"]["text"]
    assert "environment/notebook.ipynb [3]" in text and "<script>alert(" not in page.read_text()
    assert {"-<script>alert(1)</script>", "+<script>alert(2)</script>"} <= set(text.splitlines())


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"steps": 4}, "RUN430.parameters"),
        ({"code": "other"}, "RUN430.code"),
        ({"texts": ["one"]}, "RUN430.code"),
        ({"more": nbformat.v4.new_output("error", ename="E", evalue="x", traceback=["x"])}, "RUN430.differs"),
        ({"more": nbformat.v4.new_output("display_data", data={"text/plain": "x"})}, "RUN430.differs"),
        ({"texts": ["one", ""]}, "RUN430.differs"),
    ],
)
def test_what_is_not_alike_is_red(
    write: Book, hold: Callable[..., Ended], bless: Callable[[], None], second: dict[str, Any], told: str
) -> None:
    write("one", "two")
    bless()
    write(*second.pop("texts", ["one", "two"]), **second)
    ended = hold()
    assert (ended.state, key(ended)) == (DIFFERS, told)


def test_nothing_compared_is_never_a_pass(
    write: Book, hold: Callable[..., Ended], bless: Callable[[], None], tmp_path: Path
) -> None:
    write("one")
    assert key(hold()) == "RUN430.absent"
    write("one", count=False)
    assert key(hold(bless=True)) == "plan.bless_unrun"
    write("one", tags=("nbval-ignore-output",))
    assert key(hold(bless=True)) == "RUN430.little"
    write()
    assert key(hold(bless=True)) == "RUN430.little"
    write("one")
    bless()
    path = tmp_path / "ref" / "en" / NAME / "environment.ipynb"
    path.write_text(path.read_text().replace('"execution_count": 2', '"execution_count": null'))
    assert key(hold()) == "RUN430.unrun"
    path.write_text("{")
    assert key(hold()) == "RUN430.unreadable"


def test_a_picture_alone_is_not_compared(write: Book, hold: Callable[..., Ended]) -> None:
    picture = nbformat.v4.new_output("display_data", data={"image/png": "QUJD"})
    write("one", more=picture)
    ended = hold(bless=True)
    assert ended.notes[-1] == {"say": "plan.reference_same", "args": {"compared": 1, "outputs": 2}}


def test_a_plans_own_rules_are_used_and_a_broken_one_is_no_pass(
    write: Book, hold: Callable[..., Ended], bless: Callable[[], None], tmp_path: Path
) -> None:
    write("seed 1")
    bless()
    write("seed 2")
    rules = tmp_path / "ref" / "sanitize.cfg"
    rules.write_text("regex: seed \\d+\nreplace: <SEED>\n")
    assert hold().state == GOOD
    rules.write_text("regex: seed (\nreplace: <SEED>\n")
    assert hold().state == DIFFERS


@pytest.mark.full
def test_a_plan_is_held_also_where_its_runs_are_reused(notebooks: Callable[..., Path], tmp_path: Path) -> None:
    path, books = tmp_path / "plan.yaml", notebooks(environment="good")
    path.write_text("stages: environment\nruns: [{name: one}]")
    options: dict[str, Any] = {"root": tmp_path, "lang": "en", "notebooks": books, "say_progress": str}
    assert run_plan(path, reference=str(tmp_path / "ref"), bless=True, **options).status is not Status.FIX
    book = tmp_path / "ref" / "en" / "one" / "environment.ipynb"
    text = book.read_text()
    assert '"text/plain": "1"' in text
    book.write_text(text.replace('"text/plain": "1"', '"text/plain": "2"'))
    report = run_plan(path, reference=str(tmp_path / "ref"), **options)
    run = json.loads((tmp_path / "plan" / "summary.json").read_text())["runs"][0]
    assert (report.status, run["state"], run["reused"]) == (Status.FIX, DIFFERS, True)
    plan = read_page((tmp_path / "plan" / "index.html").read_text())["plan"]
    assert [one["href"] for cause in plan["causes"] for one in cause["runs"]] == ["one/index.html"]
    page = tmp_path / "plan" / "one" / "index.html"
    assert compared_on(page)["listing"]["text"].endswith("+1")
    card = read_page(page.read_text())["cards"][0]
    assert (
        card["kind"] == "reference" and card["difference"].endswith("+1") and card["command"][-2:] == ["--only", "one"]
    )
    words = card["command"][2:-2]
    assert words == [str(path), "--lang", "en", "--root", str(tmp_path), "--reference", str(tmp_path / "ref")]
    assert run_plan(path, **options).status is not Status.FIX
    left = [report["id"] for report in read_page(page.read_text())["beside"]]
    assert left == ["accept"], "a comparison of an earlier time is none of this run's"


@pytest.mark.parametrize(
    ("key", "more"), [("differs", ()), ("little", ()), ("absent", ("--bless",)), ("run_unreadable", ("--force",))]
)
def test_the_command_that_compares_anew_names_the_run_and_what_is_needed(key: str, more: tuple[str, ...]) -> None:
    reference = Reference.from_options("refs", True, ("ascend-workbook", "run", "plan.yaml"))
    assert reference is not None
    stages = [compare.Held("environment", "same", {}), compare.Held("precision", key, {})]
    words = compare._make_command(reference, "a[1]", stages)
    assert words == ("ascend-workbook", "run", "plan.yaml", "--reference", "refs", "--only", "a[[]1]", *more)
    assert compare._make_command(Reference(Path("refs")), "a", stages) == ()


def test_only_good_runs_are_held(write: Book, hold: Callable[..., Ended], tmp_path: Path) -> None:
    assert hold(bless=True, state=RED) == Ended(NAME, RED, "Good")
    assert not (tmp_path / "ref").exists()


def test_what_is_asked_is_checked_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="no folder for them"):
        Reference.from_options("", True)
    with pytest.raises(WorkbookError, match="is not there"):
        Reference.from_options(str(tmp_path / "none"), False)
    assert Reference.from_options("", False) is None


def test_the_rules_are_those_of_the_projects_own_references() -> None:
    from ascend_workbook.batch.reference.compare import RULES
    from tests.conftest import ROOT

    assert RULES.read_bytes() == (ROOT / "tests" / "sanitize.cfg").read_bytes()


def test_one_that_cannot_be_blessed_leaves_the_others_as_they_were(write: Book, tmp_path: Path) -> None:
    write("one")
    run, target = tmp_path / "runs" / NAME, tmp_path / "ref" / "environment.ipynb"
    pairs = [(run / "environment" / "notebook.ipynb", target), (run / "none.ipynb", tmp_path / "ref" / "none.ipynb")]
    with pytest.raises(WorkbookError, match="none.ipynb"):
        compare.bless_notebooks(pairs, machine_places(run))
    assert not target.exists()


@pytest.mark.parametrize("which, told", [(0, "run_unreadable"), (1, "unreadable")])
def test_what_cannot_be_read_is_named(
    write: Book, bless: Callable[[], None], tmp_path: Path, which: int, told: str
) -> None:
    write("one")
    bless()
    run = tmp_path / "runs" / NAME
    pair = (run / "environment" / "notebook.ipynb", tmp_path / "ref" / "en" / NAME / "environment.ipynb")
    pair[which].write_text("{")
    (one,) = compare.compare_stages({"environment": pair}, tmp_path / "no.cfg", machine_places(run))
    assert (one.key, one.args["path"]) == (told, str(pair[which]))
