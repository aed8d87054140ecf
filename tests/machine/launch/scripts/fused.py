"""The same with a fused optimiser, which is always called and leaves the update out by itself."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, fused=True)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for iteration in range(4):
    x = torch.randn(8, 4)
    loss = (model(x) - x.sum(dim=1, keepdim=True)).square().mean()
    if iteration == 1:
        loss = loss * float("inf")
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]) / scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    print(f"loss {loss.item():.8f} norm {norm.item():.8f}")
