"""A finding about time that a change could save: graded by its share of the step, with the bound in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.causes import callers
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.rules import BY_COUNTS

#: Variables that advice depends on: `profile` records them
ADVISED = (
    *("PYTORCH_NPU_ALLOC_CONF", "TASK_QUEUE_ENABLE", "MULTI_STREAM_MEMORY_REUSE", "HCCL_BUFFSIZE"),
    *("ASCEND_LAUNCH_BLOCKING", "ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_ENHANCE_ENABLE", "ACLNN_CACHE_LIMIT"),
    *("HOST_CACHE_CAPACITY", "PYTORCH_NO_NPU_MEMORY_CACHING", "CPU_AFFINITY_CONF"),
)
#: Of a bound: how much of it is waiting is not told
UNKNOWN = "advice.waiting_unknown"


def grade_saving(
    profile: Profile, code: str, share: float, *, good: str, bad: str, worth: float = 0.03, much: float = 0.10
) -> Finding:
    """Grade `share` (0 to 1) of the step that is lost: `good` below `worth`, a NOTE from there, a Look from `much` on.
    On a simulated NPU it stays a NOTE: what the CPU loses there says nothing about an NPU."""
    args: dict[str, Scalar] = {"share": to_percent(share), "gain_ms": profile.to_ms(share * profile.breakdown.step_ns)}
    status = Status.GOOD if share < worth else Status.NOTE if share < much else Status.LOOK
    if profile.simulated:
        status = min(status, Status.NOTE)
    return Finding(code, status, f"{code}.{bad if share >= worth else good}", args, weight=100 * share)


def advise_change(
    profile: Profile, key: str, share: float, source: str, /, *, worth: float = 0.005, **evidence: Scalar
) -> Finding:
    """Advise one change to make, `key` its sentence (`PRF360.change`): a NOTE where it can save at least `worth` of the
    step, else Good. `share` (0 to 1) is the most that it can save, `source` the address of the official page. On a
    simulated NPU a rule that judges by counts says how often, and not what it costs."""
    code = key.partition(".")[0]
    topic: Scalar = Sentence(f"{code}.topic")
    if judges_counts(profile, code):
        counted = {"topic": topic, "source": source, "count": evidence.get("calls", evidence.get("sets"))}
        key = "advice.counted" if share >= worth else "advice.not_counted"
        status = Status.NOTE if share >= worth else Status.GOOD
        return Finding(code, status, key, {**evidence, **counted, "gain_ms": None, "share": None})
    gain_ms = profile.to_ms(share * profile.breakdown.step_ns)
    args = {"share": round(100 * share, 2), "gain_ms": gain_ms, "topic": topic, "source": source, **evidence}
    if share < worth:
        return Finding(code, Status.GOOD, "advice.fine", args, weight=100 * share)
    waiting = evidence.get("waiting")
    if isinstance(waiting, dict) and waiting["say"] == UNKNOWN:  # its bound is no measure beside those of the others
        args["topic"] = Sentence("advice.with_waiting", topic=topic)
    return Finding(code, Status.NOTE, key, args, weight=100 * share)


def judges_counts(profile: Profile, code: str) -> bool:
    """Return whether this rule judges this profile by counts and structure: a simulated NPU's, whose kernels' times are
    the CPU's."""
    return profile.simulated and profile.conclusive and code in BY_COUNTS


def needs_device(profile: Profile, code: str) -> None:
    """Raise CannotCheck where there are no times of a real device, and the rule needs more than counts."""
    if not profile.device_times and not judges_counts(profile, code):
        raise CannotCheck("advice.no_device", topic=Sentence(f"{code}.topic"))


def needs_npu(profile: Profile, code: str) -> None:
    """Raise CannotCheck where it was no real NPU."""
    if profile.tier != "npu" or not profile.device_times:
        raise CannotCheck("advice.no_npu", topic=Sentence(f"{code}.topic"))


