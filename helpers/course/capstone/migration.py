"""Second stage: the places that a person must change, until `scan` has none left and both sides train alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.course.editing import SCRIPTS, edited
from helpers.course.running import npu_tier
from helpers.course.task import Found, Place, Task, sentence
from helpers.finding import Status
from helpers.migration.dry_run import dry_run
from helpers.migration.rewrite import rewrite
from helpers.migration.scan import scan
from helpers.migration.stage import join

SCRIPT = "spectra.py"
ARGUMENTS = ("--seed", "0")
STEPS = 4
#: Classes of a scan that a person has to decide.
OPEN = ("manual", "unsupported")


def check(answer: Any, place: Place) -> Found:
    original = (SCRIPTS / SCRIPT).read_text(encoding="utf-8")
    text, trouble = edited(answer, original)
    if trouble:
        return Found(missing=(trouble,))
    script = place.folder / SCRIPT
    script.write_text(text, encoding="utf-8")
    found = scan(script)
    left = sorted({one.place.line for one in found.findings if one.place and one.args.get("class") in OPEN})
    if left:
        return Found(missing=(sentence("course.capstone.open", lines=list(left)),))
    clean = sentence("course.capstone.clean", count=sum(found.facts["counts"].values()))
    changed = rewrite(script, place.folder / "migrated")
    ran = dry_run(script, ARGUMENTS, npu_tier(), STEPS, out=place.folder / "dry_run")
    join(found, changed, ran).save(place.folder)
    assert ran.headline
    told = sentence(ran.headline.key, **ran.headline.args)
    good = ran.status < Status.WARN
    return Found((clean, told) if good else (clean,), () if good else (told,), ran.simulated)


def script_of(folder: Path) -> Path | None:
    """The script as this stage left it, from the folder of another stage; None where it has not been done."""
    path = folder.parent / TASK.id / SCRIPT
    return path if path.is_file() else None


TASK = Task("capstone_migration", "migration", check)
