"""`python case.py AREA.NAME`: run one case of a module beside this file."""

import importlib
import sys

import torch

if __name__ == "__main__":
    torch.use_deterministic_algorithms("deterministic" in sys.argv, warn_only=True)
    area, name = sys.argv[1].split(".")
    getattr(importlib.import_module(area), name)()
