"""A side in a process of its own: on another device, or in another environment, than the other one."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch.child import simulator
from ascend_workbook.machine.launch.enclosed import choose_enclosure
from ascend_workbook.machine.sandbox import Account, enclose
from ascend_workbook.machine.settings.child import settings as settings_reader
from ascend_workbook.precision.tensors.metrics import Array
from ascend_workbook.precision.verify.sides import About, Taken, read_answer

CHILD = Path(__file__).resolve().parents[1] / "child" / "verify_child.py"
#: Seconds that making the model, or one input, may take.
TIMEOUT_S = 1800.0
#: Seconds until a process that is asked to end is made to.
GRACE_S = 5.0


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

    def __init__(
        self, order: Order, folder: Path, network: bool, stack: ExitStack, python: str = sys.executable
    ) -> None:
        find = devices.find_baseline if order.device == "baseline" else partial(devices.find, order.device)
        chosen = find(python=python)
        if chosen.tier != "npu-simulated" and order.settings:
            raise WorkbookError("precision.fault_needs_simulator", tier=chosen.tier)
        self.order, self.folder, self.tier = order, folder, chosen.tier
        self.files: dict[int, Path] = {}
        self.log = folder / f"{order.name}.log"
        own = folder / order.name
        own.mkdir()
        job = {
            **asdict(order),
            "device": chosen.accelerator,
            "folder": str(own),
            "recorder": str(CHILD.with_name("recorder.py")),
            "settings": settings_reader.__file__,
            "simulator": simulator.__file__,
        }
        (own / "job.json").write_text(json.dumps(job), encoding="utf-8")
        environment = {**devices.child_environment(self.tier, os.environ), **dict(order.settings)}
        enclosure = replace(choose_enclosure(chosen, network=network, python=python), writable=(own,))
        command = [python, str(CHILD), str(own / "job.json")]
        self.enclosed = stack.enter_context(enclose(command, enclosure, Path.cwd()))
        self.guard = self.enclosed.guard
        self.account: Account | None = None
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(
                self.enclosed.command,
                env=environment,
                stderr=sink,
                text=True,
                encoding="utf-8",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        stack.callback(self.kill_process)

    def wait_ready(self) -> None:
        """Wait until the model is made. Raises WorkbookError where it cannot be."""
        answer = self._receive_message()
        if "error" in answer:
            self.process.wait()
            side = Sentence(f"verify.side_{self.order.name}")
            raise WorkbookError("verify.cannot_start", side=side, factory=self.order.factory, error=answer["error"])
        self.about = About(self.order.name, self.tier, **answer)

    def begin_input(self, index: int) -> None:
        self._send_message({"index": index})

    def finish_input(self, index: int) -> Taken | None:
        answer = self._receive_message()
        if "end" in answer:
            return None
        self.files[index] = Path(answer["file"])
        return read_answer(answer, _Arrays(self.files[index]))

    def forget_input(self, index: int) -> None:
        if index in self.files:
            self.files.pop(index).unlink()

    def close(self) -> Mapping[str, object]:
        """Ends the process. Raises WorkbookError where a fault that was asked for never struck."""
        self._send_message({"close": True})
        simulator: dict[str, object] = self._receive_message()["simulator"]
        self.process.wait(TIMEOUT_S)
        self.account = self.enclosed.read_account()
        for line in self._read_log_lines():
            if "NPU simulator: the fault" in line and "never struck" in line:
                raise WorkbookError("precision.fault_never_struck", message=line.partition(": ")[2])
        return simulator if self.tier == "npu-simulated" else {}

    def kill_process(self) -> None:
        """End the process whatever it does."""
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):  # it is gone: what was left to say to it is not needed
                if stream:
                    stream.close()
        self.process.terminate()  # of an enclosure: it ends all that was started, and removes its layers
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        self.process.kill()
        self.process.wait()

    def _send_message(self, message: dict[str, object]) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as cause:
            raise self._child_error() from cause

    def _receive_message(self) -> dict[str, Any]:
        assert self.process.stdout
        stopper = threading.Timer(TIMEOUT_S, self.process.kill)
        stopper.start()
        line = self.process.stdout.readline()
        stopper.cancel()
        if not line.endswith("\n"):
            raise self._child_error()
        answer: dict[str, object] = json.loads(line)
        return answer

    def _child_error(self) -> WorkbookError:
        code = self.process.wait()
        last = next((line for line in reversed(self._read_log_lines()) if line.strip()), "-")
        return WorkbookError(
            "verify.died", side=Sentence(f"verify.side_{self.order.name}"), code=code, error=last[:400]
        )

    def _read_log_lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()


class _Arrays:
    """Arrays of a side's file; those that begin at one place are one."""

    def __init__(self, path: Path) -> None:
        self.path, self.arrays = path, dict[int, Array]()

    def __call__(self, entry: Mapping[str, Any]) -> Array:
        at, kind, size = entry["at"], entry["stored"], math.prod(entry["shape"])
        if at not in self.arrays:
            self.arrays[at] = np.memmap(self.path, kind, "r", at, (size,)) if size else np.empty(0, kind)
        return self.arrays[at]
