"""Where the gradients of a captured step lie in the range of a 16-bit format, at a loss scale."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.precision.record import BACKWARD, PARAMETERS
from ascend_workbook.precision.tensors.tensorfile import read_tensor

#: What becomes of a number in a 16-bit format: below the smallest it is 0, beyond the largest infinite.
LOST, SUBNORMAL, NORMAL, OVERFLOW = "lost", "subnormal", "normal", "overflow"


@dataclass(frozen=True)
class Half:
    """`normal` is the exponent of the smallest number with a full mantissa, `top` that of the largest numbers."""

    name: str
    mantissa: int
    normal: int
    top: int

    @property
    def smallest(self) -> int:
        """Exponent of the smallest number that is not 0."""
        return self.normal - self.mantissa

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return float((2.0 - 2.0**-self.mantissa) * 2.0**self.top)

    @property
    def infinite(self) -> float:
        """Return the value from which on numbers are rounded to infinity: half a step beyond the largest."""
        return float((2.0 - 2.0 ** -(self.mantissa + 1)) * 2.0**self.top)

    def fate_of_exponent(self, exponent: int) -> str:
        """Return what becomes of values from 2**exponent to below 2**(exponent + 1): nearest rounding keeps those above
        half of the smallest number."""
        if exponent < self.smallest - 1:
            return LOST
        if exponent < self.normal:
            return SUBNORMAL
        return NORMAL if exponent <= self.top else OVERFLOW


FLOAT16 = Half("float16", 10, -14, 15)
BFLOAT16 = Half("bfloat16", 7, -126, 127)


def format_scale(scale: float) -> str:
    """A scale as readers know it: 65536 as it is, larger powers of two as 2**34."""
    exponent = math.log2(scale)
    return f"2**{exponent:.0f}" if exponent.is_integer() and abs(exponent) > 16 else f"{scale:.6g}"


#: A scale serves where it leaves less than this share of the gradients to become 0.
FEW = 0.01
COLUMNS = (Column("exponent"), Column("gradients"), Column("share", "%", digits=3), Column("fate"))


def gradient_exponents(capture: str | Path, scale: float = 1.0, form: Half = FLOAT16) -> Report:
    """Counts every gradient that an operator of the captured backward gave out by its power of two, and says what
    becomes of it in `form` when the loss is multiplied by `scale`.

    `capture` is a folder that `capture` wrote with tensors, best of a float32 run: a 16-bit one has lost what is
    sought. At level "mix" the parameters' gradients are counted too.
    Facts: `lost`, `subnormal` and `overflow` are shares of the gradients other than 0; `largest` the largest of them;
    `lowest_scale` and `highest_scale` the powers of two between which a scale serves (None: no gradient).
    Raises WorkbookError for a scale that cannot be, and where the capture has no values of a backward."""
    if not 0 < scale <= sys.float_info.max:  # a power of two as a whole number may be far beyond
        if not 1 < scale < math.inf:
            raise WorkbookError("halves.scale", given=scale)
        power = round(math.log2(scale))
        raise WorkbookError("halves.scale", given=f"{'' if scale == 2**power else 'about '}2**{power}")
    scale, folder = float(scale), Path(capture)
    about = manifest.load_manifest(folder)
    counted, largest = _count_exponents(folder / manifest.DUMP if about else folder, about.root if about else None)
    zero, endless = counted.pop("zero", 0), counted.pop("infinite", 0)
    by_exponent = {int(key): count for key, count in counted.items()}
    facts = _collect_facts(by_exponent, largest, scale, form)
    facts.update(zero=zero, infinite=endless, capture=str(folder))
    shift = math.log2(scale)
    marks = tuple(edge - shift for edge in (form.smallest, form.normal, form.top + 1))
    chart = Chart("lines", "exponent", ("gradients",), marks=marks)
    table, tier = _make_table(by_exponent, scale, form), about.tier if about else ""
    return Report("precision", "gradient_exponents", (_judge_scale(facts),), table, chart, facts=facts, tier=tier)


def _count_exponents(folder: Path, root: Path | None) -> tuple[Counter[str], float]:
    """Gradients by exponent, "zero" and "infinite", and the largest finite one."""
    counted: Counter[str] = Counter()
    largest, seen = 0.0, 0
    for operator in (operator for run in read_dump(folder, root) for operator in run.operators):
        # of a module its parameters' gradients: the rest its operators gave
        if operator.direction != PARAMETERS and (operator.direction != BACKWARD or operator.is_module):
            continue
        for record in operator.outputs:
            # autocast keeps the loss in float32: its own gradient, a single number, meets no 16-bit format
            if not (record.is_floating and record.file and record.shape):
                continue
            seen += 1
            values = np.abs(read_tensor(record.file).astype(np.float64)).ravel()
            finite = values[np.isfinite(values)]
            some = finite[finite > 0]
            counted.update(infinite=values.size - finite.size, zero=finite.size - some.size)
            exponents, counts = np.unique(np.frexp(some)[1] - 1, return_counts=True)
            counted.update({str(exponent): int(count) for exponent, count in zip(exponents, counts)})
            largest = max(largest, float(some.max(initial=0.0)))
    if not seen:
        raise WorkbookError("halves.no_backward", path=str(folder))
    return counted, largest


def _collect_facts(counted: dict[int, int], largest: float, scale: float, form: Half) -> dict[str, Scalar]:
    shift, total = math.floor(math.log2(scale)), sum(counted.values())
    fates: Counter[str] = Counter()
    for exponent, count in counted.items():
        fates[form.fate_of_exponent(exponent + shift)] += count
    share = {name: fates[name] / total if total else 0.0 for name in (LOST, SUBNORMAL, OVERFLOW)}
    highest = math.ceil(math.log2(form.infinite / largest)) - 1 if total else None
    below = zip(sorted(counted), accumulate(counted[exponent] for exponent in sorted(counted)))
    # the smallest power of two, from 1 on, that loses fewer than FEW of the gradients
    edge = next((exponent for exponent, lost in below if lost >= FEW * total), None)
    return {
        **share,
        "scale": scale,
        "format": form.name,
        "gradients": total,
        "largest": largest,
        "overflows": largest * scale >= form.infinite,
        "lowest_scale": None if edge is None else 2.0 ** max(0, form.smallest - 1 - edge),
        "highest_scale": None if highest is None else 2.0**highest,
    }


def _make_table(counted: dict[int, int], scale: float, form: Half) -> Table:
    shift, total = math.floor(math.log2(scale)), max(1, sum(counted.values()))
    span = range(min(counted), max(counted) + 1) if counted else range(0)
    counts = [(exponent, counted.get(exponent, 0)) for exponent in span]
    fates = [Sentence(f"halves.{form.fate_of_exponent(exponent + shift)}") for exponent in span]
    return Table(COLUMNS, tuple((at, n, 100 * n / total, fate) for (at, n), fate in zip(counts, fates)))


def _judge_scale(facts: dict[str, Scalar]) -> Finding:
    if not facts["gradients"]:
        return Finding("ACC295", Status.FIX, "ACC295.none", {}, weight=100)
    low, high, lost = (float(str(facts[name])) for name in ("lowest_scale", "highest_scale", LOST))
    args: dict[str, Scalar] = {"scale": format_scale(float(str(facts["scale"]))), "lost": round(100 * lost, 1)}
    args.update(format=facts["format"], gradients=facts["gradients"], largest=facts["largest"])
    serving: Scalar = Sentence(
        "halves.serve" if low <= high else "halves.none_serves", low=format_scale(low), high=format_scale(high)
    )
    if not facts["overflows"] and lost < FEW:
        return Finding("ACC295", Status.GOOD, "ACC295.fits", args, weight=100)
    key = "ACC295.overflow" if facts["overflows"] else "ACC295.lost"
    return Finding("ACC295", Status.LOOK, key, {**args, "serving": serving}, weight=100)
