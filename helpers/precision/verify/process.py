"""A side in a process of its own: on another device, or in another environment, than the other one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers import device as devices
from helpers.errors import WorkbookError
from helpers.launch.child import simulator
from helpers.precision.tensors.metrics import Array
from helpers.precision.verify.local import about
from helpers.precision.verify.taken import Reader, Taken
from helpers.settings.child import settings as settings_reader

CHILD = Path(__file__).resolve().parents[1] / "child" / "verify_child.py"
#: Seconds that making the model, or one input, may take.
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Order:
    """What a side is: `factory` and `inputs` are `path.py:function`, `checkpoint` a file or "", `device` a tier, auto
    or baseline; `settings` are environment variables of its process. `double` makes it the float64 reference."""

    name: str
    factory: str
    inputs: str
    checkpoint: str = ""
    device: str = "auto"
    mode: str = ""
    seed: int = 0
    double: bool = False
    settings: tuple[tuple[str, str], ...] = ()


class ProcessSide:
    """Its tensors come through a file per input below `folder`; what it prints is in `<name>.log` there."""

    def __init__(self, order: Order, folder: Path, python: str = sys.executable) -> None:
        find = devices.baseline if order.device == "baseline" else partial(devices.find, order.device)
        found = find(python=python)
        if found.tier != "npu-simulated" and order.settings:
            raise WorkbookError("precision.fault_needs_simulator", tier=found.tier)
        self.order, self.folder, self.tier = order, folder, found.tier
        self.files: dict[int, Path] = {}
        self.log = folder / f"{order.name}.log"
        self._start(found.accelerator, python)

    def _start(self, accelerator: str, python: str) -> None:
        own = self.folder / self.order.name
        own.mkdir()
        order = self.order
        job = {"factory": order.factory, "checkpoint": order.checkpoint, "inputs": order.inputs, "device": accelerator,
               "mode": order.mode, "seed": order.seed, "double": order.double, "folder": str(own),
               "recorder": str(CHILD.with_name("recorder.py")), "settings": settings_reader.__file__,
               "simulator": simulator.__file__}  # fmt: skip
        (own / "job.json").write_text(json.dumps(job), encoding="utf-8")
        environment = {**devices.child_environment(self.tier, os.environ), **dict(order.settings)}
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(
                [python, str(CHILD), str(own / "job.json")], env=environment, stderr=sink, text=True, encoding="utf-8",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip

    def ready(self) -> None:
        """Waits until the model is made. Raises WorkbookError where it cannot be."""
        told = self._read()
        if "error" in told:
            self.process.wait()
            raise WorkbookError("verify.cannot_start", side={"say": f"verify.side_{self.order.name}"},
                                factory=self.order.factory, error=told["error"])  # fmt: skip
        self.about = about(self.order.name, told, self.tier, told["formats"], told["count"])

    def begin(self, index: int) -> None:
        self._write({"index": index})

    def end(self, index: int) -> Taken | None:
        answer = self._read()
        if "end" in answer:
            return None
        self.files[index] = Path(answer["file"])
        return Reader(_Arrays(self.files[index])).read(answer)

    def forget(self, index: int) -> None:
        if index in self.files:
            self.files.pop(index).unlink()

    def close(self) -> Mapping[str, Any]:
        """Ends the process. Raises WorkbookError where a fault that was asked for never struck."""
        self._write({"close": True})
        told: dict[str, Any] = self._read()["simulator"]
        self.process.wait(TIMEOUT_S)
        missed = [line for line in self._lines() if "NPU simulator: the fault" in line and "never struck" in line]
        if missed:
            raise WorkbookError("precision.fault_never_struck", message=missed[0].partition(": ")[2])
        return told if self.tier == "npu-simulated" else {}

    def kill(self) -> None:
        """Ends it whatever it does."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # it is gone: what was left to say to it is not needed
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def _write(self, asked: dict[str, Any]) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as cause:
            raise self._died() from cause

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout
        stopper = threading.Timer(TIMEOUT_S, self.process.kill)
        stopper.start()
        line = self.process.stdout.readline()
        stopper.cancel()
        if not line.endswith("\n"):
            raise self._died()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _died(self) -> WorkbookError:
        code = self.process.wait()
        last = next((line for line in reversed(self._lines()) if line.strip()), "-")
        return WorkbookError("verify.died", side={"say": f"verify.side_{self.order.name}"}, code=code, error=last[:400])

    def _lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()


class _Arrays:
    """Arrays of a side's file; those that begin at one place are one."""

    def __init__(self, path: Path) -> None:
        self.path, self.found = path, dict[int, Array]()

    def __call__(self, entry: Mapping[str, Any]) -> Array:
        size = int(np.prod(entry["shape"], dtype=np.int64))
        if entry["at"] not in self.found:
            self.found[entry["at"]] = (
                np.memmap(self.path, entry["stored"], "r", entry["at"], (size,))
                if size
                else np.empty(0, entry["stored"])
            )
        return self.found[entry["at"]]
