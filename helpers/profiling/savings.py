"""A finding about time that a change could save: graded by its share of the step, with the bound in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.profiling.attribution import nestings
from helpers.profiling.facts import Profile
from helpers.rules import CannotCheck
from helpers.words import Scalar

#: Written by torch_npu beside its output; the profiler itself chooses which variables it keeps
METADATA = "profiler_metadata.json"
#: Variables that advice depends on: `profile` records them
ADVISED = ("PYTORCH_NPU_ALLOC_CONF", "TASK_QUEUE_ENABLE", "MULTI_STREAM_MEMORY_REUSE", "HCCL_BUFFSIZE")
#: Of a bound: how much of it is waiting is not told
UNKNOWN = "advice.waiting_unknown"


def saving(
    profile: Profile, code: str, share: float, *, good: str, bad: str, worth: float = 0.03, much: float = 0.10
) -> Finding:
    """`share` (0 to 1) of the step is lost: `good` below `worth`, a NOTE from there, a WARN from `much` on.

    On a simulated NPU it stays a NOTE: what the CPU loses there says nothing about an NPU.
    """
    args: dict[str, Scalar] = {"share": round(100 * share, 1), "gain_ms": profile.ms(share * profile.breakdown.step_ns)}
    status = Status.OK if share < worth else Status.NOTE if share < much else Status.WARN
    if profile.simulated:
        status = min(status, Status.NOTE)
    return Finding(code, status, f"{code}.{bad if share >= worth else good}", args, weight=100 * share)


def advice(
    profile: Profile, key: str, share: float, source: str, /, *, worth: float = 0.005, **evidence: Scalar
) -> Finding:
    """One change to make, `key` its sentence (`PRF360.change`): a NOTE where it can save at least `worth` of the step,
    else OK. `share` (0 to 1) is the most that it can save, `source` the address of the official page."""
    code = key.partition(".")[0]
    args: dict[str, Scalar] = {"share": round(100 * share, 2), "gain_ms": profile.ms(share * profile.breakdown.step_ns)}
    topic: Scalar = {"say": f"{code}.topic"}
    args |= {"topic": topic, "source": source, **evidence}
    if share < worth:
        return Finding(code, Status.OK, "advice.fine", args, weight=100 * share)
    waiting = evidence.get("waiting")
    if isinstance(waiting, dict) and waiting["say"] == UNKNOWN:  # its bound is no measure beside those of the others
        args["topic"] = {"say": "advice.with_waiting", "args": {"topic": topic}}
    return Finding(code, Status.NOTE, key, args, weight=100 * share)


def needs_device(profile: Profile, code: str) -> None:
    """Raises CannotCheck where there are no times of a real device."""
    if not profile.device_times:
        raise CannotCheck("advice.no_device", topic={"say": f"{code}.topic"})


def needs_npu(profile: Profile, code: str) -> None:
    """Raises CannotCheck where it was no real NPU."""
    if profile.tier != "npu" or not profile.device_times:
        raise CannotCheck("advice.no_npu", topic={"say": f"{code}.topic"})


def idle_share(profile: Profile, *causes: str) -> float:
    """What part of the step the device rests for these causes, 0 to 1."""
    total = sum(step.total_ns for step in profile.breakdown.steady)
    return sum(profile.idle[cause] for cause in causes) / total if total else 0.0


def sending_share(profile: Profile, *kinds: str) -> tuple[float, Scalar]:
    """What part of the step exposed collectives of these kinds (exposed.KINDS) send, 0 to 1, and in words what of
    their time is waiting for other ranks: that is not in the share, unless the profile does not tell it."""
    found, total = profile.exposed, sum(step.total_ns for step in profile.breakdown.steady)
    untold, waiting = (sum(ns[kind] for kind in kinds) for ns in (found.untold_ns, found.waiting_ns))
    args = {"waiting_ms": profile.ms(waiting / len(profile.breakdown.steady))}
    told: Scalar = {"say": UNKNOWN if untold else "advice.waiting_known", "args": args}
    return sum(found.transmission_ns[kind] for kind in kinds) / total, told


def computing_by(profile: Profile, types: Sequence[str], operators: Sequence[str]) -> tuple[float, float]:
    """(share of the step, kernels or calls a step) of the kernels of these types where a table names types, else of
    the operators of these names; a name may end in `*`. Never more than the step's computing."""
    steps, computing = len(profile.breakdown.steady), profile.breakdown.share("computing")
    table = profile.kernels
    if table is not None and table.has("type"):
        found = table.is_type(*types)
        # the table holds the first step too: its shares are those of all steps
        a_step = int(found.sum()) / profile.trace.recorded_steps
        return computing * table.ns(found) / max(1, table.ns()), a_step
    begins = tuple(one[:-1] for one in operators if one.endswith("*"))
    ops = [one for one in profile.operators if one.kind == "compute"]
    those = [one for one in ops if one.name in operators or (begins and one.name.startswith(begins))]
    total = sum(one.self_ns for one in ops)
    share = sum(one.self_ns for one in those) / total if total else 0.0
    return computing * share, sum(one.calls for one in those) / steps


