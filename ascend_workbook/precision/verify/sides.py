"""What one side made of one input: every module's call with its tensors, in the order in which calls end."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import cann
from ascend_workbook.precision.tensors.metrics import Array


class Inputs:
    """Inputs one at a time, shared by the sides that run them one after the other."""

    def __init__(self, inputs: Iterable[object]) -> None:
        if not isinstance(inputs, Iterable) or isinstance(inputs, (dict, str, bytes)) or hasattr(inputs, "dtype"):
            raise WorkbookError("verify.inputs_kind", found=type(inputs).__name__)
        self.count = len(inputs) if isinstance(inputs, Sized) else None
        self.rest: Iterator[tuple[int, object]] = enumerate(inputs)
        self.now: tuple[int, object] = (-1, None)

    def get_input(self, index: int) -> tuple[bool, object]:
        """Return whether there is an input of this number, not before the last one asked for; and it."""
        if self.now[0] < index:
            self.now = next((there for there in self.rest if there[0] >= index), (-1, None))
        return self.now[0] >= index, self.now[1]


class LocalSide:
    """Runs the model as it is: its device and mode stay, its buffers and the random generators are put back."""

    def __init__(self, name: str, model: object, inputs: Inputs, seed: int) -> None:
        import torch

        from ascend_workbook.machine.settings.child import settings
        from ascend_workbook.precision.child import recorder

        self.recorder, self.model, self.inputs, self.seed = recorder, model, inputs, seed
        tier = recorder.device_of(model).type
        here = cann.find_cann() if tier == "npu" else None
        tier = "npu-simulated" if here is not None and here.simulated else tier
        formats = dict(zip(("conv", "matmul"), settings.formats(torch)))
        self.about = About(name, tier, formats=formats, count=inputs.count, **recorder.about(model))

    @classmethod
    def make_reference(cls, model: Any, inputs: Inputs, seed: int) -> LocalSide:
        """Make a side of a copy of the model in float64 on the CPU."""
        return cls("reference", copy.deepcopy(model).to("cpu").double(), inputs, seed)

    def begin_input(self, index: int) -> None:
        """Do nothing: no model runs beside us here."""

    def finish_input(self, index: int) -> Taken | None:
        there, model_input = self.inputs.get_input(index)
        if not there:
            return None
        answer = self.recorder.forward(self.model, model_input, self.seed + index)
        return read_answer(answer, lambda entry: entry["values"])

    def forget_input(self, index: int) -> None:
        """Do nothing: what was taken goes with the last that holds it."""

    def close(self) -> Mapping[str, object]:
        from ascend_workbook.machine.launch.child import simulator

        return simulator.describe_simulator() if self.about.tier == "npu-simulated" else {}


@dataclass(frozen=True)
class Tensor:
    """`values` is flat; `dtype` is torch's name, also where numpy has to hold it as float32."""

    slot: str
    dtype: str
    shape: tuple[int, ...]
    values: Array


@dataclass(frozen=True)
class Call:
    """The `number`-th call (from 0) of the module at `path` ("" is the model itself); `kind` is its class, `known`
    whether that is one of torch.nn's. `inside` counts the calls before this one that it made itself."""

    path: str
    kind: str
    number: int
    inside: int
    known: bool
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def key(self) -> tuple[str, int]:
        return self.path, self.number

    @property
    def name(self) -> str:
        """Return the module's path, `layer1.0.conv1`; with `#2` for its third call; `(model)` for the model itself."""
        return (self.path or "(model)") + (f"#{self.number}" if self.number else "")


@dataclass(frozen=True)
class Taken:
    """`error` is what the model raised, "" where nothing, in the module `at`; `drew` tells that random numbers were
    drawn, `cast` to which dtype the input was brought, `fingerprint` which input it was."""

    calls: tuple[Call, ...] = ()
    fingerprint: str = ""
    drew: bool = False
    cast: str = ""
    error: str = ""
    at: str = ""


@dataclass(frozen=True)
class About:
    """A side before it runs. `formats` are reduced formats in force ({"conv": "hf32"}), `weights` fingerprints by
    name, `settings` how torch's own modules describe themselves by path, `mode_matters` modules in training mode whose
    result depends on it, `count` of the inputs if it is known."""

    name: str
    tier: str
    model: str
    dtype: str
    device: str
    training: bool
    mode_matters: Sequence[str]
    weights: Mapping[str, str]
    settings: Mapping[str, str]
    formats: Mapping[str, str]
    count: int | None


class Side(Protocol):
    """One of the models with its inputs.

    `begin_input` and `finish_input` part starting from waiting, so that two processes run at the same time;
    `finish_input` gives None where the inputs are at an end. `close` gives what the simulator says of itself."""

    about: About

    def begin_input(self, index: int) -> None: ...

    def finish_input(self, index: int) -> Taken | None: ...

    def forget_input(self, index: int) -> None: ...

    def close(self) -> Mapping[str, object]: ...


def read_answer(answer: Mapping[str, Any], values: Callable[[Mapping[str, Any]], Array]) -> Taken:
    """Make a Taken out of recorder.py's answer; `values` gives a tensor's array."""

    def read_tensors(entries: list[Mapping[str, Any]]) -> tuple[Tensor, ...]:
        return tuple(Tensor(entry["slot"], entry["dtype"], tuple(entry["shape"]), values(entry)) for entry in entries)

    calls = tuple(
        Call(**{**call, "inputs": read_tensors(call["inputs"]), "outputs": read_tensors(call["outputs"])})
        for call in answer["calls"]
    )
    return Taken(calls, **{name: answer[name] for name in ("fingerprint", "drew", "cast", "error", "at")})
