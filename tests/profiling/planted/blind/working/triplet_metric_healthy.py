import time
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

try:
    import torch_npu
    dev = torch.device("npu:0")
except ImportError:
    dev = torch.device("cpu")


def mine(z, y):
    """Hardest positive and negative for each anchor."""
    with torch.no_grad():
        d = torch.cdist(z, z)
        same = y[:, None] == y[None]
        return d.masked_fill(~same, -1.0).argmax(1), d.masked_fill(same, 1e9).argmin(1)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 5, 2, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
        self.fc = nn.Linear(16 * 49, 256)

    def forward(self, x):
        return F.normalize(self.fc(self.features(x).flatten(1)), dim=1)


def fit(steps=15, p=16, k=16):
    torch.manual_seed(0)
    model = Embedder().to(dev)
    opt = torch.optim.Adam(model.parameters(), lr=3e-4)
    y = torch.arange(p).repeat_interleave(k).to(dev)
    proto = torch.rand(p, 1, 28, 28, device=dev)
    start = time.perf_counter()
    for _ in range(steps):
        x = proto[y] + 0.3 * torch.randn(p * k, 1, 28, 28, device=dev)
        z = model(x)
        a, b = mine(z, y)
        loss = F.relu(0.2 + (z - z[a]).pow(2).sum(1) - (z - z[b]).pow(2).sum(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("triplet", loss.item())
    print(f"steps_seconds={time.perf_counter() - start:.4f}")


fit()
