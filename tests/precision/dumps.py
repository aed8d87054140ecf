"""Makes dump folders as msprobe 26.2 writes them, from tensors given by a test."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import torch

from ascend_workbook.precision.capturing import manifest

#: As experiment_facts.py tells it, of a run that took one step; samples were not recorded one by one.
EXPERIMENT = {
    "seeds": {"torch": 1},
    "modules": {"": ["Net", ""]},
    "weights": {"w": [1.0]},
    "batches": {"0": []},
    "optimizers": [{"class": "SGD", "groups": [{"lr": 0.1}]}],
    "rates": {"0": [0.1]},
    "loss": "NllLossBackward",
}


class Dump:
    """One rank's folder of one step, filled entry by entry and then saved."""

    def __init__(self, root: Path, *, step: int = 0, rank: str = "proc7", task: str = "tensor") -> None:
        self.folder = root / f"step{step}" / rank
        self.task = task
        self.data: dict[str, Any] = {}
        self.stack: dict[str, Any] = {}

    def forward(
        self,
        api: str,
        inputs: list[Any],
        outputs: list[Any],
        *,
        call: int = 0,
        line: int = 10,
        requires_grad: tuple[int, ...] = (),
        **named: Any,
    ) -> None:
        name = f"{api}.{call}.forward"
        given = [self._value(v, f"{name}.input.{i}", i in requires_grad) for i, v in enumerate(inputs)]
        keywords = {key: self._value(v, f"{name}.input.{key}") for key, v in named.items()}
        entry = {
            "input_args": given,
            "input_kwargs": keywords,
            "output": [self._value(v, f"{name}.output.{i}") for i, v in enumerate(outputs)],
        }
        self.data[name] = entry
        frames = [
            "File /x/site-packages/torch/nn/functional.py, line 5, in f, \n pass",
            f"File /home/user/train.py, line {line}, in forward, \n x = f(x)",
        ]
        self.stack[str(len(self.stack))] = [[name], frames]

    def backward(self, api: str, incoming: list[Any], outgoing: list[Any], *, call: int = 0) -> None:
        name = f"{api}.{call}.backward"
        sides = {"input": incoming, "output": outgoing}
        self.data[name] = {
            side: [self._value(value, f"{name}.{side}.{index}") for index, value in enumerate(values)]
            for side, values in sides.items()
        }

    def save(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        task = "statistics" if self.task == "md5" else self.task  # md5 is statistics' summary_mode
        content = {"task": task, "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": self.data}
        (self.folder / "dump.json").write_text(json.dumps(content), encoding="utf-8")
        (self.folder / "stack.json").write_text(json.dumps(self.stack), encoding="utf-8")
        (self.folder / "construct.json").write_text("{}", encoding="utf-8")
        return self.folder

    def _value(self, value: Any, name: str, requires_grad: bool = False) -> Any:
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return [self._value(item, f"{name}.{index}") for index, item in enumerate(value)]
        if not isinstance(value, torch.Tensor):
            return {"type": type(value).__name__, "value": value}
        if self.task == "md5":
            crc = zlib.crc32(value.detach().numpy().tobytes())
            return {
                "type": "torch.Tensor",
                "dtype": str(value.dtype),
                "shape": list(value.shape),
                "requires_grad": requires_grad,
                "md5": f"{crc:08x}",
            }
        wide = value.detach().double() if value.numel() else torch.zeros(1).double()
        entry = {
            "type": "torch.Tensor",
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "requires_grad": requires_grad,
        }
        numbers = {"Max": wide.max(), "Min": wide.min(), "Mean": wide.mean(), "Norm": wide.norm()}
        entry.update({name: number.item() for name, number in numbers.items()})
        if self.task == "tensor":
            entry["data_name"] = f"{name}.pt"
            files = self.folder / "dump_tensor_data"
            files.mkdir(parents=True, exist_ok=True)
            torch.save(value.detach().contiguous(), files / entry["data_name"])
        return entry


def as_capture(folder: Path, **about: Any) -> Path:
    """Turns `folder`/dump into a complete capture with a manifest."""
    side = {
        "rank": 0,
        "weights": {"w": "a"},
        "batches": {"0": ["b"]},
        "numerics": about.pop("numerics", {}),
        "settings": {"flags": {}},
        "experiment": EXPERIMENT,
        **about.pop("side", {}),
    }
    facts = {"tier": "cpu", "root": "/home/user", "args": [], "seed": 1, "level": "L1", "task": "tensor", **about}
    manifest.Manifest(folder, True, facts, manifest.list_files(folder), {"rank0": side}).write_file()
    return folder
