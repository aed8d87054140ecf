"""A side in this process: a model that the caller made."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from helpers import cann
from helpers.errors import WorkbookError
from helpers.precision.verify.taken import About, Reader, Taken


class Inputs:
    """Inputs one at a time, shared by the sides that run them one after the other."""

    def __init__(self, inputs: Iterable[Any]) -> None:
        if not isinstance(inputs, Iterable) or isinstance(inputs, (dict, str, bytes)) or hasattr(inputs, "dtype"):
            raise WorkbookError("verify.inputs_kind", found=type(inputs).__name__)
        self.count = len(inputs) if isinstance(inputs, Sized) else None
        self.rest: Iterator[tuple[int, Any]] = enumerate(inputs)
        self.now: tuple[int, Any] = (-1, None)

    def get(self, index: int) -> tuple[bool, Any]:
        """Whether there is one of this number, not before the last one asked for; and it."""
        while self.now[0] < index:
            following = next(self.rest, None)
            if following is None:
                return False, None
            self.now = following
        return True, self.now[1]


class LocalSide:
    """Runs the model as it is: its device and mode stay, its buffers and the random generators are put back."""

    def __init__(self, name: str, model: Any, inputs: Inputs, seed: int) -> None:
        from helpers.precision.child import recorder

        self.recorder, self.model, self.inputs, self.seed = recorder, model, inputs, seed
        self.about = about(name, recorder.about(model), _tier(recorder.device_of(model).type), _formats(), inputs.count)

    @classmethod
    def reference(cls, model: Any, inputs: Inputs, seed: int) -> LocalSide:
        """A copy of the model in float64 on the CPU."""
        return cls("reference", copy.deepcopy(model).to("cpu").double(), inputs, seed)

    def begin(self, index: int) -> None:
        """Nothing runs beside us here."""

    def end(self, index: int) -> Taken | None:
        there, given = self.inputs.get(index)
        if not there:
            return None
        return Reader(lambda entry: entry["values"]).read(self.recorder.forward(self.model, given, self.seed + index))

    def forget(self, index: int) -> None:
        """What was taken goes with the last that holds it."""

    def close(self) -> Mapping[str, Any]:
        from helpers.launch.child import simulator

        return simulator.found() if self.about.tier == "npu-simulated" else {}


def about(name: str, told: Mapping[str, Any], tier: str, formats: Mapping[str, str], count: int | None) -> About:
    """recorder.py's facts as an About."""
    return About(name, tier, told["model"], told["dtype"], told["device"], told["training"],
                 tuple(told["mode_matters"]), told["weights"], told["settings"], formats, count)  # fmt: skip


def _tier(device: str) -> str:
    here = cann.find() if device == "npu" else None
    return "npu-simulated" if here is not None and here.simulated else device


def _formats() -> dict[str, str]:
    import torch

    from helpers.settings.child import settings

    return dict(zip(("conv", "matmul"), settings.formats(torch)))
