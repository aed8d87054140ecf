"""The tables of `npu-smi info`, from 22.0 to 26.1, for 310, 310B, 310P, 910, A2, A3 and 950.

Columns differ by chip and version (Phy-ID, Device, HBM-Usage, wide and narrow), so names are taken from the
header rows and values from the cells below them, never by position on the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VERSIONS = re.compile(r"npu-smi\s+v?(\S+)\s+Version:\s*(\S+)")
ERROR = re.compile(r"dcmi mod(?:ule|el) initialized? failed.*?ret is (-?\d+)", re.DOTALL)
#: What stands in the second line of a chip where the first has its health.
BUS_ID = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d|NA|-", re.ASCII)
#: A cell holds numbers, words (`NA`, `-`, `OK`) and pairs `used / total`; some versions print `20701/ 65536`.
VALUE = re.compile(r"-?\d+\s*/\s*-?\d+|\S+")


@dataclass(frozen=True)
class Chip:
    """One NPU chip as npu-smi shows it; None is what this version does not print (`NA`, `-` or no column)."""

    npu: int
    chip: int
    name: str
    health: str
    bus_id: str | None = None
    physical_id: int | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    core_use_percent: float | None = None
    memory_used_mib: int | None = None
    memory_total_mib: int | None = None
    hbm_used_mib: int | None = None
    hbm_total_mib: int | None = None


@dataclass(frozen=True)
class Process:
    """A process on a chip; the name is empty where npu-smi prints none."""

    npu: int
    chip: int | None
    pid: int
    name: str
    memory_mib: int


@dataclass(frozen=True)
class NpuSmi:
    """What npu-smi said; `simulated` where it is the simulator's stand-in.

    `unread` holds table lines that made no sense: they are told, never dropped.
    """

    version: str = ""
    driver: str = ""
    chips: tuple[Chip, ...] = ()
    processes: tuple[Process, ...] = ()
    error: int | None = None
    unread: tuple[str, ...] = ()
    simulated: bool = False


def parse_npu_smi(text: str) -> NpuSmi:
    """Read the output of `npu-smi info`; never raises, whatever the text."""
    versions = VERSIONS.search(text)
    failed = ERROR.search(text)
    reader = _Reader()
    for line in text.splitlines():
        if line.lstrip().startswith("|"):
            reader.read_line(line.strip())
    reader.finish_reading()
    return NpuSmi(
        version=versions[1] if versions else "",
        driver=versions[2] if versions else "",
        chips=tuple(reader.chips),
        processes=tuple(reader.processes),
        error=int(failed[1]) if failed else None,
        unread=tuple(reader.unread),
        simulated="SIMULATED" in text,
    )


class _Reader:
    """Goes down the lines; a chip is two lines, the first under the header `NPU Name`, the second under `Chip`."""

    def __init__(self) -> None:
        self.headers: dict[str, list[list[str]]] = {}
        self.table = ""
        self.first: dict[str, str] | None = None
        self.first_line = ""
        self.chips: list[Chip] = []
        self.processes: list[Process] = []
        self.unread: list[str] = []

    def read_line(self, line: str) -> None:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if self._read_header(cells) or len(cells) == 1:
            return  # one cell: the version line, or "No running processes found in NPU 0"
        if self.table == "processes":
            self._read_process(line, cells)
        elif self.table == "chips":
            self._read_chip(line, cells)
        else:
            self.unread.append(line)

    def finish_reading(self) -> None:
        """Note a first line without its second: the output was cut."""
        if self.first is not None:
            self.unread.append(self.first_line)
            self.first = None

    def _read_header(self, cells: list[str]) -> bool:
        if cells[0].startswith("NPU") and len(cells) > 1 and cells[1] == "Process id":
            self.finish_reading()
            self.table, self.headers["processes"] = "processes", [cells[0].split(), *([name] for name in cells[1:])]
        elif cells[0].startswith("NPU") and "Name" in cells[0].split():
            self.table, self.headers["first"] = "chips", [cell.split() for cell in cells]
        elif cells[0].split()[:1] == ["Chip"]:
            self.headers["second"] = [cell.split() for cell in cells]
        else:
            return False
        return True

    def _read_chip(self, line: str, cells: list[str]) -> None:
        if self.first is not None and not BUS_ID.fullmatch(cells[1]):
            self.finish_reading()  # its second line is missing
        kind = "first" if self.first is None else "second"
        row = _make_row(self.headers.get(kind, []), cells)
        if row is None or (kind == "first" and _parse_whole(row.get("NPU")) is None):
            self.finish_reading()
            self.unread.append(line)
        elif kind == "first":
            self.first, self.first_line = row, line
        else:
            chip = _make_chip({**(self.first or {}), **row})
            self.first = None
            if chip is None:
                self.unread.append(line)
            else:
                self.chips.append(chip)

    def _read_process(self, line: str, cells: list[str]) -> None:
        heads = self.headers["processes"]
        ids = dict(zip(heads[0], cells[0].split()))
        row = {head[0]: cell for head, cell in zip(heads[1:], cells[1:])}
        npu, pid, memory = map(_parse_whole, (ids.get("NPU"), row.get("Process id"), row.get("Process memory(MB)")))
        if len(cells) != len(heads) or npu is None or pid is None or memory is None:
            self.unread.append(line)
            return
        self.processes.append(Process(npu, _parse_whole(ids.get("Chip")), pid, row.get("Process name", ""), memory))


def _make_row(headers: list[list[str]], cells: list[str]) -> dict[str, str] | None:
    """Return names to values, or None where the cells do not fit the header."""
    if len(headers) != len(cells):
        return None
    row: dict[str, str] = {}
    for names, cell in zip(headers, cells):
        values = VALUE.findall(cell)
        if len(values) > len(names):
            return None
        row.update(zip(names, values))
    return row


def _make_chip(row: dict[str, str]) -> Chip | None:
    npu, chip = _parse_whole(row.get("NPU")), _parse_whole(row.get("Chip"))
    if npu is None or chip is None or "Health" not in row:
        return None
    memory, hbm = _parse_pair(row.get("Memory-Usage(MB)")), _parse_pair(row.get("HBM-Usage(MB)"))
    bus = row.get("Bus-Id", "NA")
    return Chip(
        npu,
        chip,
        row.get("Name", ""),
        row["Health"],
        bus_id=None if bus in ("NA", "-") else bus,
        physical_id=_parse_whole(row.get("Phy-ID")),
        power_w=_parse_number(row.get("Power(W)")),
        temperature_c=_parse_number(row.get("Temp(C)")),
        core_use_percent=_parse_number(row.get("AICore(%)")),
        memory_used_mib=memory[0],
        memory_total_mib=memory[1],
        hbm_used_mib=hbm[0],
        hbm_total_mib=hbm[1],
    )


def _parse_whole(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


def _parse_number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"-?\d{1,18}(\.\d+)?", text, re.ASCII) else None


def _parse_pair(text: str | None) -> tuple[int | None, int | None]:
    parts = re.fullmatch(r"(-?\d{1,18})\s*/\s*(-?\d{1,18})", text, re.ASCII) if text else None
    return (int(parts[1]), int(parts[2])) if parts else (None, None)
