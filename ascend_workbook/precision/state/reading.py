"""state.rank<R>.json of a capture: each step's gradients, updates and states, tensor by tensor, as sketches."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.capturing.manifest import STATES

SCHEMA = "ascend-workbook/state/1"
#: Numbers of a sketch (child/sketch.py).
SKETCH = 32
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tensor:
    """A tensor of which a sketch and some of its values were kept; `norm` is NaN where a number was not finite."""

    dtype: str
    shape: tuple[int, ...]
    norm: float
    largest: float
    sketch: Floats
    sample: Floats

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def finite(self) -> bool:
        return math.isfinite(self.norm)

    @classmethod
    def of_packed(cls, packed: list[Any]) -> Tensor:
        """Read one of what the plugin packed: [dtype, shape, norm, largest, base64], of several ranks its parts too."""
        dtype, shape, norm, largest, text = packed[:5]
        numbers = np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)
        return cls(dtype, tuple(shape), math.nan if norm is None else norm, largest, numbers[:SKETCH], numbers[SKETCH:])

    def distance(self, other: Tensor) -> float:
        """Estimate the L2 distance of two tensors of one shape."""
        if self.shape != other.shape or not (self.finite and other.finite):
            return math.inf
        # float32 keeps a sum of the sketch to within 1e-7 of its size
        return float(np.linalg.norm(self.sketch - other.sketch))


#: Tensors by name; a number stands for a tensor of one element.
Tensors = Mapping[str, Tensor]


def _read_tensors(packed: Mapping[str, Any]) -> dict[str, Tensor]:
    return {
        name: Tensor.of_packed(value) for name, value in packed.items() if isinstance(value, list) and len(value) >= 5
    }


@dataclass(frozen=True)
class Update:
    """One update by one optimizer: what it read, what it had, what it did."""

    raw: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.raw["class"])

    @property
    def place(self) -> str:
        return str(self.raw["place"])

    @property
    def backwards(self) -> int:
        return int(self.raw["backwards"])

    @cached_property
    def groups(self) -> list[dict[str, Any]]:
        return list(self.raw["groups"])

    @cached_property
    def group_of(self) -> dict[str, dict[str, Any]]:
        return {name: group for group in self.groups for name in group["names"]}

    @cached_property
    def gradients(self) -> dict[str, Tensor]:
        return _read_tensors(self.raw["gradient"])

    @cached_property
    def weights(self) -> dict[str, Tensor]:
        return _read_tensors(self.raw["weight"])

    @cached_property
    def updates(self) -> dict[str, Tensor]:
        return _read_tensors(self.raw.get("update", {}))

    @cached_property
    def before(self) -> dict[str, dict[str, Any]]:
        return _read_states(self.raw["before"])

    @cached_property
    def after(self) -> dict[str, dict[str, Any]]:
        return _read_states(self.raw.get("state", {}))


def _read_states(states: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            key: Tensor.of_packed(value) if isinstance(value, list) and len(value) >= 5 else value
            for key, value in slots.items()
        }
        for name, slots in states.items()
    }


@dataclass(frozen=True)
class Clip:
    """One call of clip_grad_norm_ or clip_grad_value_. `scaled`: the loss scale was still in the gradients."""

    kind: str
    limits: tuple[Any, ...]
    returned: float | None
    scaled: bool
    late: bool
    backwards: int
    place: str
    before: dict[str, Tensor]
    gradients: dict[str, Tensor]


@dataclass(frozen=True)
class Step:
    """One recorded iteration of one rank."""

    raw: Mapping[str, Any]

    @property
    def number(self) -> int:
        return int(self.raw["step"])

    @property
    def backwards(self) -> int:
        return int(self.raw["backwards"])

    @property
    def skipped(self) -> bool:
        return bool(self.raw.get("skipped"))

    @property
    def scale(self) -> float | None:
        return self.raw.get("scale")

    @cached_property
    def cumulated(self) -> list[dict[str, Tensor]]:
        """The gradients after each backward."""
        return [_read_tensors(part) for part in self.raw["gradients"]]

    def gradients_at(self, backwards: int) -> dict[str, Tensor]:
        """The gradients after so many backwards; of very many, those after the last."""
        return self.cumulated[min(backwards, len(self.cumulated)) - 1] if self.cumulated and backwards else {}

    @cached_property
    def gradients(self) -> dict[str, Tensor]:
        """The gradients after the last backward before the update that reads them."""
        whole = dict(self.gradients_at(self.backwards))
        for update in self.updates:
            seen = self.gradients_at(update.backwards)
            whole.update({name: seen[name] for name in update.group_of if name in seen})
        return whole

    @cached_property
    def unscaled(self) -> dict[str, Tensor]:
        """The gradients after the last call that took the loss scale out; empty where none did."""
        return _read_tensors(self.raw["unscales"][-1]["gradient"]) if self.raw["unscales"] else {}

    @cached_property
    def clips(self) -> list[Clip]:
        return [
            Clip(
                str(clip["kind"]),
                tuple(clip["limits"]),
                clip["returned"],
                bool(clip["scaled"]),
                clip["after"] >= max(1, len(self.raw["updates"])),
                int(clip["backwards"]),
                str(clip["place"]),
                _read_tensors(clip["before"]),
                _read_tensors(clip["gradient"]),
            )
            for clip in self.raw["clips"]
        ]

    @cached_property
    def updates(self) -> list[Update]:
        return [Update(update) for update in self.raw["updates"]]

    @cached_property
    def buffers(self) -> dict[str, Tensor]:
        return _read_tensors(self.raw.get("buffer", {}))

    @cached_property
    def buffers_before(self) -> dict[str, Tensor]:
        return _read_tensors(self.raw.get("buffer_before", {}))

    @cached_property
    def copies(self) -> dict[str, Tensor]:
        """Other copies of the weights, as they were when the step began."""
        return _read_tensors(self.raw.get("copy", {}))

    @cached_property
    def other_weights(self) -> dict[str, Tensor]:
        """Of several ranks the trained weights that no optimizer of this rank holds."""
        return _read_tensors(self.raw.get("other_weight", {}))

    @property
    def random(self) -> dict[str, str]:
        return dict(self.raw.get("random") or {})

    @property
    def recomputes(self) -> list[dict[str, Any]]:
        return list(self.raw.get("recomputes") or ())


@dataclass(frozen=True)
class States:
    """All recorded steps of one side, by rank; `troubles` are recordings that an error of their own ended."""

    ranks: Mapping[int, Mapping[int, Step]]
    troubles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self.ranks.values())


def _drop_left_over(before: Mapping[str, Any], step: Mapping[str, Any]) -> None:
    """Take out gradients that a model left behind which the script trains no more, having made it anew: no update
    holds their parameters, and they are what they were after the step before."""
    held = {name for update in step["updates"] for group in update["groups"] for name in group["names"]}
    stages = [*before["gradients"][-1:], *(part["gradient"] for part in (*before["unscales"], *before["clips"]))]
    stages += [update["gradient"] for update in before["updates"]]
    later = [part["gradient"] for part in (*step["unscales"], *step["clips"])]
    for gradients in (*step["gradients"], *later) if held else ():
        for name in [name for name in gradients if name not in held]:
            if any(stage.get(name) == gradients[name] for stage in stages):
                del gradients[name]


def read_states(folder: Path) -> States:
    """Read what lies in a capture's folder; empty where there is none. Raises WorkbookError where one is broken."""
    ranks: dict[int, dict[int, Step]] = {}
    troubles: list[str] = []
    for path in sorted(folder.glob(STATES)):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']!r}, expected {SCHEMA!r}")
            for before, step in reversed([*zip(content["steps"], content["steps"][1:])]):
                _drop_left_over(before, step)
            steps = [Step(step) for step in content["steps"]]
            for step in steps:  # everything is looked at once, so that what is broken is told here
                _ = [step.cumulated, step.unscaled, step.clips, step.buffers, step.buffers_before, step.copies]
                _ = [step.other_weights]
                _ = [(u.gradients, u.weights, u.updates, u.before, u.after) for u in step.updates]
            ranks[int(path.name.split(".")[1][4:])] = {step.number: step for step in steps}
            troubles += [str(content["error"])] if content.get("error") else []
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as cause:
            raise WorkbookError("precision.json_unreadable", path=str(path), error=str(cause)) from cause
    return States(ranks, tuple(troubles))
