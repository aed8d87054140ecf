"""What one side made of one input: every module's call with its tensors, in the order in which calls end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ascend_workbook.precision.tensors.metrics import Array


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
    mode_matters: tuple[str, ...]
    weights: Mapping[str, str]
    settings: Mapping[str, str]
    formats: Mapping[str, str]
    count: int | None


class Side(Protocol):
    """One of the models with its inputs.

    `begin_input` and `finish_input` part starting from waiting, so that two processes run at the same time;
    `finish_input` gives None where the inputs are at an end. `close` gives what the simulator says of itself.
    """

    about: About

    def begin_input(self, index: int) -> None: ...

    def finish_input(self, index: int) -> Taken | None: ...

    def forget_input(self, index: int) -> None: ...

    def close(self) -> Mapping[str, Any]: ...


@dataclass
class Reader:
    """Makes a Taken out of recorder.py's answer; `values` gives a tensor's array."""

    values: Callable[[Mapping[str, Any]], Array]

    def read_answer(self, answer: Mapping[str, Any]) -> Taken:
        calls = tuple(
            Call(
                call["path"],
                call["kind"],
                call["number"],
                call["inside"],
                call["known"],
                self._read_tensors(call["inputs"]),
                self._read_tensors(call["outputs"]),
            )
            for call in answer["calls"]
        )
        details = {name: answer[name] for name in ("fingerprint", "drew", "cast", "error", "at")}
        return Taken(calls, **details)

    def _read_tensors(self, entries: list[Mapping[str, Any]]) -> tuple[Tensor, ...]:
        return tuple(
            Tensor(entry["slot"], entry["dtype"], tuple(entry["shape"]), self.values(entry)) for entry in entries
        )
