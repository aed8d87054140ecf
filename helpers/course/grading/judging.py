"""Judges answers as plain data, in a child that runs no cell of the student's.

    python -m helpers.course.grading.judging PLAN

PLAN is JSON: notebook, student, folder and answers (task -> answer). A line of JSON for each task, as soon as it is
told.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from helpers.course.checking import judge, status_of
from helpers.course.registry import tasks_of

MARK = "judged "


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for name, task in tasks_of(plan["notebook"]).items():
        if name not in plan["answers"]:
            continue
        began = time.monotonic()
        found = judge(task, plan["answers"][name], Path(plan["folder"]) / name, plan["student"])
        told = {"task": name, "status": status_of(found), "right": len(found.right), "missing": len(found.missing),
                "seconds": round(time.monotonic() - began, 1)}  # fmt: skip
        print(f"\n{MARK}{json.dumps(told)}", flush=True)


if __name__ == "__main__":
    main()
