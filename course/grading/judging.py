"""Judges answers as plain data, in a child that runs no cell of the student's.

    python -m course.grading.judging PLAN

PLAN is JSON: notebook, student, folder and answers (task -> answer). A line for each task, as soon as it is told: JSON,
signed with the key that comes by standard input, so that what a judged script prints is no verdict.
"""

from __future__ import annotations

import ctypes
import hmac
import json
import os
import sys
import time
from pathlib import Path

from course.exercises.checking import judge_answer, status_of
from course.exercises.listing import tasks_of

MARK, KEY_BYTES = b"judged ", 32
PR_SET_DUMPABLE = 4
#: What a check says that could not judge: the machine may be the cause, not the answer.
BROKE = ("course.trouble.check", "course.run.reference", "device.absent")


def sign_verdict(verdict_data: dict[str, object], key: bytes) -> bytes:
    text = json.dumps(verdict_data).encode()
    return MARK + hmac.new(key, text, "sha256").hexdigest().encode() + b" " + text


def read_verdict(line: bytes, key: bytes) -> dict[str, object] | None:
    """Return what a line of the log says of a task; None for every line that the key has not signed."""
    mark, signature, text = line[: len(MARK)], *line[len(MARK) :].strip().partition(b" ")[::2]
    if mark != MARK or not hmac.compare_digest(signature, hmac.new(key, text, "sha256").hexdigest().encode()):
        return None
    content: dict[str, object] = json.loads(text)
    return content


def main() -> None:
    # closes this process to the judged script, which runs as the same user (prctl(2)): the key is in its memory.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path.cwd()]
    key = sys.stdin.buffer.read(KEY_BYTES)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for name, task in tasks_of(plan["notebook"]).items():
        if name not in plan["answers"]:
            continue
        began = time.monotonic()
        judged = judge_answer(task, plan["answers"][name], Path(plan["folder"]) / name, plan["student"])
        verdict_data = {
            "task": name,
            "status": status_of(judged),
            "right": len(judged.right),
            "missing": len(judged.missing),
            "seconds": round(time.monotonic() - began, 1),
            "broke": next((point for point in judged.missing if point["say"] in BROKE), None),
        }
        print("\n" + sign_verdict(verdict_data, key).decode(), flush=True)


if __name__ == "__main__":
    main()
