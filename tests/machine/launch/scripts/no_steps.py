"""Evaluates only; leaves with a code of its own if asked."""

import sys

import torch

print(torch.nn.Linear(4, 1)(torch.ones(1, 4)).shape)
if len(sys.argv) > 1:
    sys.exit(int(sys.argv[1]) if sys.argv[1].isdigit() else sys.argv[1])
