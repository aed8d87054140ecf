"""Runs every `check_*` function of the files given, on the simulated NPU; prints one JSON line per check.

Started by path, in the simulator's environment, by test_on_npu.py.
"""

from __future__ import annotations

import json
import runpy
import sys
import traceback
import warnings
from pathlib import Path

import torch


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for path in map(Path, sys.argv[1:]):
        checks = runpy.run_path(str(path))
        for name in [name for name in checks if name.startswith("check_")]:
            torch.manual_seed(0)
            try:
                checks[name]()
                error = ""
            except Exception:  # noqa: BLE001  any failure is the check's result
                error = traceback.format_exc()
            print("CHECK " + json.dumps({"check": f"{path.stem}::{name}", "error": error}), flush=True)


if __name__ == "__main__":
    main()
