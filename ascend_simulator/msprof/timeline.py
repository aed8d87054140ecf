"""msprof_*.json: lanes for the host's launches, the device's streams, the collectives and what overlaps.

A launch is joined to its task by a pair of HostToDevice events; torch_npu follows it from the operator that launched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .records import CORE, Profile, Task, format_microseconds, group_number

Span = tuple[int, int]


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the spans joined where they touch, in order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def subtract_spans(spans: list[Span], holes: list[Span]) -> list[Span]:
    """Return what of `spans` no hole covers; both are unions."""
    left: list[Span] = []
    at = 0
    for start, end in spans:
        while at < len(holes) and holes[at][1] <= start:
            at += 1
        inside = at
        while inside < len(holes) and holes[inside][0] < end:
            low, high = holes[inside]
            if low > start:
                left.append((start, low))
            start = max(start, high)
            inside += 1
        if start < end:
            left.append((start, end))
    return left


Event = dict[str, Any]
NO_MODEL = 4294967295
#: name, label, place in the order of lanes, as CANN numbers them
CANN = ("CANN", "CPU", 7)
HARDWARE = ("Ascend Hardware", "NPU", 13)
COLLECTIVES = ("Communication", "NPU", 15)
OVERLAP = ("Overlap Analysis", "NPU", 23)
OVERLAP_LANES = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def make_events(profile: Profile) -> list[Event]:
    """Return the whole timeline."""
    events: list[Event] = list(_host_events(profile))
    for device in profile.devices:
        tasks = [task for task in profile.tasks if task.device == device]
        if tasks:
            events += [*_hardware_events(profile, device, tasks), *_collective_events(profile, device, tasks)]
            pid = _make_pid(profile, OVERLAP, device)
            events += _process_events(pid, OVERLAP, device)
            for lane, (name, spans) in enumerate(compute_overlap(tasks).items()):
                events += _thread_events(pid, lane, name)
                events += [_span_event(name, pid, lane, start_ns, end_ns) for start_ns, end_ns in spans]
    return events


def _make_pid(profile: Profile, process: tuple[str, str, int], device: int = 31) -> int:
    """Return the process number as CANN makes it up of the process, the lane and the device (31: the host)."""
    return profile.pid << 10 | process[2] << 5 | device


def _process_events(pid: int, process: tuple[str, str, int], device: int | None) -> list[Event]:
    name, label, order = process
    label = label if device is None else f"{label} {device}"
    about: list[tuple[str, Event]] = [("process_name", {"name": name}), ("process_labels", {"labels": label})]
    about.append(("process_sort_index", {"sort_index": order}))
    return [{"name": what, "pid": pid, "tid": 0, "args": args, "ph": "M"} for what, args in about]


def _thread_events(pid: int, tid: int, name: str) -> list[Event]:
    about = (("thread_name", {"name": name}), ("thread_sort_index", {"sort_index": tid}))
    return [{"name": what, "pid": pid, "tid": tid, "args": args, "ph": "M"} for what, args in about]


def _span_event(name: str, pid: int, tid: int, start_ns: int, end_ns: int, args: Event | None = None) -> Event:
    event: Event = {"name": name, "pid": pid, "tid": tid, "ts": format_microseconds(start_ns)}
    event["dur"] = (end_ns - start_ns) / 1000
    return {**event, **({"args": args} if args else {}), "ph": "X"}


def _flow_event(phase: str, task: Task, pid: int, tid: int, moment_ns: int) -> Event:
    number = str(task.number)
    flow = {"name": f"HostToDevice{number}", "ph": phase, "cat": "HostToDevice", "id": number, "pid": pid, "tid": tid}
    return {**flow, "ts": format_microseconds(moment_ns), **({"bp": "e"} if phase == "f" else {})}


def api_name(task: Task) -> tuple[str, str]:
    """Return (level, name) of a launch, as api_statistic.csv has them."""
    return {"kernel": "node", "copy": "acl", "collective": "hccl"}[task.kind], task.api


def _host_events(profile: Profile) -> Iterator[Event]:
    pid = _make_pid(profile, CANN)
    prefix = {"node": "Node@", "acl": "AscendCL@", "hccl": "Communication@"}
    yield from _process_events(pid, CANN, None)
    for thread in sorted({task.thread for task in profile.tasks}):
        yield from _thread_events(pid, thread, f"Thread {thread}")
    for task in profile.tasks:
        level, name = api_name(task)
        args = {"Thread Id": task.thread, "Mode": "launch", "level": level, "id": name, "item_id": task.name}
        args["connection_id"] = task.number
        yield _span_event(prefix[level] + name, pid, task.thread, task.called_ns, task.returned_ns, args)
        yield _flow_event("s", task, pid, task.thread, task.called_ns)


def _hardware_events(profile: Profile, device: int, tasks: list[Task]) -> Iterator[Event]:
    pid = _make_pid(profile, HARDWARE, device)
    yield from _process_events(pid, HARDWARE, device)
    for stream in sorted({task.stream for task in tasks if task.kind != "collective"}):
        yield from _thread_events(pid, stream, f"Stream {stream}")
    for task in tasks:
        if task.kind == "collective":
            continue
        args = {"Model Id": NO_MODEL, "Task Type": "MEMCPY_ASYNC" if task.kind == "copy" else CORE}
        args.update({"Physic Stream Id": task.stream, "Task Id": task.number, "Batch Id": 0, "Subtask Id": NO_MODEL})
        args["connection_id"] = task.number
        yield _span_event(task.name, pid, task.stream, task.start_ns, task.end_ns, args)
        yield _flow_event("f", task, pid, task.stream, task.start_ns)


def _collective_events(profile: Profile, device: int, tasks: list[Task]) -> Iterator[Event]:
    tasks = [task for task in tasks if task.kind == "collective"]
    if not tasks:
        return
    pid = _make_pid(profile, COLLECTIVES, device)
    yield from _process_events(pid, COLLECTIVES, device)
    groups = {name: 2 * at for at, name in enumerate(dict.fromkeys(task.more["group"] for task in tasks))}
    for name, lane in groups.items():
        yield from _thread_events(pid, lane, f"Group {str(group_number(name))} Communication")
        yield from _thread_events(pid, lane + 1, "Plane 0")
    for task in tasks:
        lane = groups[task.more["group"]]
        args = {"connection_id": task.number, "model id": NO_MODEL, "data_type": task.more["data_type"]}
        args.update(alg_type="SIMULATED", count=task.more["count"])
        yield _span_event(task.name, pid, lane, task.start_ns, task.end_ns, args)
        yield _flow_event("f", task, pid, lane, task.start_ns)
        for name, start_ns, end_ns, more in split_collective(task):
            numbers = {"stream id": task.stream, "task id": task.number}
            yield _span_event(name, pid, lane + 1, start_ns, end_ns, {**numbers, **more})


def split_collective(task: Task) -> list[tuple[str, int, int, Event]]:
    """Return (name, start, end, arguments) of a collective's parts: waiting for the other ranks, then moving data."""
    rank = task.more["rank"]
    agreed_ns = min(max(task.more["agreed_ns"], task.start_ns), task.end_ns)
    pieces = []
    if agreed_ns > task.start_ns:
        args: Event = {"task type": "Notify_Wait", "src rank": rank, "dst rank": NO_MODEL, "transport type": "LOCAL"}
        pieces.append(("Notify_Wait", task.start_ns, agreed_ns, {**args, "size(Byte)": 0, "data type": "INVALID_TYPE"}))
    sent = sum(traffic["sent"] for traffic in task.more["traffic"])
    if task.more["traffic"]:
        args = {"task type": "Memcpy", "src rank": rank, "dst rank": NO_MODEL, "transport type": "SOCKET"}
        args.update({"size(Byte)": sent, "data type": task.more["data_type"]})
        pieces.append(("Memcpy", agreed_ns, task.end_ns, args))
    return pieces


def compute_overlap(tasks: list[Task]) -> dict[str, list[Span]]:
    """Return the four lanes of "Overlap Analysis" for one device's tasks."""
    computing = join_spans((task.start_ns, task.end_ns) for task in tasks if task.kind == "kernel")
    communication = join_spans((task.start_ns, task.end_ns) for task in tasks if task.kind == "collective")
    busy = join_spans([*computing, *communication])
    free = [(end, start) for (_, end), (start, _) in zip(busy, busy[1:])]
    return dict(zip(OVERLAP_LANES, (computing, communication, subtract_spans(communication, computing), free)))
