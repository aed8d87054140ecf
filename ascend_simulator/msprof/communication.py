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


def communication_facts(profile: Profile) -> Facts:
    """Return each collective's times (milliseconds) and bandwidths (megabytes of 10^6, gigabytes a second)."""
    return {key_of(task): _facts_of_collective(task) for task in profile.tasks_of("collective")}


def communication_matrix(profile: Profile) -> Facts:
    """Return for each collective and "own rank-other rank" what this rank sent there (what it got is in the sender's
    file).
    """
    traffic_by_collective = {}
    for task in profile.tasks_of("collective"):
        links = [link for link in task.more["traffic"] if link["sent"]]
        traffic_by_collective[key_of(task)] = {
            f"{task.more['rank']}-{link['peer']}": _facts_of_link(link) for link in links
        }
    return traffic_by_collective


def key_of(task: Task) -> str:
    return f"{task.name}@{group_number(task.more['group'])}"


def _facts_of_collective(task: Task) -> Facts:
    return {"Communication Time Info": _compute_times(task), "Communication Bandwidth Info": _compute_bandwidths(task)}


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
    nothing = {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0}
    bandwidths: Facts = {link: {**nothing, "Large Packet Ratio": 0, "Size Distribution": {}} for link in LINKS}
    links = [_facts_of_link(traffic) for traffic in task.more["traffic"] if traffic["sent"]]
    if links:
        size, time = (sum(traffic[name] for traffic in links) for name in ("Transit Size(MB)", "Transit Time(ms)"))
        sizes: dict[str, list[float]] = {}
        for traffic in links:
            counted = sizes.setdefault(str(traffic["Transit Size(MB)"]), [0, 0.0])
            counted[0] += 1
            counted[1] += traffic["Transit Time(ms)"]
        speed = {"Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": _compute_speed(size, time)}
        bandwidths[SOCKET] = {**speed, "Large Packet Ratio": 0, "Size Distribution": sizes}
    return bandwidths


def _facts_of_link(traffic: Facts) -> Facts:
    size, time = traffic["sent"] / 1e6, traffic["sent_ns"] / 1e6
    speed = {"Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": _compute_speed(size, time)}
    return {"Transport Type": SOCKET, **speed}


def _compute_speed(megabytes: float, milliseconds: float) -> float:
    return round(megabytes / milliseconds, 4) if milliseconds else 0
