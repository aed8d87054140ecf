"""Siamese network with a contrastive loss; loss is logged every fifth step only."""
import time
import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    import torch_npu
    dev = "npu"
except ImportError:
    dev = "cpu"


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 16, 5, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(128), nn.ReLU(), nn.Linear(128, 32))

    def forward(self, a, b):
        return F.pairwise_distance(*self.f(torch.cat([a, b])).chunk(2))


def contrastive(d, same, margin=1.0):
    return (same * d ** 2 + (1 - same) * F.relu(margin - d) ** 2).mean()


torch.manual_seed(0)
net = Siamese()
net(torch.zeros(1, 1, 48, 48), torch.zeros(1, 1, 48, 48))
net = net.to(dev)
opt = torch.optim.RMSprop(net.parameters(), lr=1e-4)
a, b, same = torch.rand(15, 24, 1, 48, 48).to(dev), torch.rand(15, 24, 1, 48, 48).to(dev), torch.randint(0, 2, (15, 24)).float().to(dev)
start = time.perf_counter()
for step in range(15):
    loss = contrastive(net(a[step], b[step]), same[step])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        print(step, loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
