"""An optimiser that evaluates the loss itself, many times per step."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
x = torch.randn(16, 3)
for _ in range(3):
    first = []

    def closure(first=first):
        optimizer.zero_grad()
        loss = (model(x) - x.sum(dim=1, keepdim=True)).square().mean()
        loss.backward()
        first.append(loss.item())
        return loss

    optimizer.step(closure)
    print(f"loss {first[0]:.8f}")
