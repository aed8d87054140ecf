"""Child process: `verify_child.py JOB`. One side of a verification: makes the model and runs inputs as it is asked.

Started by path; imports nothing of ours but recorder.py beside it. JOB is a JSON file: {"factory", "checkpoint",
"inputs", "device", "mode", "seed", "double", "folder", "recorder", "settings", "simulator"}. A line of JSON is
answered on the standard output for each line of the input: first the model's facts, then {"index": N} by what the
model made of input N (its tensors as bytes in a file), {"close": true} ends it."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

#: Under these names checkpoints keep the model's part.
PARTS = ("state_dict", "model_state_dict", "model", "module")


class CannotStart(Exception):
    """What is asked for is not there; the text names it."""


class Inputs:
    """By number; of a generator only forwards, one at a time, so that the rest need not be in memory."""

    def __init__(self, inputs: Any) -> None:
        self.made = inputs
        self.count = len(inputs) if hasattr(inputs, "__len__") and hasattr(inputs, "__getitem__") else None
        self.rest: Iterator[tuple[int, object]] = enumerate(() if self.count is not None else inputs)

    def get(self, index: int) -> tuple[bool, object]:
        """Whether there is one, and it."""
        if self.count is not None:
            return index < self.count, self.made[index] if index < self.count else None
        return next(((True, item) for at, item in self.rest if at >= index), (False, None))


def load(path: str, name: str) -> Any:
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CannotStart(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def call(target: str) -> object:
    """`path.py:function` called without arguments."""
    path, _, function = target.rpartition(":")
    sys.path.insert(0, str(Path(path).parent))
    factory = getattr(load(path, f"_verified_{Path(path).stem}"), function, None)
    if not callable(factory):
        raise CannotStart(f"{path} has no function {function}")
    return factory()


def model_of(job: dict[str, Any], recorder: Any) -> torch.nn.Module:
    recorder.seed_all(job["seed"])
    model = call(job["factory"])
    if not isinstance(model, torch.nn.Module):
        raise CannotStart(f"{job['factory']} gives a {type(model).__name__}, not a torch.nn.Module")
    if job["checkpoint"]:
        content = read(job["checkpoint"])
        if not isinstance(content, dict):
            raise CannotStart(f"{job['checkpoint']}: holds a {type(content).__name__}, not a state_dict")
        model.load_state_dict(next((content[key] for key in PARTS if isinstance(content.get(key), dict)), content))
    if job["double"]:
        model = model.double()
    model = model.to(job["device"])
    return model.train(job["mode"] == "train") if job["mode"] else model


def read(path: str) -> object:
    """A .pt of tensors, left on the disk until they are needed where its format allows it. Raises CannotStart."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except (OSError, EOFError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        text = (str(error).strip().splitlines() or ["no tensors are in it"])[0]
        raise CannotStart(f"{path}: {type(error).__name__}: {text}") from error


class Side:
    """The model, its inputs and the answers."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.folder = Path(job["folder"])
        self.seed = job["seed"]
        if job["device"].startswith("npu"):
            from torch_npu.contrib import transfer_to_npu  # noqa: F401 - a factory may call .cuda()
        self.recorder = load(job["recorder"], "_workbook_recorder")
        self.simulator = load(job["simulator"], "_workbook_simulator")
        self.recorder.seed_all(job["seed"])
        inputs: Any = read(job["inputs"]) if job["inputs"].endswith((".pt", ".pth")) else call(job["inputs"])
        alone = job["inputs"].endswith((".pt", ".pth")) and not isinstance(inputs, (list, tuple))
        self.inputs = Inputs([inputs] if alone else inputs)
        self.model = model_of(job, self.recorder)
        formats = load(job["settings"], "_workbook_settings").formats(torch)
        self.facts = {
            **self.recorder.about(self.model),
            "count": self.inputs.count,
            "formats": dict(zip(("conv", "matmul"), formats)),
        }

    def answer(self, asked: dict[str, Any]) -> dict[str, object]:
        if asked.get("close"):
            return {"simulator": self.simulator.describe_simulator()}
        there, model_input = self.inputs.get(asked["index"])
        if not there:
            return {"end": True}
        answer: dict[str, Any] = self.recorder.forward(self.model, model_input, self.seed + asked["index"])
        path = self.folder / f"{asked['index']}.bin"
        tensors = [tensor for call in answer["calls"] for tensor in (*call["inputs"], *call["outputs"])]
        arrays = [tensor.pop("values") for tensor in tensors]
        places: dict[int, int] = {}  # the bytes of every array once; a tensor keeps where they begin
        with path.open("wb") as stream:
            for tensor, values in zip(tensors, arrays):
                if id(values) not in places:
                    places[id(values)] = stream.tell()
                    stream.write(values.data)
                tensor["at"], tensor["stored"] = places[id(values)], values.dtype.str
        return {**answer, "file": str(path)}


def main(path: str) -> None:
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the model prints is no answer
    try:
        side = Side(job)
    except Exception as error:  # whatever a factory raises is told
        text = " ".join(line.strip() for line in str(error).splitlines()[:3])
        message = text if isinstance(error, CannotStart) else f"{type(error).__name__}: {text}"
        print(json.dumps({"error": message[:400]}), file=channel, flush=True)
        raise
    print(json.dumps(side.facts), file=channel, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(side.answer(asked)), file=channel, flush=True)
        if asked.get("close"):
            break


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    main(sys.argv[1])
