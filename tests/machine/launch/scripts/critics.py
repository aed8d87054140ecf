"""Two updates of one optimiser for each of the other."""

import torch

torch.manual_seed(0)
a, b = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
of_a, of_b = torch.optim.SGD(a.parameters(), lr=0.1), torch.optim.SGD(b.parameters(), lr=0.1)
for _ in range(3):
    for module, optimizer in ((a, of_a), (a, of_a), (b, of_b)):
        optimizer.zero_grad()
        module(torch.ones(1, 2)).square().sum().backward()
        optimizer.step()
