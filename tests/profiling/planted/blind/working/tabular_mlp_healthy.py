"""Tabular regression with a run logger."""
import time
import torch
from torch import nn
from tabular_mlp_healthy_runlog import RunLog

config = {"width": 256, "depth": 5, "batch": 256, "steps": 15, "lr": 1e-3, "device": "cuda" if torch.cuda.is_available() else "cpu"}


def build(c):
    layers = [nn.Linear(64, c["width"])]
    for _ in range(c["depth"]):
        layers += [nn.BatchNorm1d(c["width"]), nn.SiLU(), nn.Linear(c["width"], c["width"])]
    return nn.Sequential(*layers, nn.Linear(c["width"], 1)).to(c["device"])


def train(c):
    torch.manual_seed(0)
    net, log = build(c), RunLog()
    opt = torch.optim.AdamW(net.parameters(), lr=c["lr"])
    x = torch.randn(8192, 64, device=c["device"])
    y = x[:, :8].sin().sum(1, keepdim=True)
    begin = time.perf_counter()
    for step in range(c["steps"]):
        i = torch.randint(0, 8192, (c["batch"],), device=c["device"])
        loss = nn.functional.smooth_l1_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    log.scalar("loss", loss)
    print(f"steps_seconds={time.perf_counter() - begin:.4f}")


train(config)
