import time
import torch
from torch import nn

cfg = {"patch": 8, "dim": 128, "tokens": 64, "depth": 4, "classes": 10, "bs": 16, "steps": 14}
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Mixer(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.token = nn.Sequential(nn.Linear(n, 128), nn.GELU(), nn.Linear(128, n))
        self.channel = nn.Sequential(nn.Linear(d, 256), nn.GELU(), nn.Linear(256, d))

    def forward(self, x):
        x = x + self.token(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.n2(x))


class Net(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.stem = nn.Conv2d(3, c["dim"], c["patch"], c["patch"])
        self.body = nn.Sequential(*(Mixer(c["tokens"], c["dim"]) for _ in range(c["depth"])))
        self.head = nn.Linear(c["dim"], c["classes"])

    def forward(self, x):
        return self.head(self.body(self.stem(x).flatten(2).transpose(1, 2)).mean(1))


torch.manual_seed(0)
net = Net(cfg).to(dev)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x, y = torch.rand(cfg["steps"], cfg["bs"], 3, 64, 64, device=dev), torch.randint(0, cfg["classes"], (cfg["steps"], cfg["bs"]), device=dev)
tic = time.perf_counter()
for step in range(cfg["steps"]):
    loss = nn.functional.cross_entropy(net(x[step]), y[step])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(loss.item())
print(f"steps_seconds={time.perf_counter() - tic:.4f}")
