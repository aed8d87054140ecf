"""What a dump says: tensors, the operators they belong to, and the run (one step on one rank). And between msprobe's
API names and the dispatcher's operators: `Functional.conv2d` runs `aten::convolution`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from ascend_workbook.findings.finding import Place

FORWARD, BACKWARD, PARAMETERS = "forward", "backward", "parameters_grad"


@dataclass(frozen=True)
class TensorRecord:
    """One tensor of an operator. `slot` says where it stands: `input.0`, `output.1`, `parameters.weight`.

    dtype without the `torch.` (`float32`); statistics are None where the dump has none; `file` holds the values
    and is None in statistics dumps. `checksum` is msprobe's (agreement.py); `trouble` says why nothing can be read."""

    slot: str
    dtype: str
    shape: tuple[int, ...]
    maximum: float | None = None
    minimum: float | None = None
    mean: float | None = None
    norm: float | None = None
    file: Path | None = None
    checksum: str | None = None
    trouble: str = ""

    @property
    def is_floating(self) -> bool:
        return "float" in self.dtype or "complex" in self.dtype


class Module(NamedTuple):
    """A module of the model by its path (`layer1.0.conv1`; the model itself by its class), and its class."""

    path: str
    kind: str


@dataclass(frozen=True)
class Operator:
    """One call of an API or a module, in one direction, as msprobe names it.

    `head` is the name without call number and direction (`Functional.conv2d`), `call` counts its calls from 0,
    `order` its place in the dump, which is the order of execution. `place` is the caller's file and line,
    `arguments` the numbers and flags it was called with, by slot; `module` the innermost one that ran, where that was
    recorded."""

    name: str
    head: str
    call: int
    direction: str
    order: int
    inputs: tuple[TensorRecord, ...]
    outputs: tuple[TensorRecord, ...]
    place: Place | None = None
    arguments: tuple[tuple[str, bool | int | float], ...] = ()
    module: Module | None = None

    @property
    def is_module(self) -> bool:
        return self.head.startswith("Module.") or self.head.startswith("Cell.")

    @property
    def api(self) -> str:
        """Return the API's own name: `conv2d` of `Functional.conv2d`."""
        return self.head.rpartition(".")[2]

    def add_tensor(self, record: TensorRecord) -> Operator:
        """Return the call with one tensor more, an output where its slot says so."""
        if record.slot.startswith("output"):
            return replace(self, outputs=(*self.outputs, record))
        return replace(self, inputs=(*self.inputs, record))


@dataclass(frozen=True)
class Run:
    """One step on one rank. `containers` are module entries inside which recorded entries ran; `leaves` those of
    them that hold API calls only. `cut` says that the record was damaged and its rest is not known, `replayable` that
    the arguments of calls were recorded in a dump.json. `around` are the modules that held APIs, each with the module
    around it; `sources` names the calls that made each forward call's inputs."""

    folder: Path
    step: int
    rank: int
    task: str
    level: str
    operators: tuple[Operator, ...]
    containers: frozenset[str] = field(default_factory=frozenset)
    leaves: frozenset[str] = field(default_factory=frozenset)
    cut: bool = False
    replayable: bool = True
    around: Mapping[Module, Module | None] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> dict[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def by_call(self) -> dict[tuple[str, int, str], Operator]:
        """Map each operator by head, call number and direction: the same in every layout, whatever a name
        looks like."""
        return {(operator.head, operator.call, operator.direction): operator for operator in self.operators}

    def check(self) -> None:
        """Raises ValueError where the facts contradict themselves: order, or a name given twice."""
        if [operator.order for operator in self.operators] != list(range(len(self.operators))):
            raise ValueError(f"{self.folder}: operators are not in execution order")
        if not len(self.by_name) == len(self.by_call) == len(self.operators):
            raise ValueError(f"{self.folder}: an operator name stands twice")


#: Between msprobe's API names and the dispatcher's operators: `Functional.conv2d` runs `aten::convolution`.
DATA = Path(__file__).parent / "data" / "operators.json"


@cache
def load_operator_table() -> dict[str, dict[str, list[str]]]:
    """Load, for `forward` and `backward`, the map from an aten operator to the API names that call it there."""
    content: dict[str, dict[str, list[str]]] = json.loads(DATA.read_text(encoding="utf-8"))
    return {direction: content[direction] for direction in (FORWARD, BACKWARD)}


def kernels_of_operator(operator: Operator) -> list[str]:
    """Return the aten operators that this call may have run, in the table's order; empty where it knows none."""
    api = operator.api.lower() if operator.is_module else operator.api
    return [name for name, apis in load_operator_table().get(operator.direction, {}).items() if api in apis]
