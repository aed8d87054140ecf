"""Gradient accumulation: three micro-batches per update, and clipping."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(4):
    losses = []
    for _ in range(3):
        x = torch.randn(8, 4)
        loss = (model(x) - x.sum(dim=1, keepdim=True)).square().mean()
        loss.backward()
        losses.append(loss.item())
    print(f"mean {sum(losses) / 3:.8f}")
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    print(f"norm {norm.item():.8f}")
    optimizer.step()
    optimizer.zero_grad()
