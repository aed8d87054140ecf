"""Started by file path in a child: adds and multiplies on every device of a kind, or copies to, from and on it.

Prints one line of JSON a measurement, so that what was measured before a crash is kept. The exact value is
computed in float64 on the CPU from the same rounded inputs; the error is relative to the sum of the magnitudes
of the terms (|a| + |b|, or |A| @ |B|), the measure in which rounding is bounded whatever the cancellation.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from torch import Tensor

    Case = tuple[tuple[Tensor, Tensor], Tensor, Tensor]

SECONDS = 0.15
DTYPES = ("float32", "float16", "bfloat16")
#: Between host and device; `pinned` is page-locked memory, which the device reads by itself.
COPIES = ("copy_to_device", "copy_to_host", "copy_to_device_pinned", "copy_to_host_pinned")
MIB = 1 << 20


def main(kind: str, part: str, *numbers: int) -> None:
    """Run one part on every device; `kind` is npu, cuda or cpu, `part` is compute (rows compared, rows timed) or
    transfers (MiB copied between host and device, MiB copied on the device).
    """
    import torch

    if kind == "npu":
        import torch_npu  # noqa: F401 - makes torch.npu
    torch.manual_seed(0)
    devices = [f"{kind}:{index}" for index in range(getattr(torch, kind).device_count())] if kind != "cpu" else ["cpu"]
    {"compute": run_compute, "transfers": run_transfers}[part](torch, devices, *numbers)
    print_row({"done": True})


def run_compute(torch: ModuleType, devices: list[str], size: int, timed_size: int) -> None:
    """Compare with exact values, on all devices the same; then take times, a device after the other."""
    for dtype in DTYPES:
        cases = exact_cases(torch, getattr(torch, dtype), size)
        for device in devices:
            for operation, case in cases.items():
                row = {"device": device, "operation": operation, "dtype": dtype}
                attempt_measurement(row, compare_with_exact, torch, operation, *case, device)
    for device in devices:
        for dtype in DTYPES:
            for operation in ("add", "matmul"):
                timed = {"device": device, "operation": operation, "dtype": dtype, "size": timed_size}
                attempt_measurement(timed, time_operation, torch, operation, device, getattr(torch, dtype), timed_size)


def run_transfers(torch: ModuleType, devices: list[str], host_mib: int, device_mib: int) -> None:
    for device in devices:
        if device != "cpu":  # free memory is asked of a device in use: torch_npu answers 107002 before
            getattr(torch, device.split(":")[0]).set_device(device)
        row = {"device": device, "operation": "copy_on_device", "dtype": "int32", "mib": device_mib}
        attempt_measurement(row, time_copy_on_device, torch, device, device_mib)
        for operation in COPIES if device != "cpu" else ():
            row = {"device": device, "operation": operation, "dtype": "int32", "mib": host_mib}
            attempt_measurement(row, time_copy, torch, device, operation, host_mib)


def attempt_measurement(row: Mapping[str, object], measure: Callable[..., dict[str, object]], *args: object) -> None:
    """Make one measurement; an error is its result, not the end of the others."""
    try:
        print_row({**row, **measure(*args)})
    except Exception as error:  # noqa: BLE001 - the text goes into the report
        text = str(error).strip().splitlines()[0] if str(error) else ""
        print_row({**row, "error": f"{type(error).__name__}: {text}"})


def exact_cases(torch: ModuleType, dtype: object, size: int) -> dict[str, Case]:
    """Return inputs of (size, size) rounded to the dtype, the exact result, and the magnitude of an error."""
    a, b = ((torch.rand(size, size, dtype=torch.float64) * 2 - 1).to(dtype) for _ in range(2))
    wide_a, wide_b = a.double(), b.double()
    return {
        "add": ((a, b), wide_a + wide_b, wide_a.abs() + wide_b.abs()),
        "matmul": ((a, b), wide_a @ wide_b, wide_a.abs() @ wide_b.abs()),
    }


def compare_with_exact(
    torch: ModuleType, operation: str, inputs: tuple[Tensor, Tensor], exact: Tensor, scale: Tensor, device: str
) -> dict[str, object]:
    """Compare a result with the exact one: structure first, then not-finite values, then the worst element."""
    a, b = (matrix.to(device) for matrix in inputs)
    result = a + b if operation == "add" else a @ b
    if result.dtype != inputs[0].dtype or result.shape != exact.shape:
        return {"structure": f"{str(result.dtype).removeprefix('torch.')} {list(result.shape)}"}
    got = result.cpu().double()
    error = (got - exact).abs() / scale
    error = torch.where(torch.isfinite(got), error, torch.inf)
    worst = int(error.argmax())
    place = [worst // exact.shape[1], worst % exact.shape[1]]
    return {
        "max_error": _number_or_word(error.flatten()[worst]),
        "place": place,
        "got": _number_or_word(got.flatten()[worst]),
        "exact": _number_or_word(exact.flatten()[worst]),
        "not_finite": int((~torch.isfinite(got)).sum()),
    }


def time_operation(torch: ModuleType, operation: str, device: str, dtype: object, size: int) -> dict[str, object]:
    """Return the median time of one addition, which reads two matrices and writes one, or of one product."""
    a = torch.rand(size, size, device=device).to(dtype)
    milliseconds = median_ms(torch, device, (lambda: a + a) if operation == "add" else (lambda: a @ a))
    if operation == "add":
        return {"time_ms": milliseconds, "gb_per_s": 3 * a.nbytes / milliseconds / 1e6}
    return {"time_ms": milliseconds, "gflops": 2 * size**3 / milliseconds / 1e6}


def time_copy(torch: ModuleType, device: str, operation: str, mib: int) -> dict[str, object]:
    """Median time of copying `mib` MiB to or from the device, and whether the bytes arrived the same."""
    host = torch.arange(mib * MIB // 4, dtype=torch.int32)
    landing = torch.zeros_like(host)
    if operation.endswith("pinned"):
        host, landing = host.pin_memory(), landing.pin_memory()
        if not host.is_pinned():
            return {"untold": "page-locked memory was not given"}
    there = torch.zeros_like(host, device=device)
    if operation.startswith("copy_to_device"):
        milliseconds = median_ms(torch, device, lambda: there.copy_(host, non_blocking=True))
        landing = there.cpu()
    else:
        there.copy_(host)
        milliseconds = median_ms(torch, device, lambda: landing.copy_(there, non_blocking=True))
    return describe_copy(host, landing, milliseconds, 1)


def time_copy_on_device(torch: ModuleType, device: str, mib: int) -> dict[str, object]:
    """Memory bandwidth: every byte is read once and written once. Less than `mib` MiB would measure a cache."""
    if device != "cpu":
        free_mib = getattr(torch, device.split(":")[0]).mem_get_info(device)[0] // MIB
        if free_mib < 2.5 * mib:
            return {"untold": f"{free_mib} MiB are free, two copies of {mib} MiB are needed"}
    source = torch.arange(mib * MIB // 4, dtype=torch.int32).to(device)
    target = torch.zeros_like(source)
    milliseconds = median_ms(torch, device, lambda: target.copy_(source))
    return describe_copy(source, target, milliseconds, 2)


def describe_copy(source: Tensor, target: Tensor, milliseconds: float, passes: int) -> dict[str, object]:
    changed = int((target != source).sum())
    if changed:
        return {"structure": f"int32 {list(source.shape)}, {changed} elements changed"}
    return {"time_ms": milliseconds, "gb_per_s": passes * source.nbytes / milliseconds / 1e6}


def median_ms(torch: ModuleType, device: str, work: Callable[[], object]) -> float:
    """Return the median time of at least 3 and at most 50 runs after one to warm up, for about SECONDS."""
    wait = (lambda: None) if device == "cpu" else getattr(torch, device.split(":")[0]).synchronize
    times: list[float] = []
    work()
    wait()
    while len(times) < 3 or (len(times) < 50 and sum(times) < SECONDS):
        start = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def print_row(row: dict[str, object]) -> None:
    print(json.dumps(row), flush=True)


def _number_or_word(value: Tensor) -> float | str:
    """Return the number, or the word `inf` or `nan`, for JSON has no infinity."""
    number = float(value)
    return number if number - number == 0 else str(number)


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if entry != sys.path[0]]
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
