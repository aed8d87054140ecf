"""A launch plugin: what a training held in memory, which low-precision types it used, and when it drew at random.

Runs in the user's process by path and imports nothing of the workbook. Writes proof.json into the launch's folder: of
every parameter that is trained some values before the first update and after the last step, and of what `torch.save`
wrote the same by its path. Notes `low_precision` with the dtype, once for
each: autocast regions, and parameters held in half. Keeps in the log's meta, at every step:

    "memory": {"host_peak_mib": 812, "device_peak_mib": 40, "steps": [[600, 31], ...],
               "limit_mib": 9000, "ended": false}
    "random": {"first_step": 3, "modules": ["blocks.0.drop", ...], "count": 12}

`steps` are what the process (its resident set) and the device's allocator hold after each step; the device's are None
where it has no allocator of its own. Numbers are of this process. `first_step` is 0 where values were drawn from the
device's own random generator before the first step, None where none were; `modules` are those of the model that draw
while they train. It is read from the generator, whose offset moves with every draw and with nothing else, so no
operator is looked at and none is slower.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

MIB = 2**20
LOOK_EVERY_S = 0.2
PAGE = os.sysconf("SC_PAGESIZE")
#: Modules that are named.
SHOWN = 3
#: Values kept of a tensor, and tensors of a training.
SAMPLE, MOST_TENSORS = 256, 2000


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Watch memory, types and draws. `device`: npu, cuda or cpu; `limit_mib`: where the process is ended, or None."""
    watch_memory(observer, config)
    watch_types(observer)
    watch_random(observer, config)
    if not observer.rank:
        watch_proof(observer)


def resident_mib() -> int:
    """Return the resident set of this process; its largest so far where /proc is not there."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * PAGE // MIB
    except OSError:
        return peak_mib()


def peak_mib() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // MIB


def watch_memory(observer: Any, config: dict[str, Any]) -> None:
    """Watch the memory; end the process where it holds more than `limit_mib` (None: never): the machine need not."""
    memory_log: dict[str, Any] = {"host_peak_mib": 0, "device_peak_mib": None, "steps": [], "ended": False}
    memory_log["limit_mib"] = config.get("limit_mib")
    observer.log.content["meta"]["memory"] = memory_log
    name = config.get("device", "")

    def record_peaks(*_: object) -> None:
        device = _find_allocator(name)
        memory_log["host_peak_mib"] = peak_mib()
        if device is not None:
            memory_log["device_peak_mib"] = device.max_memory_allocated() // MIB

    def step_ended(step: dict[str, Any]) -> None:
        record_peaks()
        device = _find_allocator(name)
        memory_log["steps"].append([resident_mib(), None if device is None else device.memory_allocated() // MIB])

    observer.on_step(step_ended)
    observer.on_end(record_peaks)
    if memory_log["limit_mib"]:
        threading.Thread(target=_end_beyond_limit, args=(observer, memory_log), daemon=True).start()


def _find_allocator(name: str) -> Any:
    """torch.npu or torch.cuda where the script has used it, else None: asking must not wake a device up."""
    module = getattr(torch, name, None) if name in ("npu", "cuda") else None
    return module if module is not None and module.is_initialized() else None


def _end_beyond_limit(observer: Any, memory_log: dict[str, Any]) -> None:
    owner = os.getpid()
    while os.getpid() == owner:
        time.sleep(LOOK_EVERY_S)
        if resident_mib() > memory_log["limit_mib"]:
            memory_log.update(ended=True, host_peak_mib=peak_mib())
            observer.log.write(force=True)
            os.kill(owner, signal.SIGKILL)


def watch_types(observer: Any) -> None:
    seen: set[str] = set()

    def note_low_precision(dtype: torch.dtype) -> None:
        name = str(dtype).replace("torch.", "")
        if name not in seen and name in ("float16", "bfloat16"):
            seen.add(name)
            observer.note("low_precision", dtype=name)

    enter = torch.autocast.__enter__

    def enter_autocast(self: Any) -> Any:
        if self._enabled:
            note_low_precision(self.fast_dtype)
        return enter(self)

    torch.autocast.__enter__ = enter_autocast

    def note_parameters(model: torch.nn.Module) -> None:
        for parameter in model.parameters():
            note_low_precision(parameter.dtype)

    observer.on_model(note_parameters)


def watch_random(observer: Any, config: dict[str, Any]) -> None:
    """Watch the random generator of `device`, npu or cuda; elsewhere the script's generator is the CPU's."""
    name = config.get("device", "")
    if name not in ("npu", "cuda"):
        return
    draws_log: dict[str, Any] = {"first_step": None, "modules": [], "count": 0}
    observer.log.content["meta"]["random"] = draws_log
    seen: dict[int, bytes] = {}

    def note_draw(step: int) -> None:
        drawn = _has_drawn(name, seen)
        if drawn and draws_log["first_step"] is None:
            draws_log["first_step"] = step

    def note_drawing_modules(model: torch.nn.Module) -> None:
        note_draw(0)
        names = [path for path, module in model.named_modules() if _draws_at_random(module)]
        draws_log["modules"] = (draws_log["modules"] + names)[:SHOWN]
        draws_log["count"] += len(names)

    observer.on_model(note_drawing_modules)
    observer.on_step(lambda step: note_draw(step["step"]))
    observer.on_end(lambda status: note_draw(len(observer.log.content.get("steps", ())) + 1))


def _has_drawn(name: str, seen: dict[int, bytes]) -> bool:
    """Whether any device's generator has drawn since the last look, or since it was seeded."""
    module = getattr(torch, name, None)
    if module is None or not module.is_initialized():
        return False
    moved = False
    for number, generator in enumerate(module.default_generators):
        state = bytes(generator.get_state().numpy())
        offset = state[8:16]  # Philox: a seed of 8 bytes, an offset of 8
        moved = moved or (any(offset) and state != seen.get(number))
        seen[number] = state
    return moved


