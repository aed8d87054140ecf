"""Each good run of a plan against its references, once it has ended; `bless` makes them first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_workbook.batch.campaign.ended import DIFFERS, GOOD, HELD, Ended
from ascend_workbook.batch.plan.model import Item, Plan
from ascend_workbook.batch.reference import compare
from ascend_workbook.batch.reference.books import machine_places
from ascend_workbook.batch.reference.compare import Held
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language, say
from ascend_workbook.storage import open_storage

COLUMNS = ("stage", "status", "compared_outputs", "reference_outputs", "differing_cells")


@dataclass(frozen=True)
class Reference:
    """`folder` has LANG/RUN/STAGE.ipynb, and sanitize.cfg where a plan has rules of its own; `bless` makes them."""

    folder: Path
    bless: bool = False

    @classmethod
    def from_options(cls, folder: str, bless: bool) -> Reference | None:
        """Make the reference from the options of a command line. Raises WorkbookError before anything runs."""
        if bless and not folder:
            raise WorkbookError("plan.bless_alone")
        if folder and not bless and not Path(folder).is_dir():
            raise WorkbookError("plan.no_reference", path=folder)
        return cls(Path(folder).resolve(), bless) if folder else None


def compare_runs(
    runs: Iterable[Ended], plan: Plan, root: Path, reference: Reference | None, say_progress: Callable[[str], None]
) -> Iterator[Ended]:
    """Yield the runs as they end, those that are good compared with their references."""
    items = {item.name: item for item in plan.items}
    for ended in runs:
        if reference is None or ended.state != GOOD:
            yield ended
        else:
            ended = _compare_run(ended, items[ended.name], root / ended.name, reference)
            verdict = ended.verdict if ended.state == DIFFERS else ended.notes[-1]
            say_progress(say("run.said", choose_language(), name=ended.name, said=verdict))
            yield ended


def _compare_run(ended: Ended, item: Item, folder: Path, reference: Reference) -> Ended:
    notes = list(ended.notes)
    words = machine_places(folder)
    below = reference.folder / item.lang / item.name
    pairs = {stage: (folder / stage / "notebook.ipynb", below / f"{stage}.ipynb") for stage in item.stages}
    try:
        compare.bless_notebooks(pairs.values() if reference.bless else (), words)
    except WorkbookError as error:
        return replace(ended, state=DIFFERS, status="FAIL", verdict=Sentence(error.key, **error.arguments))
    report = make_report(compare.compare_stages(pairs, reference.folder / "sanitize.cfg", words), item.name)
    _save_report(report, folder, item.lang)
    if report.status is Status.FAIL and report.headline:
        sentence: Scalar = Sentence(report.headline.key, **report.headline.args)
        return replace(ended, state=DIFFERS, status="FAIL", verdict=sentence)
    counts = {"compared": report.facts["compared"], "outputs": report.facts["outputs"]}
    notes += [Sentence("plan.blessed")] if reference.bless else []
    return replace(ended, notes=(*notes, Sentence(HELD, **counts)))


def make_report(held_stages: list[Held], run: str) -> Report:
    """Make a report with a row per stage, and what differs below it."""
    rows = [
        (
            Sentence(f"name.{held_stage.stage}"),
            "OK" if held_stage.key == "same" else "FAIL",
            held_stage.compared,
            held_stage.outputs,
            [row["cell"] for row in held_stage.cells],
        )
        for held_stage in held_stages
    ]
    findings = tuple(_make_finding(held_stage) for held_stage in held_stages)
    text = "\n".join(_describe_cell(held_stage.stage, row) for held_stage in held_stages for row in held_stage.cells)
    facts = {
        "name": run,
        "compared": sum(held_stage.compared for held_stage in held_stages),
        "outputs": sum(held_stage.outputs for held_stage in held_stages),
    }
    listing = Listing("reference_diff", text, "diff") if text else None
    return Report(
        "batch", "reference", findings, Table(tuple(map(Column, COLUMNS)), tuple(rows)), listing=listing, facts=facts
    )


def _make_finding(held_stage: Held) -> Finding:
    status = Status.OK if held_stage.key == "same" else Status.FAIL
    sentence_args: dict[str, Scalar] = {"stage": Sentence(f"name.{held_stage.stage}"), **held_stage.args}
    return Finding(
        "RUN430", status, f"RUN430.{held_stage.key}", sentence_args, Place(f"{held_stage.stage}/notebook.ipynb")
    )


def _describe_cell(stage: str, row: Mapping[str, object]) -> str:
    return f"{stage}/notebook.ipynb [{row['cell']}]\n{row['diff'] or row['said']}"


def _save_report(report: Report, folder: Path, lang: str) -> None:
    storage = open_storage(str(folder))
    storage.write_text("reference.json", report.to_json())
    storage.write_text("reference.html", report.html(lang))
