"""Second stage: the places that a person must change, until `scan` has none left and both sides train alike."""

from __future__ import annotations

from pathlib import Path

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.migration.dry_run import dry_run
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.stage import join
from course.capstone.environment import headline_of
from course.editing import SCRIPTS, apply_edits
from course.running import npu_tier
from course.task import Found, Place, Task

SCRIPT = "spectra.py"
ARGUMENTS = ("--seed", "0")
STEPS = 4
#: Classes of a scan that a person has to decide.
OPEN = ("manual", "unsupported")


def check(answer: object, place: Place) -> Found:
    original = (SCRIPTS / SCRIPT).read_text(encoding="utf-8")
    text, trouble = apply_edits(answer, original)
    if trouble:
        return Found(missing=(trouble,))
    script = place.folder / SCRIPT
    script.write_text(text, encoding="utf-8")
    scanned = scan(script)
    left = {finding.place.line for finding in scanned.findings if finding.place and finding.args.get("class") in OPEN}
    if left:
        return Found(missing=(Sentence("course.capstone.open", lines=sorted(left)),))
    clean = Sentence("course.capstone.clean", count=sum(scanned.facts["counts"].values()))
    changed = rewrite(script, place.folder / "migrated")
    ran = dry_run(script, ARGUMENTS, npu_tier(), STEPS, out=place.folder / "dry_run")
    join(scanned, changed, ran).save(place.folder)
    return Found.of_points([(True, clean), (ran.status < Status.WARN, headline_of(ran))], ran.simulated)


def script_of(folder: Path) -> Path | None:
    """Return the script as this stage left it, from the folder of another stage; None where it has not been done."""
    path = folder.parent / TASK.id / SCRIPT
    return path if path.is_file() else None


TASK = Task("capstone_migration", "migration", check)
