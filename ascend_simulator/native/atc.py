#!/usr/bin/env python3
"""atc of the simulated NPU: converts an ONNX model into an offline model that the stand-in `acl.mdl` loads.

  atc --model=net.onnx --framework=5 --output=net --soc_version=Ascend910B3 [--option=value ...]
  atc --help            every option, and whether it acts, warns or is refused

It is copied into a folder bin/; what it does is in ../modules/offline_models.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "modules"))
    sys.exit(import_module("offline_models.command").main(sys.argv[1:]))
