"""msprof_*.json: lanes for the host's launches, the device's streams, the collectives and what overlaps.

A launch is joined to its task by a pair of HostToDevice events; torch_npu follows it from the operator that launched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .records import CORE, Profile, Task, group_number, microseconds
from .spans import Span, gaps, union, without

Event = dict[str, Any]
NO_MODEL = 4294967295
#: name, label, place in the order of lanes, as CANN numbers them
CANN = ("CANN", "CPU", 7)
HARDWARE = ("Ascend Hardware", "NPU", 13)
COLLECTIVES = ("Communication", "NPU", 15)
OVERLAP = ("Overlap Analysis", "NPU", 23)
OVERLAP_LANES = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def events(profile: Profile) -> list[Event]:
    """The whole timeline."""
    found: list[Event] = list(_host(profile))
    for device in profile.devices:
        tasks = [task for task in profile.tasks if task.device == device]
        if tasks:
            found += [*_hardware(profile, device, tasks), *_collectives(profile, device, tasks)]
            found += _overlap(profile, device, tasks)
    return found


def _pid(profile: Profile, process: tuple[str, str, int], device: int = 31) -> int:
    """As CANN makes them up: the process, the lane and the device in one number (31: the host)."""
    return profile.pid << 10 | process[2] << 5 | device


def _process(pid: int, process: tuple[str, str, int], device: int | None) -> list[Event]:
    name, label, order = process
    label = label if device is None else f"{label} {device}"
    about: list[tuple[str, Event]] = [("process_name", {"name": name}), ("process_labels", {"labels": label})]
    about.append(("process_sort_index", {"sort_index": order}))
    return [{"name": what, "pid": pid, "tid": 0, "args": args, "ph": "M"} for what, args in about]


def _thread(pid: int, tid: int, name: str) -> list[Event]:
    about = (("thread_name", {"name": name}), ("thread_sort_index", {"sort_index": tid}))
    return [{"name": what, "pid": pid, "tid": tid, "args": args, "ph": "M"} for what, args in about]


def _span(name: str, pid: int, tid: int, start_ns: int, end_ns: int, args: Event | None = None) -> Event:
    event: Event = {"name": name, "pid": pid, "tid": tid, "ts": microseconds(start_ns)}
    event["dur"] = (end_ns - start_ns) / 1000
    return {**event, **({"args": args} if args else {}), "ph": "X"}


def _flow(phase: str, task: Task, pid: int, tid: int, moment_ns: int) -> Event:
    number = str(task.number)
    flow = {"name": f"HostToDevice{number}", "ph": phase, "cat": "HostToDevice", "id": number, "pid": pid, "tid": tid}
    return {**flow, "ts": microseconds(moment_ns), **({"bp": "e"} if phase == "f" else {})}


def api_name(task: Task) -> tuple[str, str]:
    """(level, name) of a launch, as api_statistic.csv has them."""
    return {"kernel": "node", "copy": "acl", "collective": "hccl"}[task.kind], task.api


def _host(profile: Profile) -> Iterator[Event]:
    pid = _pid(profile, CANN)
    prefix = {"node": "Node@", "acl": "AscendCL@", "hccl": "Communication@"}
    yield from _process(pid, CANN, None)
    for thread in sorted({task.thread for task in profile.tasks}):
        yield from _thread(pid, thread, f"Thread {thread}")
    for task in profile.tasks:
        level, name = api_name(task)
        args = {"Thread Id": task.thread, "Mode": "launch", "level": level, "id": name, "item_id": task.name}
        args["connection_id"] = task.number
        yield _span(prefix[level] + name, pid, task.thread, task.called_ns, task.returned_ns, args)
        yield _flow("s", task, pid, task.thread, task.called_ns)


def _hardware(profile: Profile, device: int, tasks: list[Task]) -> Iterator[Event]:
    pid = _pid(profile, HARDWARE, device)
    yield from _process(pid, HARDWARE, device)
    for stream in sorted({task.stream for task in tasks if task.kind != "collective"}):
        yield from _thread(pid, stream, f"Stream {stream}")
    for task in tasks:
        if task.kind == "collective":
            continue
        args = {
            "Model Id": NO_MODEL,
            "Task Type": "MEMCPY_ASYNC" if task.kind == "copy" else CORE,
            "Physic Stream Id": task.stream,
            "Task Id": task.number,
            "Batch Id": 0,
            "Subtask Id": NO_MODEL,
            "connection_id": task.number,
        }
        yield _span(task.name, pid, task.stream, task.start_ns, task.end_ns, args)
        yield _flow("f", task, pid, task.stream, task.start_ns)


def _collectives(profile: Profile, device: int, tasks: list[Task]) -> Iterator[Event]:
    tasks = [task for task in tasks if task.kind == "collective"]
    if not tasks:
        return
    pid = _pid(profile, COLLECTIVES, device)
    yield from _process(pid, COLLECTIVES, device)
    groups = {name: 2 * at for at, name in enumerate(dict.fromkeys(task.more["group"] for task in tasks))}
    for name, lane in groups.items():
        yield from _thread(pid, lane, f"Group {str(group_number(name))} Communication")
        yield from _thread(pid, lane + 1, "Plane 0")
    for task in tasks:
        lane = groups[task.more["group"]]
        args = {"connection_id": task.number, "model id": NO_MODEL, "data_type": task.more["data_type"]}
        args.update(alg_type="SIMULATED", count=task.more["count"])
        yield _span(task.name, pid, lane, task.start_ns, task.end_ns, args)
        yield _flow("f", task, pid, lane, task.start_ns)
        for name, start_ns, end_ns, more in pieces(task):
            numbers = {"stream id": task.stream, "task id": task.number}
            yield _span(name, pid, lane + 1, start_ns, end_ns, {**numbers, **more})


def pieces(task: Task) -> list[tuple[str, int, int, Event]]:
    """(name, start, end, arguments) of what a collective consists of: waiting for the other ranks, then moving data."""
    rank = task.more["rank"]
    agreed_ns = min(max(task.more["agreed_ns"], task.start_ns), task.end_ns)
    found = []
    if agreed_ns > task.start_ns:
        args: Event = {"task type": "Notify_Wait", "src rank": rank, "dst rank": NO_MODEL, "transport type": "LOCAL"}
        found.append(("Notify_Wait", task.start_ns, agreed_ns, {**args, "size(Byte)": 0, "data type": "INVALID_TYPE"}))
    sent = sum(one["sent"] for one in task.more["traffic"])
    if task.more["traffic"]:
        args = {"task type": "Memcpy", "src rank": rank, "dst rank": NO_MODEL, "transport type": "SOCKET"}
        args.update({"size(Byte)": sent, "data type": task.more["data_type"]})
        found.append(("Memcpy", agreed_ns, task.end_ns, args))
    return found


def overlap(tasks: list[Task]) -> dict[str, list[Span]]:
    """The four lanes of "Overlap Analysis" for one device's tasks."""
    computing = union((task.start_ns, task.end_ns) for task in tasks if task.kind == "kernel")
    communication = union((task.start_ns, task.end_ns) for task in tasks if task.kind == "collective")
    free = gaps(union([*computing, *communication]))
    return dict(zip(OVERLAP_LANES, (computing, communication, without(communication, computing), free)))


def _overlap(profile: Profile, device: int, tasks: list[Task]) -> Iterator[Event]:
    pid = _pid(profile, OVERLAP, device)
    yield from _process(pid, OVERLAP, device)
    for lane, (name, spans) in enumerate(overlap(tasks).items()):
        yield from _thread(pid, lane, name)
        for start_ns, end_ns in spans:
            yield _span(name, pid, lane, start_ns, end_ns)
