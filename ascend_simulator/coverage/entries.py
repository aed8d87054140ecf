"""What is asked of a child and what it answers; the simulator's own record of torch_npu's operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: From good to bad; what each means stands in ascend_workbook/locale/coverage.toml.
OUTCOMES = ("equal", "alike", "refused", "skipped", "raises", "crashed", "mismatch")
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
    """The outcome of a request. `operators` ran on the NPU for its first sample; empty where that is not known."""

    request: Request
    outcome: str
    reason: str
    operators: tuple[str, ...] = ()

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
