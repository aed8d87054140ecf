"""Generated traces whose device runs behind the host, on several streams, with collectives across the steps' edges."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

HOST, CANN, DEVICE = 1, 2, 3
STREAMS, COLLECTIVES = 2, 9


@dataclass
class Script:
    """What a script recorded; times in nanoseconds. `slow`: how much longer the device takes than the host on the mean;
    `synced`: after so many steps the host waits for the device."""

    seed: int
    npu: bool = False
    steps: int = 24
    slow: float = 1.3
    synced: int = 7
    apart: bool = True
    halves: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.now, self.number = 1_000_000, 0
        self.free = dict.fromkeys([*range(STREAMS), COLLECTIVES], 0)
        if self.npu:
            for pid, name in ((HOST, "Python"), (CANN, "CANN"), (DEVICE, "Ascend Hardware"), (4, "HCCL")):
                self.events.append({"ph": "M", "name": "process_name", "pid": pid, "ts": 0, "args": {"name": name}})
        self.add("main", "python_function", 900_000, 10**9)
        for step in range(self.steps):
            self.step(step)

    def add(self, name: str, cat: str, at: int, lasts: int, pid: int = HOST, tid: int = 1, **args: Any) -> None:
        times = {"ts": f"{at / 1000:.3f}", "dur": lasts / 1000}
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, **times, "args": args})

    def step(self, step: int) -> None:
        begin = self.now
        loading = self.random.randrange(50_000)
        self.add("enumerate(DataLoader)#_S.__next__", "user_annotation", self.now, loading)
        self.now += loading
        for at in range(self.random.randrange(5, 12)):
            self.operator(f"aten::op{at % 4}", self.random.randrange(STREAMS))
        if self.random.random() < 0.8:
            self.operator("c10d::allreduce_", COLLECTIVES)
        if step % self.synced == self.synced - 1:
            self.wait()
        self.add(f"ProfilerStep#{step + 3}", "user_annotation", begin, self.now - begin)
        self.now += self.random.randrange(1, 30_000) if self.apart else 0

    def wait(self) -> None:
        """The host waits until the device has done all it was given."""
        end = max(self.now + 2000, *self.free.values())
        self.add("aten::_local_scalar_dense", "cpu_op", self.now, end - self.now)
        where = {"pid": CANN, "tid": 2} if self.npu else {"tid": 1}
        self.add("cudaStreamSynchronize", "cuda_runtime", self.now + 100, end - self.now - 200, **where)
        self.now = end + 500

    def operator(self, name: str, stream: int) -> None:
        took = self.random.randrange(5000, 40_000)
        self.number += 1
        number = {"External id": self.number, "correlation": self.number, "connection_id": self.number}
        self.add(name, "cpu_op", self.now, took, **number, **{"Input Dims": [[4, self.random.randrange(3)]]})
        self.add(f"{name}_inner", "cpu_op", self.now + 1000, took // 2)
        launch = self.now + took // 3
        where = {"pid": CANN, "tid": 2} if self.npu else {"tid": 1}
        self.add("launch", "cuda_runtime", launch, 900, **where, **number)
        kernel = int(took * self.slow * self.random.uniform(0.5, 1.5))
        self.kernel(name, stream, launch + 2000, kernel, number)
        if self.npu:
            flow = {"cat": "async_npu", "name": "async_npu", "id": self.number}
            self.events.append({**flow, "ph": "s", "pid": HOST, "tid": 1, "ts": f"{launch / 1000:.3f}"})
        self.now += took + self.random.randrange(8000)

    def kernel(self, name: str, stream: int, earliest: int, lasts: int, number: dict[str, int]) -> None:
        """Collectives wait for all that was given to the device before; the streams do not wait for one another."""
        earliest = max([earliest, *(self.free.values() if stream == COLLECTIVES else [self.free[stream]])])
        self.free[stream] = earliest + lasts
        collective = stream == COLLECTIVES
        if self.npu:
            pid, tid = (4, 1) if collective else (DEVICE, stream)
            called = f"hcom_allReduce__719_{self.number}_1" if collective else f"{name}_kernel"
            self.add(called, "", earliest, lasts, pid, tid, **{"Task Type": "AI_CORE", "connection_id": self.number})
            flow = {"cat": "async_npu", "name": "async_npu", "id": self.number, "ph": "f", "bp": "e"}
            self.events.append({**flow, "pid": pid, "tid": tid, "ts": f"{earliest / 1000:.3f}"})
        else:
            called = "ncclDevKernel_AllReduce_Sum_f32(x)" if collective else f"{name}_kernel"
            self.add(called, "kernel", earliest, lasts, 0, 7, **number, device=0, stream=stream)

    def content(self) -> Any:
        """The file's content; with `halves` what it was in Python is told as beginnings and ends."""
        events = [half for one in self.events for half in self._told(one)]
        return events if self.npu else {"baseTimeNanoseconds": 10**12, "traceEvents": events}

    def _told(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if not self.halves or event.get("cat") != "python_function":
            yield event
            return
        end = float(event["ts"]) + event["dur"]
        begin = {name: value for name, value in event.items() if name != "dur"}
        yield {**begin, "ph": "B"}
        yield {"ph": "E", "pid": event["pid"], "tid": event["tid"], "ts": f"{end:.3f}"}
