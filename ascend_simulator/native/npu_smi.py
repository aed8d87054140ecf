#!/usr/bin/env python3
"""npu-smi of the simulated NPU: the layouts of npu-smi 23 to 25 for an Atlas A2, with the word SIMULATED in each.

  npu-smi info                       a table of the NPUs
  npu-smi info -l                    list them
  npu-smi info -m                    NPU, chip and chip name of each
  npu-smi info -t TYPE -i NPU [-c CHIP]     TYPE: board, usages, memory, health, common

What a simulated NPU has none of (power, temperature, processes) is NA. Stands alone: it is copied into a folder bin/.
Layouts: Ascend documentation of npu-smi info (https://www.hiascend.com/document) and publicly posted outputs.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from pathlib import Path

WIDTHS = (27, 15, 52)
RULE, DOUBLE = ("+" + "+".join(mark * width for width in WIDTHS) + "+" for mark in "-=")
MIB = 1 << 20


class Npus:
    """What the stand-in runtime beside this file says: all NPUs, as on a real machine, whatever a process may see."""

    def __init__(self) -> None:
        os.environ.pop("ASCEND_RT_VISIBLE_DEVICES", None)
        self.runtime = ctypes.CDLL(str(Path(__file__).resolve().parents[1] / "lib64" / "libascendcl.so"))
        self.runtime.aclrtGetSocName.restype = ctypes.c_char_p
        count = ctypes.c_uint32()
        self.runtime.aclrtGetDeviceCount(ctypes.byref(count))
        self.count = count.value
        self.soc: str = self.runtime.aclrtGetSocName().decode()

    @property
    def name(self) -> str:
        """Return the name as npu-smi prints it: 910B2 for Ascend910B2."""
        return self.soc[len("Ascend") :] if self.soc.startswith("Ascend") else self.soc

    def memory_mib(self, npu: int) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.runtime.aclrtSetDevice(npu)
        self.runtime.aclrtGetMemInfo(0, ctypes.byref(free), ctypes.byref(total))
        return total.value // MIB


def render_row(*cells: str) -> str:
    return "|" + "|".join(f" {cell}".ljust(width) for cell, width in zip(cells, WIDTHS)) + "|"


def render_wide(text: str) -> str:
    return "| " + text.ljust(sum(WIDTHS) + 1) + "|"


def render_table(npus: Npus) -> list[str]:
    lines = [
        "+" + "-" * (sum(WIDTHS) + 2) + "+",
        render_wide(f"{'npu-smi SIMULATED':<33}Version: SIMULATED"),
        RULE,
        render_row("NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"),
        render_row("Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"),
        DOUBLE,
    ]
    for npu in range(npus.count):
        lines += [
            render_row(f"{npu:<6}{npus.name}", "OK", f"{'NA':<12}{'NA':<18}0    / 0"),
            render_row("0", "NA", f"{'NA':<12}{'0    / 0':<18}0    / {npus.memory_mib(npu)}"),
            DOUBLE,
        ]
    return [*lines, render_wide("SIMULATED NPUs: no hardware. Processes and memory in use are not known here."), DOUBLE]


def render_field(name: str, value: object) -> str:
    return f"        {name:<31}: {value}"


#: The fields of a type; a simulated NPU has no value (NA) for most. {npu} and {memory} are filled in.
DETAILS = {
    "board": "Product Name=SIMULATED; Model=SIMULATED; Manufacturer=SIMULATED; Serial Number=SIMULATED-{npu:02d}; "
    "Software Version=SIMULATED; Firmware Version=SIMULATED; Board ID=NA; PCIe Bus Info=NA; Chip Count=1",
    "usages": "DDR Capacity(MB)=0; HBM Capacity(MB)={memory}; HBM Usage Rate(%)=NA; Aicore Usage Rate(%)=NA; "
    "Aicpu Usage Rate(%)=NA; Ctrlcpu Usage Rate(%)=NA; HBM Bandwidth Usage Rate(%)=NA",
    "memory": "DDR Capacity(MB)=0; DDR Clock Speed(MHz)=0; HBM Capacity(MB)={memory}; HBM Clock Speed(MHz)=NA; "
    "HBM Temperature(C)=NA; HBM Manufacturer ID=SIMULATED",
    "health": "Health=OK; Error Code=NA; Error Information=NA",
    "common": "Memory Usage Rate(%)=NA; HBM Usage Rate(%)=NA; Aicore Usage Rate(%)=NA; Temperature(C)=NA; "
    "NPU Real-time Power(W)=NA",
}


def render_details(npus: Npus, kind: str, npu: int) -> list[str]:
    text = "NPU ID={npu}; SIMULATED=no hardware; Chip ID=0; " + DETAILS[kind]
    fields = text.format(npu=npu, memory=npus.memory_mib(npu)).split("; ")
    return [render_field(*field.split("=")) for field in fields]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="npu-smi", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-v", "--version", action="store_true")
    parser.add_argument("action", nargs="?", choices=("info",))
    parser.add_argument("-l", action="store_true")
    parser.add_argument("-m", action="store_true")
    parser.add_argument("-t", choices=DETAILS)
    parser.add_argument("-i", type=int)
    parser.add_argument("-c", type=int, default=0)
    args = parser.parse_args()
    if args.version:
        print("npu-smi version: SIMULATED")
        return 0
    if args.action is None:
        parser.error("expected info; the simulated npu-smi sets nothing")
    npus = Npus()
    if args.t and (args.i is None or not 0 <= args.i < npus.count or args.c != 0):
        print(f"Error parameter of -i or -c: expected an NPU from 0 to {npus.count - 1} and chip 0 (SIMULATED)")
        return 1
    if args.m:
        heads = ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")
        rows = [(str(npu), "0", str(npu), f"{npus.soc} SIMULATED") for npu in range(npus.count)]
        lines = ["".join(f"{cell:<26}" for cell in cells).rstrip() for cells in (heads, *rows)]
    elif args.l:
        lines = [render_field("Total Count", npus.count), render_field("SIMULATED", "no hardware")]
        for npu in range(npus.count):
            lines += ["", render_field("NPU ID", npu), render_field("Chip Count", 1)]
    else:
        lines = render_details(npus, args.t, args.i) if args.t else render_table(npus)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
