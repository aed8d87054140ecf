"""The coverage report and the list of operators as Markdown: docs/simulator-operators.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, title
from ascend_workbook.storage import write_file

COMMAND = "ascend-workbook simulator coverage --document docs/simulator-operators.md"
INTRODUCTION = f"""# What the simulated NPU does with each operator

Made by `{COMMAND}`; do not edit.

Each entry of torch's own operator database (`torch.testing._internal.common_methods_invocations.op_db`) is called
on the CPU and on the simulated NPU with the same samples.

- **equal**: structure, shapes and data types are the same, and every value within the tolerance of its data type,
  relative and absolute: float64 1e-7, float32 and complex64 1e-5, float16 1e-3, bfloat16 1e-2; integers, bool exactly.
  Ten times that for scaled_dot_product_attention, where the CPU has a fused kernel that sums in another order. Where
  torch_npu turns float64 into float32 (`double`, `to`, `float_power`), the values are compared as float32. In half
  precision the CPU's float32 result, rounded once, counts too: the CPU's own half kernels may round in between.
- **alike**: random numbers (the same seed gives the same numbers twice; mean and mean square over 48 seeds agree with
  the CPU's within six standard errors) or uninitialised memory (shape, data type and device).
- **refused as on a real NPU**: raises with torch_npu's kind of error for every sample, because CANN's documentation
  (the reason names it) or torch_npu's own code refuses the data type, value or layout, or has no kernel for it. An
  entry of which some samples are refused and all others pass counts as passed; it stands in the table below too.
- **not comparable**: the CPU has no result. **raises**: an error that an NPU may not give.
- **silently different**, **crashed**: must be none.

Directions: `forward`; `strided`, with every tensor non-contiguous; `backward`, gradients of all inputs; `inplace`;
`out`, with `out=` of the right size, of size zero and of a wrong data type.

Two percentages: (equal + alike) of the entries with a CPU result that the NPU does not refuse, which is what is
required; and of all entries with a CPU result, where a refusal counts as not passed.
*Dtypes of the hardware*: `known` where CANN's list of types is known for each operator that computed, else
`dtype support unknown`.
"""


def write_document(report: Report, path: Path) -> None:
    write_file(path, render(report))


def render(report: Report) -> str:
    """Return the document; `report` is what measure_coverage() gave for the whole table."""
    from ascend_simulator.coverage.counting import BARS, EXCLUDED, MOST_EXCLUDED

    assert report.table
    entries, operators = report.parts
    assert entries.table and operators.table
    rest = [row for row in entries.table.rows if row[3] not in ("equal", "alike") or "samples refused" in str(row[5])]
    pieces = [
        INTRODUCTION,
        f"## Counts\n\nAt most {report.facts['samples']} samples an entry. {entries.verdict('en')}.\n",
        *_render_grid(
            [title(column.name, "en") for column in report.table.columns[:-1]], (r[:-1] for r in report.table.rows)
        ),
        "\n## Required\n",
        *(f"- {direction} {dtype}: {bar:g} %" for (direction, dtype), bar in BARS.items()),
        f"\n## Not comparable (at most {MOST_EXCLUDED:g} %)\n",
        *(f"- `{name}`: {why}" for name, why in EXCLUDED.items()),
        "\n## Entries that do not pass in whole, and why\n",
        *_render_grid([title(column.name, "en") for column in entries.table.columns], rest),
        "\n## Operators that torch_npu implements\n",
        *operator_lines(report),
    ]
    return "\n".join(pieces) + "\n"


def operator_lines(report: Report) -> Iterator[str]:
    """Counts by namespace and state, then the names of each state; what is not named falls back to the CPU."""
    part = report.parts[1]
    assert part.table
    yield f"{part.verdict('en')}. What is not named here torch_npu lacks:"
    yield "it is made of others or falls back to the CPU.\n"
    yield from _render_grid([title(column.name, "en") for column in part.table.columns], part.table.rows)
    states: dict[str, list[str]] = {}
    for name, (kind, dtypes) in sorted(part.facts["operators"].items()):
        states.setdefault(kind, []).append(f"`{name}`" + ("\\*" if dtypes else ""))
    for kind, names in sorted(states.items()):
        yield f"\n### {kind} ({len(names)})\n"
        yield f"{MEANINGS.get(kind, '')}\n"
        yield " ".join(names)


MEANINGS = {
    "simulated": "On PyTorch's CPU kernel or a reference implementation. \\*: the hardware's data types are known.",
    "composite": "Made of other operators by PyTorch itself, where torch_npu has a fused kernel.",
    "torch_npu": "torch_npu's own kernel, which needs no device function.",
    "fallback": "torch_npu itself lets it run on the CPU; the simulator counts these calls and names them at the end.",
    "refused": "Raises `NotImplementedError` that names the operator.",
}


def _render_grid(heads: list[str], rows: object) -> Iterator[str]:
    yield _join_cells(heads)
    yield _join_cells(["---"] * len(heads))
    for row in rows:  # type: ignore[attr-defined]
        yield _join_cells([_format_cell(value) for value in row])


def _format_cell(value: Scalar) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    text = "" if value is None else str(value)
    return text.replace(os.linesep, " ").replace("|", "\\|").replace("<", "&lt;")


def _join_cells(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