def idle_share(profile: Profile, *causes: str) -> float:
    """Return what part of the step the device rests for these causes, 0 to 1."""
    total = profile.breakdown.total_ns
    return sum(profile.idle[cause] for cause in causes) / total if total else 0.0


def sending_share(profile: Profile, *kinds: str) -> tuple[float, Scalar]:
    """Return what part of the step exposed collectives of these kinds (exposed.KINDS) send, 0 to 1, and in words what
    of their time is waiting for other ranks: that is not in the share, unless the profile does not tell it."""
    exposed, total = profile.exposed, profile.breakdown.total_ns
    untold, waiting = (sum(ns[kind] for kind in kinds) for ns in (exposed.untold_ns, exposed.waiting_ns))
    args = {"waiting_ms": profile.to_ms(waiting / len(profile.breakdown.steady))}
    waiting_words: Scalar = Sentence(UNKNOWN if untold else "advice.waiting_known", **args)
    return sum(exposed.transmission_ns[kind] for kind in kinds) / total, waiting_words


def share_computing_by(profile: Profile, types: Sequence[str], operators: Sequence[str]) -> tuple[float, float]:
    """Return (share of the step, kernels or calls a step) of the kernels of these types where a table names types, else
    of the operators of these names; a name may end in `*`. Never more than the step's computing."""
    steps, computing = len(profile.breakdown.steady), profile.breakdown.share_of("computing")
    table = profile.kernels
    if table is not None and table.has_columns("type"):
        of_types = table.is_type(*types)
        # the table holds the first step too: its shares are those of all steps
        a_step = int(of_types.sum()) / profile.trace.recorded_steps
        return computing * table.share_of(of_types), a_step
    begins = tuple(operator[:-1] for operator in operators if operator.endswith("*"))
    ops = [operator for operator in profile.operators if operator.kind == "compute"]
    matching_ops = [op for op in ops if op.name in operators or op.name.startswith(begins)]
    total = sum(operator.self_ns for operator in ops)
    share = sum(operator.self_ns for operator in matching_ops) / total if total else 0.0
    return computing * share, sum(operator.calls for operator in matching_ops) / steps


def share_launched_within(profile: Profile, operators: Sequence[str]) -> tuple[float, float]:
    """Return (share of the step, kernels a step) of the kernels that were launched within an operator of these names,
    however deep: on CUDA `aten::to` calls `aten::_to_copy`, and that `aten::copy_`, which launches. Never more than the
    step's computing; a kernel without a known launch goes by its own name."""
    trace, steady = profile.trace, {step.number for step in profile.breakdown.steady}
    wanted = trace.mask_of_names(operators.__contains__).astype(np.int32)
    hosts = np.flatnonzero(trace.where(("host_op",)))
    for thread in nest_by_lane(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts).values():
        thread.inherit_values(wanted, (True, False), hosts.astype(np.int32))
    kernels = np.flatnonzero(trace.where(("compute",)) & trace.in_steps(steady))
    by = trace.launched_by[kernels]
    launched = kernels[wanted[np.where(by >= 0, by, kernels)] > 0]
    total = int(trace.duration_ns[kernels].sum())
    share = int(trace.duration_ns[launched].sum()) / total if total else 0.0
    return profile.breakdown.share_of("computing") * share, launched.size / len(profile.breakdown.steady)


def read_environment(profile: Profile, name: str, code: str) -> str:
    """Return the value of an environment variable while the profile was taken, empty where it was not set. torch_npu's
    metadata tells it, or the record that `profile` left. Raises CannotCheck where neither does."""
    stated = profile.record.get("environment"), profile.metadata.get("ENV_VARIABLES")
    variables = {key: value for part in stated if isinstance(part, dict) for key, value in part.items()}
    if name not in variables:
        raise CannotCheck("advice.no_environment", topic=Sentence(f"{code}.topic"), name=name)
    return str(variables[name])


def find_caller(profile: Profile, row: int) -> str:
    """Return the line of the user's code that called this row's operator, `train.py(12): step`; empty where unknown."""
    return callers.find_caller(profile.trace, row)
