#!/usr/bin/env python3
"""Where torch_npu's profiler and users find the stand-in msprof: loads the folder it lies in as a package, runs it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here.parent))
    sys.exit(importlib.import_module(f"{here.name}.command").main(sys.argv[1:]))
