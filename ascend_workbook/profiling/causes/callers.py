"""Which line of the script called an operator."""

from __future__ import annotations

import numpy as np

from ascend_workbook.profiling.causes.marks import is_own_frame
from ascend_workbook.profiling.trace import Trace


def find_caller(trace: Trace, row: int) -> str:
    """Return the line of the user's code that called this row's operator, `train.py(12): step`; empty where unknown."""
    frames = [frame for frame in trace.stacks[trace.stack[row]].splitlines() if frame.strip()]
    if not frames and trace.count_events("python"):
        around = (trace.start_ns <= trace.start_ns[row]) & (trace.start_ns + trace.duration_ns > trace.start_ns[row])
        rows = np.flatnonzero(around & trace.where(("python",)) & (trace.lane == trace.lane[row]))
        frames = [trace.names[trace.name[at]] for at in rows[np.argsort(-trace.start_ns[rows], kind="stable")].tolist()]
    return next(filter(is_own_frame, frames), frames[0] if frames else "")
