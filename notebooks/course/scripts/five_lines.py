"""Five lines that train one step; they say nothing of an NPU."""

import torch

weight = torch.ones(4, 4, requires_grad=True)
loss = (torch.arange(4.0) @ weight).sum()
loss.backward()
print(f"loss {loss.item():.1f}, gradient {weight.grad.sum().item():.1f}")
