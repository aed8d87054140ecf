"""A rehearsal's data is loaded by its own process, whatever a script asks of workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLUGIN = Path(__file__).parents[3] / "ascend_workbook" / "planning" / "child" / "lean_loading.py"
CODE = f"""
import runpy
import torch
from torch.utils.data import DataLoader, TensorDataset
runpy.run_path({str(PLUGIN)!r})["attach"](None, {{}})
data = TensorDataset(torch.arange(8))
named = DataLoader(data, batch_size=4, num_workers=3, prefetch_factor=4, persistent_workers=True, timeout=9)
placed = DataLoader(data, 2, False, None, None, 5)
print(named.num_workers, placed.num_workers, [batch[0].tolist() for batch in named], len(placed))
"""


def test_no_worker_is_started() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "0 0 [[0, 1, 2, 3], [4, 5, 6, 7]] 4", done.stderr
