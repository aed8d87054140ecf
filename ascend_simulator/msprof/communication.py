"""communication.json and communication_matrix.json: what each collective took, waited for and moved, by peer.

The ranks of the simulator are processes of one host joined by sockets, which CANN has no name for: the bandwidth stands
under SOCKET, and CANN's own kinds of link, which readers expect, are there and empty.
"""

from __future__ import annotations

from typing import Any

from .records import Profile, Task, group_number
from .timeline import split_collective

Facts = dict[str, Any]
LINKS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
SOCKET = "SOCKET"
SPEED = ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)")


def communication_facts(profile: Profile) -> Facts:
    """Return each collective's times (milliseconds) and bandwidths (megabytes of 10^6, gigabytes a second)."""
    return {
        key_of(task): {
            "Communication Time Info": _compute_times(task),
            "Communication Bandwidth Info": _compute_bandwidths(task),
        }
        for task in profile.tasks_of("collective")
    }


def communication_matrix_facts(profile: Profile) -> Facts:
    """Return for each collective, by "own rank-other rank", what this rank sent (what it got: the sender's file)."""
    return {
        key_of(task): {
            f"{task.more['rank']}-{link['peer']}": _facts_of_link(link) for link in task.more["traffic"] if link["sent"]
        }
        for task in profile.tasks_of("collective")
    }


def key_of(task: Task) -> str:
    return f"{task.name}@{group_number(task.more['group'])}"


def _compute_times(task: Task) -> Facts:
    parts = {name: (end_ns - start_ns) / 1e6 for name, start_ns, end_ns, _ in split_collective(task)}
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


def _compute_bandwidths(task: Task) -> Facts:
    nothing = dict.fromkeys(SPEED, 0)
    bandwidths: Facts = {link: {**nothing, "Large Packet Ratio": 0, "Size Distribution": {}} for link in LINKS}
    links = [_facts_of_link(traffic) for traffic in task.more["traffic"] if traffic["sent"]]
    if links:
        size, time = (sum(traffic[name] for traffic in links) for name in SPEED[:2])
        sizes: dict[str, list[float]] = {}
        for traffic in links:
            counted = sizes.setdefault(str(traffic["Transit Size(MB)"]), [0, 0.0])
            counted[0] += 1
            counted[1] += traffic["Transit Time(ms)"]
        bandwidths[SOCKET] = {**_compute_speed(size, time), "Large Packet Ratio": 0, "Size Distribution": sizes}
    return bandwidths


def _facts_of_link(traffic: Facts) -> Facts:
    return {"Transport Type": SOCKET, **_compute_speed(traffic["sent"] / 1e6, traffic["sent_ns"] / 1e6)}


def _compute_speed(megabytes: float, milliseconds: float) -> Facts:
    speed = round(megabytes / milliseconds, 4) if milliseconds else 0
    return dict(zip(SPEED, (megabytes, milliseconds, speed)))
