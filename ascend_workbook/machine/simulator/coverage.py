"""What of torch's own operator database (OpInfo) the simulated NPU runs as the CPU does; why the rest raises.

Children started by path do the work, one per core; nothing here imports torch.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, title
from ascend_workbook.machine import simulator
from ascend_workbook.storage import write_file

if TYPE_CHECKING:
    from ascend_simulator.coverage.entries import Count, Entry, Request, State

DTYPES = ("float32", "float16", "bfloat16", "int64", "bool", "complex64")
DIRECTIONS = ("forward", "strided", "expanded", "backward", "inplace", "out")
#: The slices of the whole table: gradients exist for floating-point types; the other ways are checked in float32.
EVERYTHING = (
    *(("forward", dtype) for dtype in DTYPES),
    *(("backward", dtype) for dtype in ("float32", "float16", "bfloat16", "complex64")),
    *((direction, "float32") for direction in ("strided", "expanded", "inplace", "out")),
)
SAMPLES = 8
STAGE = "environment"


@simulator.with_our_errors
def measure_coverage(
    slices: Iterable[tuple[str, str]] = EVERYTHING,
    names: Iterable[str] = (),
    *,
    every: int = 1,
    samples: int = SAMPLES,
    workers: int | None = None,
    env: dict[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Run each entry of each (direction, dtype) on the CPU and on the simulated NPU, and return the report of all
    outcomes.

    `names` limits it to these entries of the database, `every` to each n-th entry, `samples` the samples of an entry.
    `env` is the children's environment (default: simulator.environment()). A child that dies costs its entry only,
    which then counts as `crashed`. Raises WorkbookError where the simulator is not installed or not built, or an entry
    has no name.
    """
    simulator.import_distribution()
    from ascend_simulator.coverage.entries import operator_states
    from ascend_simulator.coverage.pool import Pool

    environ = simulator.simulator_environment() if env is None else env
    with Pool(environ, workers or os.cpu_count() or 1) as pool:
        listing = pool.list_entries()
        known = {entry["name"] for entry in listing["entries"]}
        unknown = sorted(set(names) - known)
        if unknown:
            raise WorkbookError("coverage.unknown", names=", ".join(unknown))
        requests = _make_requests(listing["entries"], list(slices), set(names), every, samples)
        states = operator_states(listing["operators"])
        results: list[Entry] = []
        for entry in pool.run_requests(requests):
            results.append(entry)
            if progress:
                progress(len(results), len(requests))
    return make_report(sorted(results, key=lambda entry: entry.request.order), states, samples)


def _make_requests(
    listing: list[dict[str, object]], slices: list[tuple[str, str]], names: set[str], every: int, samples: int
) -> list[Request]:
    from ascend_simulator.coverage.entries import Request

    requests: list[Request] = []
    for direction, dtype in slices:
        chosen = [
            (number, entry)
            for number, entry in enumerate(listing)
            if dtype in entry["goes"][direction] and (not names or entry["name"] in names)  # type: ignore[index]
        ]
        for number, entry in chosen[::every]:
            name, variant = str(entry["name"]), str(entry["variant"])
            requests.append(Request(len(requests), number, name, variant, direction, dtype, samples))
    return requests


def make_report(entries: list[Entry], states: Mapping[str, State], samples: int) -> Report:
    """Return the report of all entries, each with its outcome, and of the operators' states."""
    from ascend_simulator.coverage.entries import OUTCOMES, count_outcomes

    counts = count_outcomes(entries)
    columns = ("direction", "dtype", *(f"outcome_{outcome}" for outcome in OUTCOMES))
    percents = ("coverage_percent", "coverage_percent_of_all", "coverage_bar")
    rows: list[tuple[Scalar, ...]] = []
    for count in counts:
        numbers = (*(count.outcomes[outcome] for outcome in OUTCOMES), count.percent, count.percent_of_all, count.bar)
        rows.append((count.direction, count.dtype, *numbers, f"{count.direction} {count.dtype}"))
    table = Table((*map(Column, columns), *(Column(name, "%") for name in percents), Column("slice")), tuple(rows))
    findings, chart = tuple(_make_findings(counts)), Chart("bars", "slice", percents[:2], "%")
    parts, facts = (_entries_part(entries, states), _operators_part(states)), {"samples": samples}
    return Report(STAGE, "coverage", findings, table, chart, tier="npu-simulated", parts=parts, facts=facts)


def _make_findings(counts: list[Count]) -> list[Finding]:
    wrong = sum(count.silently_wrong for count in counts)
    total = sum(count.entries for count in counts)
    passed = sum(count.passed for count in counts)
    judged = sum(count.judged for count in counts)
    below = [f"{count.direction} {count.dtype}" for count in counts if not count.reaches_bar]
    args: dict[str, Scalar] = {"passed": passed, "judged": judged, "wrong": wrong, "total": total}
    unjudged = [f"{count.direction} {count.dtype}" for count in counts if count.bar is not None and not count.judged]
    if not total:
        return [Finding("SIM002", Status.NOT_LOOKED, "coverage.empty")]
    if not judged:
        return [Finding("SIM002", Status.NOT_LOOKED, "coverage.nothing", args)]
    named: dict[str, Scalar] = {"slices": ", ".join(unjudged)}
    rest = [Finding("SIM002", Status.NOT_LOOKED, "coverage.unjudged", named)] if unjudged else []
    if wrong:
        return [Finding("SIM002", Status.FIX, "coverage.wrong", args), *rest]
    if below:
        return [Finding("SIM002", Status.FIX, "coverage.below", {**args, "slices": ", ".join(below)}), *rest]
    return [Finding("SIM002", Status.GOOD, "coverage.good", args), *rest]