def launched_within(profile: Profile, operators: Sequence[str]) -> tuple[float, float]:
    """(share of the step, kernels a step) of the kernels that were launched within an operator of these names, however
    deep: on CUDA `aten::to` calls `aten::_to_copy`, and that `aten::copy_`, which launches. Never more than the step's
    computing; a kernel without a known launch goes by its own name."""
    trace, steady = profile.trace, {step.number for step in profile.breakdown.steady}
    wanted = trace.named(operators.__contains__).astype(np.int32)
    hosts = np.flatnonzero(trace.where(("host_op",)))
    for one in nestings(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts).values():
        one.inherit(wanted, (True, False), hosts.astype(np.int32))
    kernels = np.flatnonzero(trace.where(("compute",)) & trace.in_steps(steady))
    by = trace.launched_by[kernels]
    found = kernels[wanted[np.where(by >= 0, by, kernels)] > 0]
    total = int(trace.duration_ns[kernels].sum())
    share = int(trace.duration_ns[found].sum()) / total if total else 0.0
    return profile.breakdown.share("computing") * share, found.size / len(profile.breakdown.steady)


def environment(profile: Profile, name: str, code: str) -> str:
    """The value of an environment variable while the profile was taken, empty where it was not set.

    torch_npu's metadata tells it, or the record that `profile` left. Raises CannotCheck where neither does.
    """
    told = {**_told(profile.record.get("environment")), **_told(_metadata(profile).get("ENV_VARIABLES"))}
    if name not in told:
        raise CannotCheck("advice.no_environment", topic={"say": f"{code}.topic"}, name=name)
    return str(told[name])


def _metadata(profile: Profile) -> dict[str, Any]:
    """What torch_npu tells beside its output of how it was recorded; empty where there is none."""
    path = profile.output.parent / METADATA if profile.output else None
    if path is None or not path.is_file():
        return {}
    try:
        return _told(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as cause:
        raise WorkbookError("profiling.unreadable", path=str(path), error=str(cause)) from cause


def _told(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else {}


def called_from(profile: Profile, row: int) -> str:
    """The line of the user's code that called the operator in this row, `train.py(12): step`; empty where unknown."""
    trace = profile.trace
    frames = [one for one in trace.stacks[trace.stack[row]].splitlines() if one.strip()]
    if not frames and profile.python_calls:
        around = (trace.start_ns <= trace.start_ns[row]) & (trace.start_ns + trace.duration_ns > trace.start_ns[row])
        rows = np.flatnonzero(around & trace.where(("python",)) & (trace.lane == trace.lane[row]))
        frames = [trace.names[trace.name[at]] for at in rows[np.argsort(-trace.start_ns[rows], kind="stable")].tolist()]
    mine = [one for one in frames if not any(part in one for part in ("-packages", "<built-in", "torch/", "nn.Module"))]
    return mine[0] if mine else frames[0] if frames else ""
