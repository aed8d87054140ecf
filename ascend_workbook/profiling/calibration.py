"""`calibrate`: the numbers that times are estimated from, fitted anew on a profile of a real NPU.

The table of kernels (kernel_details.csv, op_summary.csv) has each kernel's type, shapes and time. A family with enough
of them gets numbers of its own, the others keep the shipped ones."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path

from ascend_workbook.estimates.basis import Basis, load_basis, save_basis
from ascend_workbook.estimates.chips import Chip, find_chip, known_chips
from ascend_workbook.estimates.fitting import Measured, group_kernels, refit_family
from ascend_workbook.estimates.kernels import Kernel, predict_microseconds
from ascend_workbook.estimates.loads import Shape, measure_kernel
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.readers import ascend, locate_profile, tables

#: Ours -> the headings that mean it in the tables of either profiler, newest first
HEADINGS = {
    "type": ("Type", "OP Type"),
    "unit": ("Accelerator Core", "Task Type", "Core Type"),
    "duration": ("Duration(us)", "Task Duration(us)"),
    "inputs": ("Input Shapes",),
    "input_types": ("Input Data Types",),
    "formats": ("Input Formats",),
    "outputs": ("Output Shapes",),
    "output_types": ("Output Data Types",),
}
NEEDED = ("type", "duration", "inputs", "input_types", "outputs", "output_types")
#: Units whose rows are no kernels of the device's cores
OTHER_UNITS = ("AI_CPU", "HCCL", "COMMUNICATION")
NOTHING = (*tables.ABSENT, "NULL")
#: So many kernels of different shape a family needs for numbers of its own, and a workload to be fitted on.
LEAST_SHAPES = 8
#: A family's time that changes by less is told as unchanged.
CHANGED = 0.1


def calibrate(
    profile: str | os.PathLike[str],
    chip: str = "",
    out: str | os.PathLike[str] = "calibrated.json",
    basis: str | os.PathLike[str] | None = None,
) -> Report:
    """Fit the numbers of estimated times anew on a real NPU's profile, and write them to a file for `load_basis`.

    `profile`: an `*_ascend_pt` folder, or a table of kernels; `chip`: on which it was recorded, such as 910B3;
    `basis`: the numbers to begin at, the shipped ones unless named. Raises WorkbookError for a profile of the
    simulated NPU, whose times are the CPU's.
    """
    known = load_basis(basis)
    table = _locate_table(Path(profile))
    timed = read_timed_kernels(table)
    if not chip:
        raise WorkbookError("calibrate.no_chip", chips=[chip.name for chip in known_chips()])
    device = find_chip(chip)
    kernels = group_kernels(timed, device)
    if not kernels:
        raise WorkbookError("calibrate.no_shapes", path=str(table))
    families: dict[str, list[Measured]] = {}
    for case in kernels:
        families.setdefault(measure_kernel(case.kernel).family, []).append(case)
    fitted = dict(known.families)
    refitted = [family for family, cases in families.items() if len(cases) >= LEAST_SHAPES]
    for family in refitted:
        fitted[family] = refit_family(families[family], known.times_of(family))
    today, name = date.today().isoformat(), Path(profile).resolve().name
    new = replace(known, name=f"calibrated on {name}", date=today, families=fitted, fitted_on=(name,))
    rows = [_describe_family(family, families[family], known, new, family in refitted) for family in _by_time(families)]
    about = {
        "begun_at": {"name": known.name, "date": known.date},
        "chip": device.name,
        "kernels": sum(case.count for case in kernels),
        "families": {str(row["family"]): {key: row[key] for key in KEPT} for row in rows},
    }
    target = Path(out)
    try:
        save_basis(replace(new, about={**known.about, "calibration": about}), target)
    except OSError as error:
        raise WorkbookError("calibrate.unwritable", path=str(target), error=explain_os_error(error)) from error
    return _report(rows, kernels, device, known, target)


#: What the file tells of each family: measured milliseconds, said by either, how far off left-out shapes were
KEPT = ("measured_ms", "before", "after", "left_out", "shapes", "refitted")


def _locate_table(path: Path) -> Path:
    """Return the table of kernels. Raises WorkbookError where there is none."""
    if path.is_file() and path.suffix == ".csv":
        return path
    profile = locate_profile(path)
    output = ascend.output_of(profile) if profile.is_dir() else None
    if output is None or not (output / tables.KERNELS).is_file():
        raise WorkbookError("calibrate.no_table", path=str(profile), wanted=tables.KERNELS)
    return output / tables.KERNELS


def read_timed_kernels(path: Path) -> list[tuple[Kernel, float]]:
    """Return each kernel of a table with its time in microseconds; rows without shapes, and those of collectives and of
    AI CPUs, are left out. Raises WorkbookError for a table of the simulated NPU, and for one without a column that is
    needed."""
    timed: list[tuple[Kernel, float]] = []
    with tables.open_table(path) as file:
        head, pieces = tables.read_sheet(file)
        places = {
            name: next(head.index(heading) for heading in headings if heading in head)
            for name, headings in HEADINGS.items()
            if not set(head).isdisjoint(headings)
        }
        missing = [HEADINGS[name][0] for name in NEEDED if name not in places]
        if missing:
            raise WorkbookError("profiling.no_column", path=str(path), columns=missing)
        for piece in pieces:
            for at, row in enumerate(piece.rows):
                cells = {name: row[place].strip() for name, place in places.items()}
                if cells.get("unit") == tables.SIMULATED:
                    raise WorkbookError("calibrate.simulated", path=str(path))
                if at not in piece.ragged:
                    timed += _read_kernel(cells)
    return timed


def _read_kernel(cells: dict[str, str]) -> Iterator[tuple[Kernel, float]]:
    """Yield the kernel of a row, if it is one that has shapes and a time."""
    kind = cells["type"]
    shaped = cells["inputs"] not in NOTHING or cells["outputs"] not in NOTHING
    if not shaped or kind in NOTHING or tables.HCOM.match(kind) or cells.get("unit") in OTHER_UNITS:
        return
    try:
        microseconds = float(cells["duration"])
        inputs, outputs = _read_shapes(cells["inputs"]), _read_shapes(cells["outputs"])
    except ValueError:
        return
    if not (math.isfinite(microseconds) and microseconds > 0):
        return
    types, output_types = _split(cells["input_types"]), _split(cells["output_types"])
    formats = _split(cells.get("formats", ""))
    kernel = Kernel(kind, _pad(inputs, types), types, _pad(outputs, output_types), output_types, formats)
    yield kernel, microseconds


def _read_shapes(cell: str) -> tuple[Shape, ...]:
    text = cell.strip('"')
    if text in NOTHING:
        return ()
    return tuple(tuple(int(size) for size in shape.split(",") if size.strip()) for shape in text.split(";"))


def _split(cell: str) -> tuple[str, ...]:
    return () if cell in NOTHING else tuple(part.strip() for part in cell.split(";"))


def _pad(shapes: tuple[Shape, ...], types: Sequence[str]) -> tuple[Shape, ...]:
    """Return a shape for each type: an empty cell stands for scalars alone."""
    return shapes or ((),) * len(types)


def _by_time(families: dict[str, list[Measured]]) -> list[str]:
    return sorted(families, key=lambda family: -sum(case.total for case in families[family]))


def _describe_family(
    family: str, cases: Sequence[Measured], known: Basis, new: Basis, refitted: bool
) -> dict[str, Scalar]:
    """Return what a family took, and what either basis says of it."""
    measured = math.fsum(case.total for case in cases)

    def measure_ratio(basis: Basis) -> float:
        times = basis.times_of(family)
        loads = ((measure_kernel(case.kernel), case) for case in cases)
        return math.fsum(predict_microseconds(load, case.chip, times) * case.count for load, case in loads) / measured

    times = new.times_of(family)
    return {
        "family": family,
        "kernels": sum(case.count for case in cases),
        "shapes": len(cases),
        "measured_ms": measured / 1000,
        "before": measure_ratio(known),
        "after": measure_ratio(new),
        "left_out": math.hypot(times.family_spread, times.kernel_spread) if refitted else None,
        "refitted": refitted,
    }


def _report(
    rows: Sequence[dict[str, Scalar]], kernels: Sequence[Measured], chip: Chip, known: Basis, target: Path
) -> Report:
    columns = (
        Column("calibrate_family"),
        Column("calibrate_kernels"),
        Column("calibrate_shapes"),
        Column("calibrate_measured", "ms"),
        Column("calibrate_before", "x", 3),
        Column("calibrate_after", "x", 3),
        Column("calibrate_left_out", "x", 3),
        Column("calibrate_outcome"),
    )
    lines = []
    for row in rows:
        spread = row["left_out"]
        wide = math.exp(1.2816 * spread) if isinstance(spread, float) else None
        outcome = Sentence("calibrate.refitted" if row["refitted"] else "calibrate.kept", least=LEAST_SHAPES)
        values = [row[key] for key in ("family", "kernels", "shapes", "measured_ms", "before", "after")]
        lines.append((*values, wide, outcome))
    written: dict[str, Scalar] = {"path": str(target), "chip": chip.name, "basis": known.name, "date": known.date}
    findings = [*_judge(rows), Finding("PRF346", Status.NOTE, "PRF346.written", written)]
    facts = {
        "calibration": {"chip": asdict(chip) | {"source": dict(chip.source)}, "families": [dict(row) for row in rows]},
        "basis": {"name": known.name, "date": known.date},
        "kernels": sum(case.count for case in kernels),
    }
    return Report("profiling", "calibrate", tuple(findings), Table(columns, tuple(lines)), facts=facts, tier="npu")


def _judge(rows: Sequence[dict[str, Scalar]]) -> Iterator[Finding]:
    """Yield which families got other numbers and by how much, and which had too few kernels."""
    changed = []
    for row in rows:
        before, after = row["before"], row["after"]
        if row["refitted"] and isinstance(before, float) and isinstance(after, float):
            factor = after / before
            if abs(math.log(factor)) > CHANGED:
                changed.append(f"{row['family']} x{factor:.2f}")
    shipped = [str(row["family"]) for row in rows if not row["refitted"]]
    if changed:
        yield Finding("PRF346", Status.NOTE, "PRF346.changed", {"families": list(changed)})
    elif len(shipped) < len(rows):
        yield Finding("PRF346", Status.GOOD, "PRF346.same")
    if shipped:
        yield Finding("PRF347", Status.NOTE, "PRF347.kept", {"families": list(shipped), "least": LEAST_SHAPES})
