"""A side in this process: a model that the caller made."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import cann
from ascend_workbook.precision.verify.taken import About, Reader, Taken


class Inputs:
    """Inputs one at a time, shared by the sides that run them one after the other."""

    def __init__(self, inputs: Iterable[Any]) -> None:
        if not isinstance(inputs, Iterable) or isinstance(inputs, (dict, str, bytes)) or hasattr(inputs, "dtype"):
            raise WorkbookError("verify.inputs_kind", found=type(inputs).__name__)
        self.count = len(inputs) if isinstance(inputs, Sized) else None
        self.rest: Iterator[tuple[int, Any]] = enumerate(inputs)
        self.now: tuple[int, Any] = (-1, None)

    def get_input(self, index: int) -> tuple[bool, Any]:
        """Return whether there is an input of this number, not before the last one asked for; and it."""
        while self.now[0] < index:
            following = next(self.rest, None)
            if following is None:
                return False, None
            self.now = following
        return True, self.now[1]


class LocalSide:
    """Runs the model as it is: its device and mode stay, its buffers and the random generators are put back."""

    def __init__(self, name: str, model: Any, inputs: Inputs, seed: int) -> None:
        from ascend_workbook.precision.child import recorder

        self.recorder, self.model, self.inputs, self.seed = recorder, model, inputs, seed
        self.about = make_about(
            name, recorder.about(model), _find_tier(recorder.device_of(model).type), _active_formats(), inputs.count
        )

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
        return Reader(lambda entry: entry["values"]).read_answer(
            self.recorder.forward(self.model, model_input, self.seed + index)
        )

    def forget_input(self, index: int) -> None:
        """Do nothing: what was taken goes with the last that holds it."""

    def close(self) -> Mapping[str, Any]:
        from ascend_workbook.machine.launch.child import simulator

        return simulator.describe_simulator() if self.about.tier == "npu-simulated" else {}


def make_about(
    name: str, details: Mapping[str, Any], tier: str, formats: Mapping[str, str], count: int | None
) -> About:
    """Make an About of recorder.py's facts."""
    return About(
        name,
        tier,
        details["model"],
        details["dtype"],
        details["device"],
        details["training"],
        tuple(details["mode_matters"]),
        details["weights"],
        details["settings"],
        formats,
        count,
    )


def _find_tier(device: str) -> str:
    here = cann.find_cann() if device == "npu" else None
    return "npu-simulated" if here is not None and here.simulated else device


def _active_formats() -> dict[str, str]:
    import torch

    from ascend_workbook.machine.settings.child import settings

    return dict(zip(("conv", "matmul"), settings.formats(torch)))
