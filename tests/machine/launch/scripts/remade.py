"""A script that resumes in the same process: its model and optimiser are made anew, the old ones stay."""

import torch

torch.manual_seed(0)
kept = []
for _ in range(2):
    module = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    kept.append((module, optimizer))
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.ones(1, 2)).square().sum().backward()
        optimizer.step()
