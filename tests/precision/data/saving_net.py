"""A training script with calls of msprobe in it: it names a tensor to save, and starts and stops by itself."""

import sys

import torch
from msprobe.pytorch import PrecisionDebugger

torch.manual_seed(0)
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    PrecisionDebugger.start(model=model)
    output = model(torch.ones(3, 4).cuda())
    if "--silent" not in sys.argv:
        PrecisionDebugger.save(output, "output")
    optimizer.zero_grad()
    output.square().sum().backward()
    PrecisionDebugger.stop()
    PrecisionDebugger.step()
    optimizer.step()
