"""What is asked of a child and what it answers; the simulator's own record of torch_npu's operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: From good to bad; what each means stands in ascend_workbook/locale/coverage.toml.
OUTCOMES = ("equal", "alike", "refused", "skipped", "raises", "crashed", "doubtful", "mismatch")
#: What a report says of an operator for which no document tells the types.
UNKNOWN = "dtype support unknown"


@dataclass(frozen=True)
class Request:
    """An entry of the database (`number` is its place there), the way to call it, and how many samples at most."""

    order: int
    number: int
    name: str
    variant: str
    direction: str
    dtype: str
    samples: int

    @property
    def label(self) -> str:
        return f"{self.name} ({self.variant})" if self.variant else self.name

    def to_dict(self) -> dict[str, Any]:
        return {"entry": self.number, "dtype": self.dtype, "direction": self.direction, "samples": self.samples}


@dataclass(frozen=True)
class Entry:
    """The outcome of a request. `operators` ran on the NPU for its first sample; empty where that is not known.

    `second` is what the result was held against beside the CPU: `numpy`, `float64`, or nothing.
    """

    request: Request
    outcome: str
    reason: str
    operators: tuple[str, ...] = ()
    second: str = ""

    @property
    def passed(self) -> bool:
        return self.outcome in ("equal", "alike")


@dataclass(frozen=True)
class State:
    """How the simulator runs one operator, and whose list of data types it keeps to (empty: not known)."""

    kind: str
    dtypes: str = ""


def operator_states(record: str) -> dict[str, State]:
    """Read npu_sim_operators(): NAME KIND [DTYPES] a line; DTYPES: a function of CANN, `torch_npu`, `unknown`, `-`."""
    states = {}
    for line in record.splitlines():
        name, kind, *rest = line.split()
        dtypes = rest[0] if rest and rest[0] not in ("unknown", "-") else ""
        states[name] = State(kind, dtypes)
    return states


def dtype_support(entry: Entry, states: Mapping[str, State]) -> str:
    """Return `known` where the hardware's list of types is known for every operator that computed; else UNKNOWN.

    Empty where the entry did not run.
    """
    if not entry.operators:
        return ""
    computed = [states[name] for name in entry.operators if name in states and states[name].kind == "simulated"]
    return "known" if computed and all(state.dtypes for state in computed) else UNKNOWN


#: What of each slice has to pass, in percent; other slices are reported without a bar.
BARS = {
    ("forward", "float32"): 99.0,
    ("backward", "float32"): 97.0,
    ("forward", "float16"): 95.0,
    ("forward", "bfloat16"): 95.0,
    ("forward", "int64"): 97.0,
    ("forward", "bool"): 97.0,
}
#: Entries that cannot be compared, and why. They count in no percentage; of a slice they may be at most 3 %.
EXCLUDED = {
    f"jiterator_{name}": "compiles CUDA source; it has no CPU result to compare with"
    for name in ("unary", "binary", "4inputs_with_extra_args", "binary_return_by_ref", "2inputs_2outputs")
}
MOST_EXCLUDED = 3.0


@dataclass(frozen=True)
class Count:
    """One direction and data type. `outcomes` counts entries by OUTCOMES."""

    direction: str
    dtype: str
    outcomes: dict[str, int]

    @property
    def entries(self) -> int:
        return sum(self.outcomes.values())

    @property
    def passed(self) -> int:
        return self.outcomes["equal"] + self.outcomes["alike"]

    @property
    def judged(self) -> int:
        """Return how many entries have a CPU result and are not refused by the NPU."""
        return self.entries - self.outcomes["skipped"] - self.outcomes["refused"]

    @property
    def percent(self) -> float | None:
        return 100.0 * self.passed / self.judged if self.judged else None

    @property
    def percent_of_all(self) -> float | None:
        """Return the percentage of all entries; what the NPU refuses counts as not passed."""
        comparable = self.entries - self.outcomes["skipped"]
        return 100.0 * self.passed / comparable if comparable else None

    @property
    def percent_excluded(self) -> float:
        return 100.0 * self.outcomes["skipped"] / self.entries if self.entries else 0.0

    @property
    def bar(self) -> float | None:
        return BARS.get((self.direction, self.dtype))

    @property
    def reaches_bar(self) -> bool:
        if self.bar is None or self.percent is None:
            return True
        return self.percent >= self.bar and self.percent_excluded <= MOST_EXCLUDED

    @property
    def silently_wrong(self) -> int:
        return self.outcomes["mismatch"] + self.outcomes["doubtful"] + self.outcomes["crashed"]


def count_outcomes(entries: Iterable[Entry]) -> list[Count]:
    """Return one Count for each direction and data type, in the order of their first entry."""
    slices: dict[tuple[str, str], Counter[str]] = {}
    for entry in entries:
        slices.setdefault((entry.request.direction, entry.request.dtype), Counter())[entry.outcome] += 1
    return [
        Count(direction, dtype, {outcome: outcomes[outcome] for outcome in OUTCOMES})
        for (direction, dtype), outcomes in slices.items()
    ]
