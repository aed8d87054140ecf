"""Fails in its third iteration, inside torch."""

import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.ones(2, 4 if step < 2 else 5)).sum()  # the shape is wrong
    loss.backward()
    optimizer.step()
