"""What `watch.py` measures of a step: norms on their device, and whether each weight is what its update left. Loaded by
path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

#: Of a device one in so many weights is read exactly at each step.
EXACT_TURN = 16
#: Bytes of the optimizers' states that are summed at each step, in turn: a few milliseconds whatever the model's size.
STATE_BYTES = 4 << 20
PREFIXES = ("module.", "_orig_mod.", "_fsdp_wrapped_module.")

_raw = torch._C._VariableFunctions
_base = torch.Tensor.__base__
_detach, _stack, _foreach_norm = _base.detach, _raw.stack, _raw._foreach_norm
_norm, _to = torch._C._linalg.linalg_vector_norm, _base.to


class Entry:
    """One step: what is known on the host, and 0-d tensors on the device under what they are."""

    def __init__(self) -> None:
        self.step = self.skipped = self.width = 0
        self.rate: float | None = None
        self.loss: float | None = None
        self.scale: float | None = None
        self.slots: list[tuple[str, int]] = []
        self.values: list[torch.Tensor] = []
        self.packed: torch.Tensor | None = None
        self.held: set[int] = set()
        self.updates: list[tuple[int, bool]] = []
        self.changed: list[tuple[int, str]] = []
        self.checked: set[int] = set()
        self.moments: set[int] = set()
        self.spoilt: set[int] = set()
        self.frozen: set[int] = set()

    def add(self, slot: tuple[str, int], value: torch.Tensor) -> None:
        self.slots.append(slot)
        self.values.append(value)

    def pack(self) -> None:
        """Join the numbers of the step as one tensor."""
        if not self.values:
            return
        device = self.values[0].device
        values = [_to(value, torch.float32) if value.dtype != torch.float32 else value for value in self.values]
        self.packed = _stack([value if value.device == device else _to(value, device) for value in values])
        self.values = []

    def make_record(self, numbers: list[float], modules: list[str]) -> dict[str, Any]:
        by_slot = dict(zip(self.slots, numbers))
        record: dict[str, Any] = {"step": self.step, "loss": by_slot.get(("loss", 0), self.loss), "lr": self.rate}
        scale = by_slot.get(("scale", 0), self.scale)
        if scale is not None:
            record["loss_scale"] = scale
        if self.skipped:
            record["skipped"] = self.skipped
        norms = _undo_clipping(by_slot, self.held)
        record["grad_norm"] = math.sqrt(sum(norm * norm for norm in norms.values())) if norms else None
        record["gradients"] = [_shorten(norms.get(place)) for place in range(self.width)]
        if self.updates:
            record["updates"] = [
                (place, *_ratio_of(by_slot[("moved", place)], by_slot[("weight", place)]), moves)
                for place, moves in self.updates
            ]
        activations = [(place, number) for (kind, place), number in by_slot.items() if kind == "activation"]
        if activations:
            record["activations"] = {modules[place]: _shorten(number) for place, number in activations}
        flags = [(place, kind) for (kind, place), flag in by_slot.items() if kind in ("program", "silent") and flag]
        changed = [*self.changed, *flags]
        if changed:
            record["changed"] = sorted(dict(reversed(changed)).items())
        spoilt = {place for (kind, place), flag in by_slot.items() if kind == "moment" and flag} | self.spoilt
        if self.moments:
            record["moments"] = [len(self.moments), *sorted(spoilt)]
        if self.frozen:
            record["frozen"] = sorted(self.frozen)
        if len(self.checked) < self.width:
            record["checked"] = sorted(self.checked)
        return record


def _undo_clipping(by_slot: dict[tuple[str, int], float], held: set[int]) -> dict[int, float]:
    """The norms as they were before clipping: what the update used, over the factor that clipping multiplied by.

    The factor is the median over the parameters, so that a gradient that was changed after clipping shows."""
    norms = {place: by_slot[("gradient", place)] for place in held}
    factors = []
    for place, norm in norms.items():
        raw = by_slot.get(("raw", place))
        if raw is not None and not math.isfinite(raw):
            return {other: by_slot.get(("raw", other), value) for other, value in norms.items()}
        if raw and norm > 0 and math.isfinite(norm):
            factors.append(norm / raw)
    factor = sorted(factors)[len(factors) // 2] if factors else 0.0
    return {place: norm / factor for place, norm in norms.items()} if factor > 0 else norms


def _ratio_of(moved: float, weight: float) -> tuple[float | None, float]:
    """(how far it moved as a share of the weight, the weight's norm)"""
    return (_shorten(moved / weight) if weight > 0 else None), _shorten(weight) or 0.0


def _shorten(value: float | None) -> float | None:
    return value if value is None or not math.isfinite(value) else float(f"{value:.4g}")


def parameters_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def rates_of(optimizer: torch.optim.Optimizer) -> dict[int, float]:
    """The learning rate of each parameter."""
    rates: dict[int, float] = {}
    for group in optimizer.param_groups:
        rate = float(group.get("lr", 1.0))
        rates.update(dict.fromkeys(map(id, group["params"]), rate))
    return rates


def plain_value(value: torch.Tensor | None) -> torch.Tensor:
    """This rank's own elements, dense and real."""
    assert value is not None
    value = value.to_local() if hasattr(value, "to_local") else value
    if value.layout != torch.strided:
        value = value.coalesce().values()
    value = _detach(value)
    return torch.view_as_real(value) if value.is_complex() else value


def norms_of(values: list[torch.Tensor]) -> list[torch.Tensor]:
    """The L2 norm of each, 0-d float32 on its device; half precision is summed in float32."""
    norms: list[Any] = [None] * len(values)
    kinds: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for place, value in enumerate(values):
        kinds.setdefault((value.device, value.dtype), []).append(place)
    for (_, dtype), places in kinds.items():
        own = [values[place] for place in places]
        if dtype in (torch.float16, torch.bfloat16):
            result = [_norm(value, dtype=torch.float32) for value in own]
        else:
            result = list(_foreach_norm(own))
        for place, norm in zip(places, result):
            norms[place] = norm
    return norms


def name_parameters(models: list[torch.nn.Module]) -> dict[int, str]:
    """The path of each parameter, without what wrappers put before it."""
    names: dict[int, str] = {}
    for number, model in enumerate(models):
        for path, parameter in model.named_parameters():
            for prefix in PREFIXES:
                path = path.replace(prefix, "") if path.startswith(prefix) or f".{prefix}" in path else path
            names.setdefault(id(parameter), path if number == 0 else f"{number}:{path}")
    return names


class Found:
    """What a check of weights came to: places looked at, changed ones with how, and flags still on the device."""

    def __init__(self) -> None:
        self.checked: list[int] = []
        self.changed: list[tuple[int, str]] = []
        self.flags: list[tuple[int, str, torch.Tensor]] = []


class Weights:
    """What each update left, to be held against what the next one finds."""

    def __init__(self) -> None:
        self.error: str | None = None
        self._left: dict[int, Any] = {}
        self._norms: dict[int, torch.Tensor] = {}
        self._versions: dict[int, int] = {}
        self._written: set[int] = set()

    def check(self, places: list[int], parameters: list[torch.Tensor], step: int) -> Found:
        result = Found()
        if self.error is not None:
            return result
        try:
            self._check(places, parameters, result)
        except (RuntimeError, TypeError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return result

    def note(self, places: list[int], parameters: list[torch.Tensor], step: int) -> None:
        if self.error is not None:
            return
        try:
            on_device = [place for place in places if parameters[place].device.type != "cpu"]
            values = [plain_value(parameters[place]) for place in on_device]
            self._norms.update(zip(on_device, norms_of(values)))
            self._versions.update((place, parameters[place]._version) for place in places)
            for place in places:
                parameter = parameters[place]
                if parameter.device.type == "cpu":
                    self._left[place] = _digest(parameter)
                elif place % EXACT_TURN == step % EXACT_TURN:
                    self._left[place] = _sum_of_bits(parameter)
        except (RuntimeError, TypeError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}".splitlines()[0][:200]

    def _check(self, places: list[int], parameters: list[torch.Tensor], result: Found) -> None:
        """A script that writes to a weight at every step (clamping) may change it at any: then nothing is said."""
        known = [place for place in places if place in self._versions]
        written = {place for place in known if parameters[place]._version != self._versions.pop(place)}
        habits, self._written = written & self._written, (self._written - set(known)) | written
        on_device = [place for place in places if place in self._norms]
        norms = norms_of([plain_value(parameters[place]) for place in on_device])
        for place, norm in zip(on_device, norms):
            left = self._norms.pop(place)
            flag = (norm != left) & ((norm == norm) | (left == left))  # what was NaN and is NaN did not change
            if place in self._left:
                flag = flag | (_sum_of_bits(parameters[place]) != self._left.pop(place))
            result.checked.append(place)
            if place not in habits:
                result.flags.append((place, "program" if place in written else "silent", flag))
        for place in places:
            if place in self._left:
                digest = self._left.pop(place)
                result.checked.append(place)
                if place not in habits and _digest(parameters[place]) != digest:
                    result.changed.append((place, "program" if place in written else "silent"))


class Moments:
    """What an update left of the optimizer's state, part by part in turn, to be held against what the next one finds.
    A tensor that the script wrote to, or put another one in the place of, is not told."""

    def __init__(self) -> None:
        self.error: str | None = None
        self._left: list[tuple[int, torch.Tensor, str, int, tuple[torch.Tensor, slice], Any, Any]] = []
        self._turn = 0

    def check(self, places: dict[int, int]) -> tuple[list[int], list[int], list[tuple[int, torch.Tensor]]]:
        """Return the parameters looked at, those whose state changed, and flags still on the device. `places` are those
        of the parameters by identity."""
        left, self._left = self._left, []
        looked, changed, flags = [], [], []
        try:
            for place, parameter, slot, version, part, digest, state in left:
                now = _slots_of(state, parameter).get(slot) if places.get(id(parameter)) == place else None
                if now is None or now is not part[0] or now._version != version:
                    continue
                looked.append(place)
                again = _read_bits(now, part[1])
                if isinstance(digest, torch.Tensor):
                    flags.append((place, again != digest))
                elif again != digest:
                    changed.append(place)
        except (RuntimeError, TypeError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return looked, changed, flags

    def note(self, optimizer: torch.optim.Optimizer, places: dict[int, int]) -> None:
        """Read the parts whose turn it is, after an update."""
        if self.error is not None:
            return
        try:
            parts = [
                (parameter, slot, value, start)
                for parameter in parameters_of(optimizer)
                if id(parameter) in places
                for slot, value in _slots_of(optimizer.state, parameter).items()
                if isinstance(value, torch.Tensor) and value.dim() and value.is_floating_point()
                for start in range(0, value.numel() * value.element_size(), STATE_BYTES)
            ]
            room = STATE_BYTES
            for number in range(len(parts)):
                parameter, slot, value, start = parts[(self._turn + number) % len(parts)]
                size = min(STATE_BYTES, value.numel() * value.element_size() - start)
                if size > room:
                    break
                room -= size
                within = slice(start // value.element_size(), (start + size) // value.element_size())
                place, digest = places[id(parameter)], _read_bits(value, within)
                self._left.append((place, parameter, slot, value._version, (value, within), digest, optimizer.state))
            self._turn = (self._turn + len(self._left)) % max(1, len(parts))
        except (RuntimeError, TypeError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _slots_of(state: Any, parameter: torch.Tensor) -> dict[str, Any]:
    """What an optimizer keeps of a parameter by name; nothing where it keeps one tensor in the place of a dict."""
    slots = state.get(parameter)
    return slots if isinstance(slots, dict) else {}


def _read_bits(value: torch.Tensor, part: slice) -> Any:
    """An exact digest of some elements, as they lie in memory: a number on the CPU, a tensor on a device."""
    value = plain_value(value)
    by_stride = sorted(range(value.dim()), key=value.stride, reverse=True)
    own = value.permute(by_stride).reshape(-1)[part]  # of channels_last too no copy of the whole
    return _digest(own) if own.device.type == "cpu" else _sum_of_bits(own)


def _digest(parameter: torch.Tensor) -> int:
    """An exact digest of a weight on the CPU: any one bit that flips changes it."""
    value = plain_value(parameter)
    flat = value.contiguous().view(-1)
    size = flat.numel() * flat.element_size()
    words = (flat if flat.dtype in (torch.float32, torch.float64) else flat.view(torch.uint8)).numpy().view(np.uint8)
    whole = size // 8 * 8
    return int(np.bitwise_xor.reduce(words[:whole].view(np.uint64), initial=0)) ^ hash(words[whole:].tobytes())


def _sum_of_bits(parameter: torch.Tensor) -> torch.Tensor:
    """The sum of a weight's bits as whole numbers, which wraps: any one bit that flips changes it."""
    value = plain_value(parameter).contiguous()
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return value.view(kinds[value.element_size()]).sum(dtype=torch.int32)
