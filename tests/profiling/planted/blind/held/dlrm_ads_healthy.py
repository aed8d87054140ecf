"""Click-through model with embeddings (torch_npu)."""
import time

import numpy as np
import torch
from torch import nn

try:
    import torch_npu  # noqa
    device = torch.device("npu:0")
except ImportError:
    device = torch.device("cpu")

CONFIG = {"fields": 26, "dense": 13, "rows": 2000, "dim": 32, "batch": 256, "steps": 12}


class ClickModel(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(c["rows"], c["dim"]) for _ in range(c["fields"]))
        self.bottom = nn.Sequential(nn.Linear(c["dense"], 256), nn.ReLU(), nn.Linear(256, c["dim"]), nn.ReLU())
        n = c["fields"] + 1
        self.register_buffer("pairs", torch.triu_indices(n, n, 1))
        self.top = nn.Sequential(nn.Linear(n * (n - 1) // 2 + c["dim"], 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, dense, sparse):
        d = self.bottom(dense)
        e = torch.stack([d] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        inter = e @ e.transpose(1, 2)
        inter = inter[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([d, inter], 1)).squeeze(1)


class Log:
    def __init__(self, c, seed=0):
        r = np.random.default_rng(seed)
        self.dense = r.normal(size=(8192, c["dense"])).astype(np.float32)
        self.sparse = r.integers(0, c["rows"], (8192, c["fields"]))
        self.clicks = r.integers(0, 2, 8192).astype(np.float32)
        self.rng, self.c = r, c

    def batch(self):
        index = self.rng.integers(0, 8192, self.c["batch"])
        dense = torch.from_numpy(self.dense[index]).to(device)
        sparse = torch.from_numpy(self.sparse[index]).to(device)
        return dense, sparse, torch.from_numpy(self.clicks[index]).to(device)


def run(c):
    torch.manual_seed(0)
    model = ClickModel(c).to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    log = Log(c)
    t = time.perf_counter()
    for _ in range(c["steps"]):
        dense, sparse, click = log.batch()
        loss = nn.functional.binary_cross_entropy_with_logits(model(dense, sparse), click)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"logloss {loss.item():.4f}")
    print(f"steps_seconds={time.perf_counter() - t:.4f}")


run(CONFIG)
