"""What a process is given at its start: variables, a kernel's environment, ranks left over."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import Args, require_fact, shorten_path
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Sentence

GROUP = "process"
BASIS = {"ENV066": "observed"}
TASK_QUEUE_NAME = "TASK_QUEUE_ENABLE"
LIBRARY_PATH_NAME = "LD_LIBRARY_PATH"
NAMES = ("RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE")


def check_task_queue(machine: Machine) -> Iterator[Finding]:
    """ENV060: TASK_QUEUE_ENABLE. In interactive Python torch_npu overwrites it with 0, and children inherit that.

    torch_npu/utils/_module.py and optional_features.py; profiles started from a notebook then show another launch mode
    than the script's. Children of ours get the variable as it was at the start.

    Source: https://github.com/vllm-project/vllm-ascend/issues/2210
    """
    now, before = machine.environ.get(TASK_QUEUE_NAME), require_fact(machine.started).get(TASK_QUEUE_NAME)
    args: Args = {"now": now, "before": before}
    if now != before:
        yield Finding("ENV060", Status.NOTE, "ENV060.overwritten", args)
    elif now is not None and now not in ("0", "1", "2"):
        yield Finding("ENV060", Status.LOOK, "ENV060.unknown", args)
    elif now == "0" and machine.needs_npu:
        yield Finding("ENV060", Status.LOOK, "ENV060.off", args)
    else:
        yield Finding("ENV060", Status.GOOD, "ENV060.unset" if now is None else "ENV060.ok", args)


def check_library_path(machine: Machine) -> Iterator[Finding]:
    """ENV061: LD_LIBRARY_PATH changed after the start has no effect on this process: the loader read it once.

    `os.environ["LD_LIBRARY_PATH"] = …` or `%env` in a notebook reaches children only. A kernel needs it in its
    kernel.json, as an absolute value.

    Source: https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md
    """
    late = machine.environ.get(LIBRARY_PATH_NAME) != require_fact(machine.started).get(LIBRARY_PATH_NAME)
    if late:
        where = Sentence("ENV061.kernel" if machine.python.interactive else "ENV061.script")
        yield Finding("ENV061", Status.LOOK, "ENV061.late", {"where": where})
    else:
        yield Finding("ENV061", Status.GOOD, "ENV061.ok", {})


def check_rank_table(machine: Machine) -> Iterator[Finding]:
    """ENV062: rank variables left over from a platform. HCCL believes RANK_TABLE_FILE and fails where it does not fit.

    ModelArts sets RANK_TABLE_FILE, RANK_ID and RANK_SIZE in notebooks too.
    Source: https://support.huaweicloud.com (ModelArts, distributed training).
    """
    left = [name for name in NAMES if machine.environ.get(name)]
    if left and "RANK" not in machine.environ:
        status = Status.LOOK if machine.needs_npu else Status.NOTE
        yield Finding("ENV062", status, "ENV062.left", {"names": left, "unset": " ".join(left)})


def check_kernelspecs(machine: Machine) -> Iterator[Finding]:
    """ENV066: Jupyter's kernels: kernel.json's env is not a shell's, `${LD_LIBRARY_PATH}` may stay as it is written.

    Jupyter fills in a variable only where its own environment has it; absolute values are safe. A kernel whose Python
    is gone does not start.
    """
    real = machine.real_cann
    good = 0
    for spec in machine.kernelspecs:
        args: Args = {"name": spec.name, "path": shorten_path(spec.path), "python": spec.python}
        args["names"] = list(spec.literal)
        if not spec.python_here:
            yield Finding("ENV066", Status.LOOK, "ENV066.gone", args)
        elif spec.literal:
            yield Finding("ENV066", Status.LOOK, "ENV066.literal", args)
        else:
            good += 1
    if good and good == len(machine.kernelspecs):
        without = machine.needs_npu and real is not None and not any(spec.cann for spec in machine.kernelspecs)
        count: Args = {"count": good, "script": real.script if real else ""}
        yield Finding("ENV066", *((Status.NOTE, "ENV066.without") if without else (Status.GOOD, "ENV066.ok")), count)


RULES = {
    "ENV060": check_task_queue,
    "ENV061": check_library_path,
    "ENV062": check_rank_table,
    "ENV066": check_kernelspecs,
}