def _entries_part(entries: list[Entry], states: Mapping[str, State]) -> Report:
    """Return the part with every entry, the worst first."""
    from ascend_simulator.coverage.entries import OUTCOMES, UNKNOWN, dtype_support

    columns = ("operator", "dtype", "direction", "outcome", "second_reference", "dtype_support", "reason")
    ordered = sorted(entries, key=lambda entry: (-OUTCOMES.index(entry.outcome), entry.request.order))
    rows = tuple(
        (
            *(e.request.label, e.request.dtype, e.request.direction, e.outcome, e.second or None),
            *(dtype_support(e, states), e.reason),
        )
        for e in ordered
    )
    support = Counter(dtype_support(entry, states) for entry in entries)
    args: dict[str, Scalar] = {"known": support["known"], "unknown": support[UNKNOWN]}
    finding = Finding("SIM003", Status.NOTE, "coverage.dtype_support", args)
    held = {kind: {e.request.name for e in entries if e.second == kind} for kind in ("numpy", "float64")}
    numbers: dict[str, Scalar] = {
        "numpy": len(held["numpy"]),
        "float64": len(held["float64"] - held["numpy"]),
        "doubtful": sum(entry.outcome == "doubtful" for entry in entries),
    }
    second = Finding("SIM003", Status.NOTE, "coverage.second", numbers)
    return Report(
        STAGE, "coverage_entries", (finding, second), Table(tuple(map(Column, columns)), rows), tier="npu-simulated"
    )


def _operators_part(states: Mapping[str, State]) -> Report:
    kinds = Counter((name.partition("::")[0], state.kind) for name, state in states.items())
    known = sum(1 for state in states.values() if state.kind == "simulated" and state.dtypes)
    rows = tuple((space, kind, number) for (space, kind), number in sorted(kinds.items()))
    simulated = sum(number for (_, kind), number in kinds.items() if kind == "simulated")
    fallbacks = sum(1 for state in states.values() if state.kind == "fallback")
    args: dict[str, Scalar] = {"total": len(states) - fallbacks, "known": known, "simulated": simulated}
    finding = Finding("SIM004", Status.NOTE, "coverage.operators", {**args, "fallbacks": fallbacks})
    columns = tuple(map(Column, ("namespace", "operator_state", "operators")))
    facts = {"operators": {name: [state.kind, state.dtypes] for name, state in states.items()}}
    return Report(STAGE, "coverage_operators", (finding,), Table(columns, rows), tier="npu-simulated", facts=facts)


# The report as Markdown: docs/simulator-operators.md

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
- **refused as on a real NPU**: raises with torch_npu's kind of error for every sample, because the documentation
  of torch_npu or CANN or torch_npu's own code refuses the data type, value or layout, or has no kernel for it. An
  entry of which some samples are refused and all others pass counts as passed; it stands in the table below too.
- **not comparable**: the CPU has no result. **raises**: an error that an NPU may not give.
- **silently different**, **unlike the second reference**, **crashed**: must be none.

The CPU's kernels compute the simulated NPU's results, so a fault of theirs would be on both sides. Results of
`forward`, `strided` and `expanded` are held against a *second reference* too: torch's own NumPy formulas in float64
where there is one (`numpy`), else the CPU on contiguous float64 copies (`float64`), within 1e-4 of the value and of
the largest value of the result, whole numbers exactly. Where the CPU's own kernel is wrong and the NPU's result is the
second reference's, it passes.

Directions: `forward`; `strided`, with every tensor non-contiguous; `expanded`, with the first row of every
floating-point tensor in the place of all its rows (stride 0); `backward`, gradients of all inputs; `inplace`; `out`,
with `out=` of the right size, of size zero and of a wrong data type.

Two percentages: (equal + alike) of the entries with a CPU result that the NPU does not refuse, which is what is
required; and of all entries with a CPU result, where a refusal counts as not passed.
*Dtypes of the hardware*: `known` where the hardware's list of types is known for each operator that computed, else
`dtype support unknown`.
"""


def write_document(report: Report, path: Path) -> None:
    write_file(path, render(report))


def render(report: Report) -> str:
    """Return the document; `report` is what measure_coverage() gave for the whole table."""
    from ascend_simulator.coverage.entries import BARS, EXCLUDED, MOST_EXCLUDED

    assert report.table
    entries, operators = report.parts
    assert entries.table and operators.table
    rest = [row for row in entries.table.rows if row[3] not in ("equal", "alike") or "samples refused" in str(row[-1])]
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


def _render_grid(heads: list[str], rows: Iterable[Sequence[Scalar]]) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "| " + " | ".join(["---"] * len(heads)) + " |"
    for row in rows:
        texts = (f"{cell:.1f}" if isinstance(cell, float) else "" if cell is None else str(cell) for cell in row)
        cells = (text.replace(os.linesep, " ").replace("|", "\\|").replace("<", "&lt;") for text in texts)
        yield "| " + " | ".join(cells) + " |"
