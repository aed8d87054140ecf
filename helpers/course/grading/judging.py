"""Judges answers as plain data, in a child that runs no cell of the student's.

    python -m helpers.course.grading.judging PLAN

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
from typing import Any

from helpers.course.checking import judge, status_of
from helpers.course.registry import tasks_of

MARK, KEY_BYTES = b"judged ", 32
PR_SET_DUMPABLE = 4
#: What a check says that could not judge: the machine may be the cause, not the answer.
BROKE = ("course.trouble.check", "course.run.reference", "device.absent")


def signed(told: dict[str, Any], key: bytes) -> bytes:
    text = json.dumps(told).encode()
    return MARK + hmac.new(key, text, "sha256").hexdigest().encode() + b" " + text


def verdict(line: bytes, key: bytes) -> dict[str, Any] | None:
    """What a line of the log says of a task; None for every line that the key has not signed."""
    mark, signature, text = line[: len(MARK)], *line[len(MARK) :].strip().partition(b" ")[::2]
    if mark != MARK or not hmac.compare_digest(signature, hmac.new(key, text, "sha256").hexdigest().encode()):
        return None
    told: dict[str, Any] = json.loads(text)
    return told


def close_off() -> None:
    """A script that is judged runs as the same user: it reads no memory of this process (prctl(2)), which has the key,
    and what it writes into the folder that this one was started in is no module of it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    sys.path[:] = [each for each in sys.path if Path(each).resolve() != Path.cwd()]


def main() -> None:
    close_off()
    key = sys.stdin.buffer.read(KEY_BYTES)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for name, task in tasks_of(plan["notebook"]).items():
        if name not in plan["answers"]:
            continue
        began = time.monotonic()
        found = judge(task, plan["answers"][name], Path(plan["folder"]) / name, plan["student"])
        told = {"task": name, "status": status_of(found), "right": len(found.right), "missing": len(found.missing),
                "seconds": round(time.monotonic() - began, 1),
                "broke": next((one for one in found.missing if one["say"] in BROKE), None)}  # fmt: skip
        print("\n" + signed(told, key).decode(), flush=True)


if __name__ == "__main__":
    main()
