"""SimCLR with two views."""
import argparse
import time
import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), nn.ReLU(), nn.Conv2d(24, 48, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.projector = nn.Sequential(nn.Linear(48 * 16, 256), nn.ReLU(), nn.Linear(256, dim))

    def forward(self, x):
        return F.normalize(self.projector(self.trunk(x)), dim=1)


class NTXent(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, a, b):
        n = len(a)
        z = torch.cat([a, b])
        sim = z @ z.t() / self.temperature
        owner = torch.arange(n, device=z.device).repeat(2)
        sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool, device=z.device), float("-inf"))
        return F.cross_entropy(sim, torch.arange(2 * n, device=z.device).roll(n))


def views(x):
    return x + 0.1 * torch.randn_like(x), x.flip(-1) + 0.1 * torch.randn_like(x)


def main(args):
    torch.manual_seed(args.seed)
    dev = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    pool = torch.rand(512, 3, 48, 48, device=dev)
    enc, crit = Encoder().to(dev), NTXent()
    opt = torch.optim.SGD(enc.parameters(), lr=0.03, momentum=0.9)
    t = time.perf_counter()
    for _ in range(args.steps):
        x = pool[torch.randint(0, 512, (args.batch,), device=dev)]
        a, b = views(x)
        loss = crit(enc(a), enc(b))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("loss", float(loss))
    print(f"steps_seconds={time.perf_counter() - t:.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--batch", type=int, default=96)
    p.add_argument("--steps", type=int, default=12)
    p.add_argument("--seed", type=int, default=0)
    main(p.parse_args())
