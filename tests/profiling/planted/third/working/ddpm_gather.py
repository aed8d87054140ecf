"""Denoising diffusion of small pictures with a linear schedule."""
import math

import torch
import torch.nn as nn

TIMES = 1000


class Schedule:
    def __init__(self, device):
        betas = torch.linspace(1e-4, 0.02, TIMES)
        self.alphas = torch.cumprod(1 - betas, 0).to(device)

    def spread(self, table, times):
        picked = [table[t] for t in times.tolist()]
        return torch.stack(picked).view(-1, 1, 1, 1)

    def noisy(self, x, times, noise):
        signal = self.spread(self.alphas.sqrt(), times)
        rest = self.spread((1 - self.alphas).sqrt(), times)
        return signal * x + rest * noise


def time_features(times, width):
    rates = torch.exp(torch.arange(width // 2, device=times.device) * (-math.log(1e4) / (width // 2)))
    angles = times[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


class Denoiser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU())
        self.inlet, self.outlet = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.middle = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])

    def forward(self, x, times):
        h = self.inlet(x) + self.time(time_features(times, self.width))[:, :, None, None]
        for conv in self.middle:
            h = h + conv(nn.functional.silu(h))
        return self.outlet(h)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model, schedule = Denoiser().to(device), Schedule(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    pictures = torch.randn(512, 3, 16, 16, device=device)
    for step in range(40):
        x = pictures[step % 4 * 128 : (step % 4 + 1) * 128]
        times, noise = torch.randint(0, TIMES, (128,), device=device), torch.randn_like(x)
        loss = nn.functional.mse_loss(model(schedule.noisy(x, times, noise), times), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


main()
