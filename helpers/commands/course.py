"""The course's exercises: list them, put one back; for teachers: grade, see the solutions, make the students' zip.

`grade` runs each submission (a notebook, a folder or a zip with one) anew in a process of its own with limits of
time and memory, and never trusts what is stored in it: of its run only the answers are read, and this
installation's checker judges them in another process. A submission is judged by the questions of its file's name, or
of --names. What a hostile notebook can still do is in docs/teaching.md: grade where nothing can be lost.

Examples:
  ascend-workbook course list
  ascend-workbook course list --run-dir runs/notebook
  ascend-workbook course reset env
  ascend-workbook course reset all --notebook ~/05_exercises.ipynb
  ascend-workbook course reset capstone
  ascend-workbook course grade submissions/ --out grades.csv
  ascend-workbook course grade submissions/ --out grades.csv --points env=2 --timeout 600 --names names.csv
  ascend-workbook course grade submissions/ --user nobody --junit grades.xml
  ascend-workbook course grade capstones/ --notebook capstone --out capstones.csv --timeout 1800
  ascend-workbook course solve --out solved.ipynb
  ascend-workbook course solve capstone --out solved.ipynb --lang zh
  ascend-workbook course pack --out student.zip
"""

from __future__ import annotations

import argparse
import os
import pwd
from dataclasses import replace

from helpers.commands import add_outputs, progress_line
from helpers.course.registry import EXERCISES, NOTEBOOKS
from helpers.errors import WorkbookError
from helpers.report import Report

NAME = "course"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the exercises and the capstone, and how far they have come")
    back = actions.add_parser("reset", help="put an exercise back; what was there is kept under a number")
    marks = actions.add_parser("grade", help="run and judge every submission of a folder, into a CSV")
    solving = actions.add_parser("solve", help="the notebook with its solutions (not in a student's package)")
    pack = actions.add_parser("pack", help="the last commit as a zip without solutions and the teacher's pages")
    back.add_argument("exercise", metavar="EXERCISE", help="its id, as `course list` tells; all; or capstone")
    back.add_argument("--notebook", default="", metavar="FILE", help="the notebook (default: the project's exercises)")
    for action in (listing, back):
        action.add_argument("--run-dir", default="runs/notebook", metavar="DIR",
                            help="run_dir of the notebook (default: runs/notebook)")  # fmt: skip
    _configure_grade(marks)
    pack.add_argument("--out", default="student.zip", metavar="FILE", help="the zip (default: student.zip)")
    which = [*NOTEBOOKS]
    solving.add_argument("notebook", nargs="?", default=EXERCISES, choices=which,
                         help="which notebook (default: exercises)")  # fmt: skip
    marks.add_argument("--notebook", default=EXERCISES, choices=which,
                       help="which notebook was handed in (default: exercises)")  # fmt: skip
    solving.add_argument("--out", default="solved.ipynb", metavar="FILE", help="where it goes (default: solved.ipynb)")
    for action in (pack, solving):
        action.add_argument("--force", action="store_true", help="replace the file")
    for action in (listing, back, marks, solving, pack):
        add_outputs(action)


def _configure_grade(marks: argparse.ArgumentParser) -> None:
    marks.add_argument("submissions", metavar="FOLDER", help="notebooks, zips and folders, one for each student")
    marks.add_argument("--out", default="grades.csv", metavar="FILE", help="the table (default: grades.csv)")
    marks.add_argument("--points", action="append", default=[], metavar="TASK=N", help="a task's worth (default: 1)")
    marks.add_argument("--partly", type=float, default=0, metavar="SHARE",
                       help="what a task that is partly right gets of its points (default: 0)")  # fmt: skip
    marks.add_argument("--names", default="", metavar="FILE", help="a CSV of two columns: submission, student")
    marks.add_argument("--timeout", type=float, default=900, metavar="SECONDS",
                       help="the longest that a submission may run (default: 900)")  # fmt: skip
    marks.add_argument("--cell-timeout", type=float, default=180, metavar="SECONDS",
                       help="the longest that a cell may run (default: 180)")  # fmt: skip
    marks.add_argument("--memory-mib", type=float, default=6144, metavar="N",
                       help="the most memory of a submission (default: 6144)")  # fmt: skip
    marks.add_argument("--user", default="", metavar="NAME", help="run submissions as this Unix user (started as root)")
    marks.add_argument("--force", action="store_true", help="grade again what has not changed")


def run(args: argparse.Namespace) -> Report:
    """Does it and reports."""
    if args.action == "grade":
        return _grade(args)
    if args.action == "pack":
        from helpers.course.packing import pack

        return pack(args.out, force=args.force)
    if args.action == "solve":
        from helpers.course.solving import solved

        return solved(args.notebook, args.out, lang=args.lang, force=args.force)
    if args.action == "reset":
        from helpers.course.resetting import reset

        return reset(args.exercise, args.notebook, run_dir=args.run_dir, lang=args.lang)
    from helpers.course.listing import exercises

    return exercises(args.run_dir)


def _grade(args: argparse.Namespace) -> Report:
    from helpers.course.grading import grade
    from helpers.course.grading.limits import Limits

    limits = Limits(args.timeout, args.memory_mib)
    if args.user:
        user = _user(args.user)
        limits = replace(limits, user=user.pw_uid, group=user.pw_gid)
    if not 0 <= args.partly <= 1:
        raise WorkbookError("grading.partly", given=args.partly)
    worth = dict(_worth(each) for each in args.points)
    return grade(args.submissions, args.out, notebook=args.notebook, worth=worth, partly=args.partly, names=args.names,
                 limits=limits, force=args.force, cell_timeout_s=args.cell_timeout, lang=args.lang,
                 tell=progress_line)  # fmt: skip


def _user(name: str) -> pwd.struct_passwd:
    if os.geteuid() != 0:
        raise WorkbookError("grading.not_root", user=name)
    try:
        return pwd.getpwnam(name)
    except KeyError as error:
        raise WorkbookError("grading.no_user", user=name) from error


def _worth(given: str) -> tuple[str, float]:
    task, _, number = given.partition("=")
    try:
        value = float(number)
    except ValueError as error:
        raise WorkbookError("grading.worth", given=given) from error
    if not 0 <= value < 1e6:
        raise WorkbookError("grading.worth", given=given)
    return task, value
