"""Each good run of a plan against its references, once it has ended; `bless` makes them first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.batch.campaign.ended import DIFFERS, GOOD, HELD, Ended
from helpers.batch.plan.model import Item, Plan
from helpers.batch.reference import compare
from helpers.batch.reference.books import places
from helpers.batch.reference.compare import Held
from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.report import Column, Listing, Report, Table
from helpers.storage import open_storage
from helpers.words import Scalar, language, say

COLUMNS = ("stage", "status", "compared_outputs", "reference_outputs", "differing_cells")


@dataclass(frozen=True)
class Reference:
    """`folder` has LANG/RUN/STAGE.ipynb, and sanitize.cfg where a plan has rules of its own; `bless` makes them."""

    folder: Path
    bless: bool = False

    @classmethod
    def of(cls, folder: str, bless: bool) -> Reference | None:
        """As a command line gives it. Raises WorkbookError before anything runs."""
        if bless and not folder:
            raise WorkbookError("plan.bless_alone")
        if folder and not bless and not Path(folder).is_dir():
            raise WorkbookError("plan.no_reference", path=folder)
        return cls(Path(folder).resolve(), bless) if folder else None


def held(
    runs: Iterable[Ended], plan: Plan, root: Path, reference: Reference | None, say_progress: Callable[[str], None]
) -> Iterator[Ended]:
    """The runs as they end, those that are good held against their references."""
    items = {item.name: item for item in plan.items}
    for one in runs:
        if reference is None or one.state != GOOD:
            yield one
        else:
            one = _held(one, items[one.name], root / one.name, reference)
            said = one.verdict if one.state == DIFFERS else one.notes[-1]
            say_progress(say("run.said", language(), name=one.name, said=said))
            yield one


def _held(ended: Ended, item: Item, folder: Path, reference: Reference) -> Ended:
    notes = list(ended.notes)
    words = places(folder)
    below = reference.folder / item.lang / item.name
    pairs = {stage: (folder / stage / "notebook.ipynb", below / f"{stage}.ipynb") for stage in item.stages}
    try:
        compare.bless(pairs.values() if reference.bless else (), words)
    except WorkbookError as error:
        return replace(ended, state=DIFFERS, status="FAIL", verdict={"say": error.key, "args": error.arguments})
    report = report_of(compare.stages(pairs, reference.folder / "sanitize.cfg", words), item.name)
    _save(report, folder, item.lang)
    if report.status is Status.FAIL and report.headline:
        said: Scalar = {"say": report.headline.key, "args": report.headline.args}
        return replace(ended, state=DIFFERS, status="FAIL", verdict=said)
    counts = {"compared": report.facts["compared"], "outputs": report.facts["outputs"]}
    notes += [{"say": "plan.blessed"}] if reference.bless else []
    return replace(ended, notes=(*notes, {"say": HELD, "args": counts}))


def report_of(found: list[Held], run: str) -> Report:
    """A row per stage; what differs below it, as nbval's comparison and as lines."""
    rows = [({"say": f"name.{one.stage}"}, "OK" if one.key == "same" else "FAIL", one.compared, one.outputs,
             [row["cell"] for row in one.cells]) for one in found]  # fmt: skip
    findings = tuple(_finding(one) for one in found)
    text = "\n".join(_told(one.stage, row) for one in found for row in one.cells)
    facts = {"name": run, "compared": sum(one.compared for one in found), "outputs": sum(one.outputs for one in found)}
    listing = Listing("reference_diff", text, "diff") if text else None
    return Report("batch", "reference", findings, Table(tuple(map(Column, COLUMNS)), tuple(rows)), listing=listing,
                  facts=facts)  # fmt: skip


def _finding(one: Held) -> Finding:
    status = Status.OK if one.key == "same" else Status.FAIL
    said: dict[str, Scalar] = {"stage": {"say": f"name.{one.stage}"}, **one.args}
    return Finding("RUN430", status, f"RUN430.{one.key}", said, Place(f"{one.stage}/notebook.ipynb"))


def _told(stage: str, row: Mapping[str, object]) -> str:
    return f"{stage}/notebook.ipynb [{row['cell']}]\n{row['diff'] or row['said']}"


def _save(report: Report, folder: Path, lang: str) -> None:
    storage = open_storage(str(folder))
    storage.write_text("reference.json", report.to_json())
    storage.write_text("reference.html", report.html(lang))
