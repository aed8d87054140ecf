"""A GradScaler whose third iteration has infinite gradients; the scaled loss is divided as for accumulation."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.cuda.amp.GradScaler(init_scale=1024.0)
for iteration in range(5):
    x = torch.randn(8, 4).cuda()
    with torch.cuda.amp.autocast():
        loss = (model(x).float() - x.sum(dim=1, keepdim=True)).square().mean()
    if iteration == 2:
        loss = loss * float("inf")
    (scaler.scale(loss) / 2).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(f"iteration {iteration} loss {loss.item():.8f} scale {scaler.get_scale()}")
