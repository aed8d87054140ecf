"""P2. A step that waits for its host: change the training so that the device is the limit.

Judged by a rehearsal of the arguments: what launching all kernels takes at most is held against what the device needs
at least for running them, and it has to fit the card.
"""

from __future__ import annotations

import math

from ascend_workbook.estimates.launches import estimate_launches
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from course.exercises.rehearsing import (
    Values,
    judge_fit,
    list_words,
    read_arguments,
    rehearse_script,
    table_of,
)
from course.exercises.task import PLANNING, Found, Place, Point, Task

ORDER = 8
#: The training as it is given.
ARGUMENTS = ("--size", "tiny", "--batch-size", "8")
#: Small models: wider and deeper ones are for more than one card.
OPTIONS: Values = {
    "--size": ("tiny", "0.6b", "1b"),
    "--layers": None,
    "--seq-length": None,
    "--batch-size": None,
    "--gradient-accumulation-steps": None,
    "--dtype": ("bfloat16", "float32"),
    "--recompute": (),
    "--parallel": ("none",),
}
#: What the tokens of a step are the product of, with the script's own values.
TOKENS_ARE = {"--batch-size": 1, "--seq-length": 128, "--gradient-accumulation-steps": 1}
#: More tokens fit no card; the host would draw them before anything runs.
MOST_TOKENS = 1 << 23
#: More layers than these take longer to rehearse than a check may.
MOST_LAYERS = 64


def check(answer: object, place: Place) -> Found:
    options = read_arguments(answer, OPTIONS)
    tokens = math.prod(int(options.get(name, least)) for name, least in TOKENS_ARE.items())
    if tokens > MOST_TOKENS:
        raise WorkbookError("course.launches.tokens", tokens=tokens, most=MOST_TOKENS)
    layers = int(options.get("--layers", 1))
    if layers > MOST_LAYERS:
        raise WorkbookError("course.launches.layers", layers=layers, most=MOST_LAYERS)
    report = rehearse_script(list_words(options), place.folder / "rehearsal")
    return _make_found(judge_fit(report), _judge_limit(report))


def _make_found(fits: Point, limit: Point | None) -> Found:
    """Return what is right, which counts only where the device is the limit: that it fits is so from the start."""
    judged = Found.of_points([fits, *([limit] if limit else [])], simulated=True)
    return judged if limit and limit[0] else Found(missing=judged.missing, simulated=True)


def _judge_limit(report: Report) -> Point | None:
    """Judge whether the slowest host keeps up with the fastest device; None where no step came to its end."""
    table, compute = table_of(report, "estimated_kernels"), report.facts["compute_us"]
    if table is None or compute is None:
        return None
    kernels = sum(int(str(row[1])) for row in table.rows)
    launches = estimate_launches(kernels)
    args: dict[str, Scalar] = {
        "kernels": kernels,
        "host_low": f"{launches.low / 1e3:.3g}",
        "host_high": f"{launches.high / 1e3:.3g}",
        "low": f"{compute[0] / 1e3:.3g}",
        "high": f"{compute[2] / 1e3:.3g}",
    }
    if launches.high < compute[0]:
        return True, Sentence("course.launches.device", **args)
    key = "course.launches.host" if launches.low > compute[2] else "course.launches.unsure"
    return False, Sentence(key, **args)


TASK = Task("launches", "planning", check, needs=("npu-simulated",), seconds=120, notebook=PLANNING)
