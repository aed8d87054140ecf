"""What a benchmark's runs take beside time: the most memory of a process, and the power of the accelerators."""

from __future__ import annotations

import contextlib
import re
import resource
import shutil
import sys
import threading
from statistics import mean
from types import TracebackType

from ascend_workbook.findings.errors import explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, npu_smi
from ascend_workbook.machine.device import Device

#: torch.OutOfMemoryError, torch_npu's "NPU out of memory", the CPU allocator's words, CANN's 207001
MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|OutOfMemory|\b207001\b", re.IGNORECASE)
MIB = 1 << 20


class Peak:
    """From its making on, the most memory that this process takes, of the device and of the host. The host's peak
    cannot be reset: where it does not rise, no more is known than that it was no larger than before."""

    def __init__(self, accelerator: str) -> None:
        self._accelerator, self._before = accelerator, host_mib()
        if accelerator != "cpu":
            import torch

            getattr(torch, accelerator).reset_peak_memory_stats()

    def device_mib(self) -> float | None:
        """Return the most that torch allocated; None where there is no device."""
        if self._accelerator == "cpu":
            return None
        import torch

        return float(getattr(torch, self._accelerator).max_memory_allocated() / MIB)

    def host_mib(self) -> tuple[float | None, float | None]:
        """Return the host's peak where it rose, else None and the bound that it stayed below."""
        now = host_mib()
        return (now, None) if now > self._before else (None, now)


def host_mib() -> float:
    """Return the most that was resident of this process since it started."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB


EVERY_S, TIMEOUT_S = 1.0, 10.0
NVIDIA = ("nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits")


class Power:
    """Samples while its block runs. `watts`: the mean of all cards together, or None, and then `why`."""

    def __init__(self, device: Device) -> None:
        self.why: Scalar = _explain_absence(device)
        self._npu = device.accelerator == "npu"
        self._readings: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample_power, daemon=True)

    @property
    def watts(self) -> float | None:
        return mean(self._readings) if self._readings else None

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

    def _sample_power(self) -> None:
        """Read the power every second until the block has ended."""
        while not self._over.wait(EVERY_S):
            try:
                done = bounded.run_bounded(("npu-smi", "info") if self._npu else NVIDIA, timeout_s=TIMEOUT_S)
            except OSError as error:
                self.why = Sentence("benchmark.power.broken", error=explain_os_error(error))
                return
            watts = watts_npu(done.stdout) if self._npu else watts_nvidia(done.stdout)
            if watts is None:
                self.why = Sentence("benchmark.power.broken", error=done.last_error)
                return
            self._readings.append(watts)


def watts_nvidia(text: str) -> float | None:
    """Return the sum of the cards; None where one does not tell (`[N/A]`)."""
    try:
        cards = [float(line) for line in text.split()]
    except ValueError:
        return None
    return sum(cards) if cards else None


def watts_npu(text: str) -> float | None:
    """Return the sum of the NPUs (of one with two chips the first may tell for both); None where one tells nothing, and
    of the simulated npu-smi."""
    answer = npu_smi.parse_npu_smi(text)
    metered = [chip for chip in answer.chips if chip.power_w is not None]
    whole = {chip.npu for chip in metered} == {chip.npu for chip in answer.chips}
    return sum(chip.power_w or 0.0 for chip in metered) if metered and whole and not answer.simulated else None


def _explain_absence(device: Device) -> Scalar:
    """Say why the device's power cannot be read, None where it can."""
    if device.simulated:
        return Sentence("benchmark.power.simulated")
    if device.tier == "cpu":
        return Sentence("benchmark.power.cpu")
    tool = "npu-smi" if device.accelerator == "npu" else "nvidia-smi"
    return None if shutil.which(tool) else Sentence("benchmark.power.no_tool", tool=tool)
