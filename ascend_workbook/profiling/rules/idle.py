"""Why the device rests: the host launches too slowly, builds kernels, collects garbage, or waits for the device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling import savings
from ascend_workbook.profiling.breakdown import gaps_begun_in
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.savings import advise_change, find_caller, grade_saving, idle_share, needs_device

BASIS = {"PRF314": "reasoned", "PRF321": "reasoned"}
IDLE_CAUSE_WORTH = 0.10
MANY, SHORT_KERNELS_WORTH = 0.5, 0.05
#: Of the step, waited for launches: from here it is told though the kernels are long enough
LATE = 0.10
#: What only a training has among its names
TRAINS = re.compile("Optimizer[.]step|Backward0|evaluate_function|run_backward|ApplyAdam|ApplyMomentum")
TUNING_GUIDE = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
COMPILING_SOURCE = "https://gitcode.com/Ascend/pytorch"
TASK_QUEUE_SOURCE = "https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_019.html"
GARBAGE_SOURCE = "https://docs.python.org/3/library/gc.html"


def check_idle(profile: Profile) -> Iterator[Finding]:
    """Is the device, or on a CPU the operators, at rest for much of the step? Free time in which nothing loads data and
    nothing is copied: the host does not launch work fast enough, or does something else.
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"""
    if not profile.conclusive:
        raise CannotCheck("PRF311.blind")
    where = "simulated" if profile.simulated else "device" if profile.device_times else "host"
    yield grade_saving(
        profile, "PRF311", profile.breakdown.share_of("free"), good="busy", bad=where, worth=0.10, much=0.25
    )


def check_idle_cause(profile: Profile) -> Iterator[Finding]:
    """Why does the device rest? The largest cause of its idle time; each piece of it has exactly one. What the causes
    mean is said in the table (profiling.idle_means). Their bounds are parts of PRF311's and PRF313's."""
    if not profile.trace.on_device:
        raise CannotCheck("PRF321.no_device")
    if len(profile.trace.devices) > 1:
        raise CannotCheck("PRF321.devices", count=len(profile.trace.devices))
    causes = profile.idle
    idle, total = sum(causes.values()), profile.breakdown.total_ns
    if not idle:
        yield Finding("PRF321", Status.GOOD, "PRF321.none")
        return
    if causes["unexplained"] == idle:
        raise CannotCheck("PRF321.no_launches", share=round(100 * idle / total, 1))
    cause = max(causes, key=lambda name: causes[name])
    args: dict[str, Scalar] = {
        "share": round(100 * idle / total, 1),
        "cause": Sentence(f"profiling.idle.{cause}"),
        "cause_share": round(100 * causes[cause] / idle, 1),
        "gain_ms": profile.to_ms(causes[cause] / total * profile.breakdown.step_ns),
    }
    status = Status.NOTE if causes[cause] >= IDLE_CAUSE_WORTH * total else Status.GOOD
    yield Finding("PRF321", status, f"PRF321.{cause}", args, weight=100 * causes[cause] / total)


def check_short_kernels(profile: Profile) -> Iterator[Finding]:
    """Are many kernels shorter than it takes to launch one? Then the host sets the pace. Kernels of one launch (a CUDA
    graph's) cost the host one: they count as one. https://www.hiascend.com/document (PyTorch training tuning, "host
    bound")"""
    if not profile.device_times:
        raise CannotCheck("PRF322.no_device")
    if len(profile.trace.devices) > 1:
        raise CannotCheck("PRF322.devices", count=len(profile.trace.devices))
    launches = profile.launches
    if not launches.kernels:
        raise CannotCheck("PRF322.no_kernels")
    if 2 * profile.idle["unexplained"] > sum(profile.idle.values()) or not launches.known:
        raise CannotCheck("PRF322.no_launches", known=launches.known, of=launches.of)
    lost = profile.idle["host"] / profile.breakdown.total_ns
    many = launches.short / launches.launched
    a_step = round(launches.kernels / len(profile.breakdown.steady))
    args: dict[str, Scalar] = {"short": to_percent(many), "kernels": a_step}
    args |= {"share": to_percent(lost), "gain_ms": profile.to_ms(lost * profile.breakdown.step_ns)}
    slow = many >= MANY and lost >= SHORT_KERNELS_WORTH
    key = "PRF322.many" if slow else "PRF322.late" if lost >= LATE else "PRF322.few"
    yield Finding("PRF322", Status.GOOD if key == "PRF322.few" else Status.NOTE, key, args, weight=100 * lost)
    if launches.launched < launches.kernels:
        shared_args = {"kernels": a_step, "launches": round(launches.launched / len(profile.breakdown.steady))}
        yield Finding("PRF322", Status.GOOD, "PRF322.shared", dict(shared_args))


def check_batch_size(profile: Profile) -> Iterator[Finding]:
    """Is each step too little work for the device? A larger batch gives every launch more of it. Only where a training
    rests in many short gaps that are alike: what a single long one waits for does not shrink with the batch."""
    needs_device(profile, "PRF345")
    if not any(map(TRAINS.search, profile.trace.names)):
        raise CannotCheck("PRF345.no_training")
    launches = profile.launches
    mean_us = launches.kernel_ns / max(1, launches.kernels) / 1000
    share = sum(cause.share for cause in profile.causes if (cause.kind, cause.confidence) == ("tiny_kernels", "sure"))
    yield advise_change(
        profile, "PRF345.change", share, TUNING_GUIDE, worth=0.10, kernels=launches.kernels, mean_us=round(mean_us, 1)
    )


def check_compiling(profile: Profile) -> Iterator[Finding]:
    """Does the host build kernels inside the steps? Each new shape builds one again where kernels are built at run
    time."""
    needs_device(profile, "PRF391")
    if not profile.trace.count_events("runtime"):
        raise CannotCheck("advice.no_host", topic=Sentence("PRF391.topic"))
    yield advise_change(profile, "PRF391.change", idle_share(profile, "compiling"), COMPILING_SOURCE)


def check_task_queue(profile: Profile) -> Iterator[Finding]:
    """Does the host hand out work too slowly while the queue between its two threads is off or at its lower level? The
    timeline shows Enqueue and Dequeue where the queue is on; its level is told by the environment alone."""
    savings.needs_npu(profile, "PRF392")
    names = profile.trace.names
    if not profile.trace.count_events("host_op", "runtime"):
        raise CannotCheck("advice.no_host", topic=Sentence("PRF392.topic"))
    share = idle_share(profile, "host")
    if not any(name.startswith(("Enqueue", "Dequeue")) for name in names):
        yield advise_change(profile, "PRF392.off", share, TASK_QUEUE_SOURCE, worth=0.05)
    elif savings.read_environment(profile, "TASK_QUEUE_ENABLE", "PRF392") in ("", "1"):
        yield advise_change(profile, "PRF392.change", share, TASK_QUEUE_SOURCE, worth=0.05)
    else:
        yield advise_change(profile, "PRF392.change", 0.0, TASK_QUEUE_SOURCE)


def check_garbage(profile: Profile) -> Iterator[Finding]:
    """Does Python collect garbage inside the steps while the device rests? torch_npu records collections with
    gc_detect_threshold; elsewhere a Python stack that holds gc.collect tells them."""
    trace = profile.trace
    if not profile.conclusive:
        raise CannotCheck("advice.no_device", topic=Sentence("PRF393.topic"))
    collected = trace.mask_of_names(lambda name: name == "GC" or "gc.collect" in name or "gc collect" in name)
    if not collected.any() and not trace.count_events("python"):
        raise CannotCheck("PRF393.unseen")
    collecting = trace.intervals_of(collected)
    steady = profile.breakdown.steady
    if profile.device_times:
        lost = profile.gaps.common_ns(collecting)
    else:  # the host's own time, which is the same with an NPU
        lost = sum(collecting.clip_to(step.start_ns, step.end_ns).length_ns for step in steady)
    share = lost / sum(step.total_ns for step in steady)
    yield advise_change(profile, "PRF393.change", share, GARBAGE_SOURCE, calls=int(collecting.start_ns.size))


#: `.item()`, `float(loss)`, `if tensor:` end in it
READ = "aten::_local_scalar_dense"
#: So many reads of a step are looked up: a search each
MOST = 50
#: `train.py(12): step` as the profilers write a line
FRAME = re.compile(r"^(.+?)\((\d+)\).*$")
#: On a simulated NPU so many of them a step are told of
MANY_READS = 6
READS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::masked_select")


def check_synchronisation(profile: Profile) -> Iterator[Finding]:
    """Does the host wait for the device, and does the device then run dry? `loss.item()`, `.cpu()` and `synchronize()`
    make the host wait until the device has nothing left to do; what counts is the device's idle time that begins while
    the host waits. Without times of a real device the lines that read values are told, for on an NPU each of them
    waits; what they cost there is not known."""
    if not profile.device_times and (read := _find_reads(profile)):
        yield read
        return
    if profile.tier == "cpu":
        yield Finding("PRF314", Status.GOOD, "PRF314.cpu")
        return
    if not profile.device_times:
        raise CannotCheck("PRF314.no_device")
    if not profile.trace.count_events("host_op", "runtime"):
        raise CannotCheck("PRF314.no_host")
    steady = profile.breakdown.steady
    lost = gaps_begun_in(profile.gaps, profile.waiting)
    yield grade_saving(profile, "PRF314", lost / sum(step.total_ns for step in steady), good="harmless", bad="dry")


def _find_reads(profile: Profile) -> Finding | None:
    """Find the lines of the script that read values, those of one steady step looked at; None where none does, or where
    host operators are no script's work. What a loader reads, and an optimizer of its counters, which lie on the host,
    waits for no device."""
    trace, steady = profile.trace, profile.breakdown.steady
    if not profile.conclusive:
        return None
    looked_at = trace.in_steps({step.number for step in steady})
    rows = np.flatnonzero(trace.mask_of_names(READ.__eq__) & trace.where(("host_op",)) & looked_at)
    rows = rows[~_is_of_the_host(profile, rows)]
    if not rows.size:
        return None
    lines = Counter(find_caller(profile, row) for row in rows[trace.step[rows] == trace.step[rows[0]]][:MOST].tolist())
    where: list[Scalar] = [FRAME.sub(r"\1:\2", line) for line, _ in lines.most_common(3) if line]
    args: dict[str, Scalar] = {"calls": round(rows.size / len(steady), 1)}
    if not where:
        return Finding("PRF314", Status.NOTE, "PRF314.read_somewhere", args)
    return Finding("PRF314", Status.NOTE, "PRF314.read", {**args, "where": where})


def _is_of_the_host(profile: Profile, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return which of these reads are a loader's, or an optimizer's of its counters: on the host."""
    trace = profile.trace
    optimizers = trace.mask_of_names(lambda name: name.startswith("Optimizer.step#"))
    hosts = trace.where(("loading",)) | (trace.where(("annotation",)) & optimizers)
    return trace.intervals_of(hosts).cover_moments(trace.start_ns[rows])


def check_values_read(profile: Profile) -> Iterator[Finding]:
    """Does the step read values back from the device? Each read waits until the device has nothing left to do.
    `.item()`, `.cpu()`, `float(loss)`, `if tensor:`, boolean indexing and `nonzero()` do it. `isfinite()` alone stays
    on the device: what reads its answer counts. https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"""
    needs_device(profile, "PRF390")
    trace = profile.trace
    if not trace.count_events("host_op"):
        raise CannotCheck("advice.no_host", topic=Sentence("PRF390.topic"))
    wanted = [at for at, name in enumerate(trace.names) if name in READS]
    rows = np.flatnonzero(trace.mask_of_names(READS.__contains__) & trace.where(("host_op",)) & (trace.step >= 0))
    if profile.simulated:  # with no waiting to be seen, each counts
        rows = rows[~_is_of_the_host(profile, rows)]
    calls_of_name = {trace.names[at]: int((trace.name[rows] == at).sum()) for at in wanted}
    most = max(calls_of_name, key=lambda name: calls_of_name[name], default="") if rows.size else ""
    first = rows[trace.name[rows] == trace.names.index(most)][:1] if most else []
    where = find_caller(profile, int(first[0])) if len(first) else ""
    calls = round(rows.size / len(trace.steps), 1)
    share = idle_share(profile, "synchronisation") if rows.size else 0.0
    if profile.simulated:  # what a read costs depends on what the device has left to do: each is one too many
        share = float(calls >= MANY_READS)
    yield advise_change(
        profile, "PRF390.change", share, TUNING_GUIDE, calls=calls, operator=most or None, where=where or None
    )


RULES = {
    "PRF311": check_idle,
    "PRF314": check_synchronisation,
    "PRF321": check_idle_cause,
    "PRF322": check_short_kernels,
    "PRF345": check_batch_size,
    "PRF390": check_values_read,
    "PRF391": check_compiling,
    "PRF392": check_task_queue,
    "PRF393": check_garbage,
}
