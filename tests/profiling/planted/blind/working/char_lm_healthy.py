import math
import time

import torch
from torch import nn

cfg = dict(vocab=256, d=128, heads=4, layers=2, ctx=128, batch=6, steps=12, lr=3e-4)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def sinusoid(length, d):
    table = torch.zeros(length, d)
    for pos in range(length):
        for i in range(0, d, 2):
            table[pos, i] = math.sin(pos / 10000 ** (i / d))
            table[pos, i + 1] = math.cos(pos / 10000 ** (i / d))
    return table


def causal(length):
    return torch.triu(torch.full((length, length), float("-inf")), diagonal=1)


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        a = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(d // self.h) + mask, -1)
        x = x + self.out((a @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class LM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.emb = nn.Embedding(c["vocab"], c["d"])
        self.layers = nn.ModuleList(Layer(c["d"], c["heads"]) for _ in range(c["layers"]))
        self.head = nn.Linear(c["d"], c["vocab"])
        self.register_buffer("table", sinusoid(c["ctx"], c["d"]), persistent=False)
        self.register_buffer("mask", causal(c["ctx"]), persistent=False)

    def forward(self, ids):
        t = ids.size(1)
        x = self.emb(ids)
        x = x + self.table[:t]
        mask = self.mask[:t, :t]
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


torch.manual_seed(1)
corpus = torch.randint(0, cfg["vocab"], (200_000,))
model = LM(cfg).to(DEVICE)
opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
t0 = time.perf_counter()
for it in range(cfg["steps"]):
    at = torch.randint(0, len(corpus) - cfg["ctx"] - 1, (cfg["batch"],))
    chunk = torch.stack([corpus[a:a + cfg["ctx"] + 1] for a in at]).to(DEVICE)
    logits = model(chunk[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, cfg["vocab"]), chunk[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(f"loss {loss.item():.4f}")
print(f"steps_seconds={time.perf_counter() - t0:.4f}")
