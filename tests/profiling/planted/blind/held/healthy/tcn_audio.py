"""Temporal convolutional network on waveforms."""
import argparse
import time
import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=12)
p.add_argument("--length", type=int, default=2000)
a = p.parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Layer(nn.Module):
    def __init__(self, c, dilation):
        super().__init__()
        self.conv, self.mix = nn.Conv1d(c, 2 * c, 3, dilation=dilation, padding=dilation), nn.Conv1d(c, c, 1)

    def forward(self, x):
        return x + self.mix(nn.functional.glu(self.conv(x), 1))


torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(1, 24, 8, 4), *[Layer(24, 2 ** i) for i in range(6)], nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(24, 12)).to(device)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 2e-3, total_steps=a.steps)
wave, label = torch.randn(a.steps, 12, 1, a.length, device=device), torch.randint(0, 12, (a.steps, 12), device=device)
start = time.perf_counter()
for x, y in zip(wave, label):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
