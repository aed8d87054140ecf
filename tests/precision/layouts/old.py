"""Writes folders as ptdbg_ascend did, 2023 to 2024.

https://gitcode.com/Ascend/mstt, debug/accuracy_tools/ptdbg_ascend/src/python/ptdbg_ascend/dump/dump.py: `dump_tensor`
walks lists, `append_pkl_data` makes the line, `dump_data` saves the array (a bfloat16 as float32), `dump_stack_info`
the stack, `flush` writes the lines as JSON.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch


class OldDump:
    """One rank's .pkl and its folder; `mode` is ptdbg's summary_mode: all, summary or md5."""

    def __init__(self, root: Path, step: int = 0, rank: str = "rank0", mode: str = "all", name: str = "dump") -> None:
        self.folder = root / "ptdbg_dump_v5.0" / f"step{step}" / rank
        self.mode, self.name = mode, name
        self.lines: list[Any] = []

    def call(self, prefix: str, inputs: Any, outputs: Any, line: int = 10) -> None:
        """`prefix` as `Functional_conv2d_0_forward`; a lone output is not in a list."""
        self._value(inputs, f"{prefix}_input")
        self._value(outputs, f"{prefix}_output")
        frames = [
            ["/x/site-packages/torch/nn/functional.py", "5", "f", "pass"],
            ["/home/user/train.py", str(line), "forward", "x = f(x)"],
        ]
        self.lines.append([f"{prefix}_stack_info", frames])

    def save(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        (self.folder / f"{self.name}.pkl").write_text(text)
        return self.folder / f"{self.name}.pkl"

    def _value(self, value: Any, name: str) -> None:
        if isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self._value(item, f"{name}.{index}")
        elif isinstance(value, torch.Tensor):
            self._tensor(value, name)
        elif isinstance(value, (bool, int, float)):
            self.lines.append([name, 0, [], str(type(value)), str([]), [value] * 4])
            self._array(np.asarray(value), name)

    def _tensor(self, value: torch.Tensor, name: str) -> None:
        array = (value.float() if value.dtype == torch.bfloat16 else value).detach().contiguous().numpy()
        wide = value.detach().double()
        figures = (wide.max(), wide.min(), wide.mean(), wide.norm())
        numbers = [] if self.mode == "md5" else [one.item() for one in figures]
        checksum: Any = f"{zlib.crc32(array.tobytes()):08x}" if self.mode == "md5" else []
        self.lines.append([name, 0, checksum, str(value.dtype), tuple(value.shape), numbers])
        self._array(array, name)

    def _array(self, array: Any, name: str) -> None:
        if self.mode == "all":
            (self.folder / self.name).mkdir(parents=True, exist_ok=True)
            np.save(self.folder / self.name / f"{name}.npy", array)
