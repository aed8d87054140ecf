"""Denoising diffusion on tiny images with averaged weights."""
import copy
import math
import time
import torch
import torch.nn as nn
import torch.nn.functional as F

T = 200


def schedule(n):
    s = torch.linspace(0, n, n + 1) / n
    a = torch.cos((s + 0.008) / 1.008 * math.pi / 2) ** 2
    betas = (1 - a[1:] / a[:-1]).clamp(max=0.999)
    return torch.cumprod(1 - betas, 0)


class ResBlock(nn.Module):
    def __init__(self, c, emb):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.g1, self.g2 = nn.GroupNorm(8, c), nn.GroupNorm(8, c)
        self.t = nn.Linear(emb, c)

    def forward(self, x, e):
        h = self.c1(F.silu(self.g1(x))) + self.t(e)[:, :, None, None]
        return x + self.c2(F.silu(self.g2(h)))


class Denoiser(nn.Module):
    def __init__(self, c=24, emb=1024, blocks=4):
        super().__init__()
        self.inp, self.out = nn.Conv2d(3, c, 3, padding=1), nn.Conv2d(c, 3, 3, padding=1)
        self.time = nn.Sequential(nn.Embedding(T, emb), nn.Linear(emb, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.blocks = nn.ModuleList(ResBlock(c, emb) for _ in range(blocks))

    def forward(self, x, t):
        e, h = self.time(t), self.inp(x)
        for b in self.blocks:
            h = b(h, e)
        return self.out(h)


class Average:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        fresh = copy.deepcopy(model)
        old, new = copy.deepcopy(self.shadow.state_dict()), copy.deepcopy(fresh.state_dict())
        self.shadow.load_state_dict({k: old[k] * self.decay + new[k] * (1 - self.decay) for k in old})


def train(steps=12, batch=8):
    torch.manual_seed(0)
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    alphas = schedule(T).to(dev)
    model = Denoiser().to(dev)
    average = Average(model)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    images = torch.rand(256, 3, 16, 16, device=dev) * 2 - 1
    tic = time.perf_counter()
    for _ in range(steps):
        x0 = images[torch.randint(0, 256, (batch,), device=dev)]
        t = torch.randint(0, T, (batch,), device=dev)
        noise = torch.randn_like(x0)
        a = alphas[t].view(-1, 1, 1, 1)
        loss = F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        average.update(model)
    print("loss", loss.item())
    print(f"steps_seconds={time.perf_counter() - tic:.4f}")


if __name__ == "__main__":
    train()
