"""Tables of `npu-smi info` in the layouts of 24/25 (A2, first generation), A3 (two dies, Phy-ID) and 26 (wide)."""

from __future__ import annotations

from collections.abc import Sequence

#: One chip: (npu, chip, name, health, bus id, HBM used, HBM total in MB).
Row = tuple[int, int, str, str, str, int, int]


def table(version: str, rows: Sequence[Row], processes: Sequence[tuple[int, int, int, str, int]] = ()) -> str:
    """As npu-smi of this version prints it; `processes` are (npu, chip, pid, name, MB)."""
    wide = 10 if version.startswith("26") else 0
    twin = any(row[2] == "Ascend910" for row in rows)
    third = " " * wide
    second = "Chip  Phy-ID" if twin else "Chip"
    lines = [
        "+" + "-" * 90 + "+",
        f"| npu-smi {version}                 Version: {version}",
        "+---------------------------+---------------+------------------------------------------+",
        f"| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page){third}|",
        f"| {second:<26}| Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        {third}|",
        "+===========================+===============+==========================================+",
    ]
    lines[1] = f"{lines[1]:<91}|"
    for index, (npu, chip, name, health, bus, used, total) in enumerate(rows):
        place = f"{chip}     {index}" if twin else f"{chip}"
        lines += [
            f"| {npu:<5} {name:<20}| {health:<14}| 93.6        36                0    / 0             {third}|",
            f"| {place:<26}| {bus:<14}| 0           0    / 0          {used:<5}/ {total:<10}   {third}|",
            "+===========================+===============+==========================================+",
        ]
    lines += [
        "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |",
        "+===========================+===============+==========================================+",
    ]
    for npu, chip, pid, process, size in processes:
        lines.append(f"| {npu:<8}{chip:<18}| {pid:<14}| {process:<25}| {size:<24}|")
    if not processes:
        lines += [f"| No running processes found in NPU {npu:<54} |" for npu in sorted({row[0] for row in rows})]
    return "\n".join(lines) + "\n"


def chips(count: int, name: str, *, total: int = 65536, used: int = 3390, health: str = "OK") -> list[Row]:
    """One chip an NPU; `Ascend910` (A3) has two dies in each."""
    twin = 2 if name == "Ascend910" else 1
    bus = [f"0000:{(0xC1 + index) % 256:02X}:00.0" for index in range(count)]
    return [(index // twin, index % twin, name, health, bus[index], used, total) for index in range(count)]
