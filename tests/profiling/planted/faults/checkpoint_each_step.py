"""A wide network that must never be lost."""

import os
import tempfile

import torch
from torch import nn


def build(width=768):
    return nn.Sequential(nn.Linear(128, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))


def save(folder, model, optimizer, step):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, os.path.join(folder, "last.pt"))


def main():
    torch.manual_seed(7)
    model = build().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data, labels = torch.randn(64, 128).cuda(), torch.randint(0, 10, (64,)).cuda()
    with tempfile.TemporaryDirectory() as folder:
        for step in range(60):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(data), labels)
            loss.backward()
            optimizer.step()
            save(folder, model, optimizer, step)
    print(loss.item())


if __name__ == "__main__":
    main()
