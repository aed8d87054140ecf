"""The power of this machine's accelerators, asked of nvidia-smi or npu-smi beside a run."""

from __future__ import annotations

import contextlib
import shutil
import threading
from statistics import mean
from types import TracebackType

from helpers import bounded, npu_smi
from helpers.device import Device
from helpers.errors import reason
from helpers.words import Scalar

EVERY_S, TIMEOUT_S = 1.0, 10.0
NVIDIA = ("nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits")


class Power:
    """Samples while its block runs. `watts`: the mean of all cards together, or None, and then `why`."""

    def __init__(self, found: Device) -> None:
        self.why: Scalar = _absent(found)
        self._npu = found.accelerator == "npu"
        self._seen: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    @property
    def watts(self) -> float | None:
        return mean(self._seen) if self._seen else None

    def __enter__(self) -> Power:
        if not self.why:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with contextlib.suppress(RuntimeError):  # never started
            self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(EVERY_S):
            try:
                done = bounded.run(("npu-smi", "info") if self._npu else NVIDIA, timeout_s=TIMEOUT_S)
            except OSError as error:
                self.why = {"say": "benchmark.power.broken", "args": {"error": reason(error)}}
                return
            seen = watts_npu(done.stdout) if self._npu else watts_nvidia(done.stdout)
            if seen is None:
                self.why = {"say": "benchmark.power.broken", "args": {"error": done.last_error}}
                return
            self._seen.append(seen)


def watts_nvidia(text: str) -> float | None:
    """The sum of the cards; None where one does not tell (`[N/A]`)."""
    try:
        cards = [float(line) for line in text.split()]
    except ValueError:
        return None
    return sum(cards) if cards else None


def watts_npu(text: str) -> float | None:
    """The sum of the NPUs (of one with two chips the first may tell for both); None where one tells nothing, and of
    the simulated npu-smi."""
    told = npu_smi.parse(text)
    telling = [chip for chip in told.chips if chip.power_w is not None]
    whole = {chip.npu for chip in telling} == {chip.npu for chip in told.chips}
    return sum(chip.power_w or 0.0 for chip in telling) if telling and whole and not told.simulated else None


def _absent(found: Device) -> Scalar:
    if found.simulated:
        return {"say": "benchmark.power.simulated", "args": {}}
    if found.tier == "cpu":
        return {"say": "benchmark.power.cpu", "args": {}}
    tool = "npu-smi" if found.accelerator == "npu" else "nvidia-smi"
    return None if shutil.which(tool) else {"say": "benchmark.power.no_tool", "args": {"tool": tool}}
