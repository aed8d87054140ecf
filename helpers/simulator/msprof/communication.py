"""communication.json and communication_matrix.json: what each collective took, waited for and moved, by peer.

The ranks of the simulator are processes of one host joined by sockets, which CANN has no name for: the bandwidth stands
under SOCKET, and CANN's own kinds of link, which readers expect, are there and empty.
"""

from __future__ import annotations

from typing import Any

from .records import Profile, Task, group_number
from .timeline import pieces

Facts = dict[str, Any]
LINKS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
SOCKET = "SOCKET"


def communication(profile: Profile) -> Facts:
    """Collective -> its times (milliseconds) and bandwidths (megabytes of 10^6, gigabytes a second)."""
    return {key_of(task): _collective(task) for task in profile.of("collective")}


def matrix(profile: Profile) -> Facts:
    """Collective -> "own rank-other rank" -> what this rank sent there (what it got is in the sender's file)."""
    found = {}
    for task in profile.of("collective"):
        links = [one for one in task.more["traffic"] if one["sent"]]
        found[key_of(task)] = {f"{task.more['rank']}-{one['peer']}": _link(one) for one in links}
    return found


def key_of(task: Task) -> str:
    return f"{task.name}@{group_number(task.more['group'])}"


def _collective(task: Task) -> Facts:
    return {"Communication Time Info": _times(task), "Communication Bandwidth Info": _bandwidths(task)}


def _times(task: Task) -> Facts:
    parts = {name: (end_ns - start_ns) / 1e6 for name, start_ns, end_ns, _ in pieces(task)}
    wait, transit, elapse = parts.get("Notify_Wait", 0.0), parts.get("Memcpy", 0.0), task.duration_ns / 1e6
    ratio = round(wait / (wait + transit), 4) if wait + transit else 0
    return {
        "Start Timestamp(us)": task.start_ns / 1000,
        "Elapse Time(ms)": elapse,
        "Transit Time(ms)": transit,
        "Wait Time(ms)": wait,
        "Synchronization Time(ms)": wait,
        "Idle Time(ms)": max(0.0, elapse - wait - transit),
        "Wait Time Ratio": ratio,
        "Synchronization Time Ratio": ratio,
    }


def _bandwidths(task: Task) -> Facts:
    nothing = {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0}
    found: Facts = {link: {**nothing, "Large Packet Ratio": 0, "Size Distribution": {}} for link in LINKS}
    links = [_link(one) for one in task.more["traffic"] if one["sent"]]
    if links:
        size, time = (sum(one[name] for one in links) for name in ("Transit Size(MB)", "Transit Time(ms)"))
        sizes: dict[str, list[float]] = {}
        for one in links:
            counted = sizes.setdefault(str(one["Transit Size(MB)"]), [0, 0.0])
            counted[0] += 1
            counted[1] += one["Transit Time(ms)"]
        speed = {"Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": _speed(size, time)}
        found[SOCKET] = {**speed, "Large Packet Ratio": 0, "Size Distribution": sizes}
    return found


def _link(one: Facts) -> Facts:
    size, time = one["sent"] / 1e6, one["sent_ns"] / 1e6
    speed = {"Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": _speed(size, time)}
    return {"Transport Type": SOCKET, **speed}


def _speed(megabytes: float, milliseconds: float) -> float:
    return round(megabytes / milliseconds, 4) if milliseconds else 0