def _draws_at_random(module: torch.nn.Module) -> bool:
    """nn.Dropout and its kin, attention with a dropout of its own, and the drop paths of model libraries."""
    kind = type(module).__name__.lower()
    for attribute in ("p", "drop_prob", "dropout", "dropout_p", "attention_dropout"):
        chance = getattr(module, attribute, None)
        if isinstance(chance, (int, float)) and not isinstance(chance, bool) and 0 < chance <= 1:
            return "drop" in kind or "attention" in kind or isinstance(module, torch.nn.RNNBase)
    return False


def watch_proof(observer: Any) -> None:
    """Keep what shows that a training trained: values of parameters at both ends, and of saved files."""
    trained: dict[int, tuple[str, torch.Tensor]] = {}
    proof: dict[str, Any] = {"begin": {}, "end": {}, "saved": {}}

    def note_parameters(named: Iterable[tuple[str, torch.Tensor]]) -> None:
        for name, parameter in named:
            if id(parameter) not in trained and len(trained) < MOST_TENSORS:
                trained[id(parameter)] = name, parameter  # held, so that no other tensor gets its id
                proof["begin"][name] = take_sample(parameter)

    def before_update(optimizer: torch.optim.Optimizer, *_: object) -> None:
        for at, group in enumerate(optimizer.param_groups):
            note_parameters((f"optimizer.{at}.{place}", held) for place, held in enumerate(group["params"]))

    def write_proof(*_: object) -> None:
        if not proof["end"]:
            proof["end"] = {name: take_sample(parameter) for name, parameter in trained.values()}
            (Path(observer.out) / "proof.json").write_text(json.dumps(proof), encoding="utf-8")

    save = torch.save

    @functools.wraps(save)
    def note_saved(content: object, target: object, *args: object, **kwargs: object) -> object:
        result = save(content, target, *args, **kwargs)
        if isinstance(target, (str, os.PathLike)) and len(proof["saved"]) < MOST_TENSORS:
            tensors = dict(islice(walk_tensors("", content), MOST_TENSORS))
            name = os.path.relpath(os.path.abspath(target))  # noqa: PTH100
            proof["saved"][name] = {at: [list(tensor.shape), take_sample(tensor)] for at, tensor in tensors.items()}
        return result

    torch.save = torch.serialization.save = note_saved
    observer.on_model(lambda model: note_parameters(model.named_parameters()))
    register_optimizer_step_pre_hook(before_update)
    observer.on_step(lambda step: write_proof() if step["step"] == observer.limit else None)
    observer.on_end(write_proof)


def take_sample(tensor: torch.Tensor) -> list[float]:
    """Return values of a tensor, evenly spread over it; none of one that has none to read."""
    try:
        with torch.no_grad():
            plain = tensor.detach().to_local() if hasattr(tensor, "to_local") else tensor.detach()
            values = torch.view_as_real(plain) if plain.is_complex() else plain
            values = values.cpu().to(torch.float64).reshape(-1)
            listed: list[float] = values[:: -(-len(values) // SAMPLE) or 1][:SAMPLE].tolist()
    except (RuntimeError, ValueError, NotImplementedError):  # not yet made, sparse, or on no device
        return []
    return listed


def walk_tensors(name: str, content: object) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors in what is saved, by the keys that lead to them."""
    if isinstance(content, torch.Tensor):
        yield name, content
    elif isinstance(content, torch.nn.Module):
        yield from walk_tensors(name, dict(content.state_dict()))
    elif isinstance(content, (dict, list, tuple)):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in pairs:
            yield from walk_tensors(f"{name}.{key}" if name else str(key), value)
