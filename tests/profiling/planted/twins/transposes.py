"""Mixing along channels and along time in turns."""

import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, size=384, depth=20):
        super().__init__()
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(size)) for _ in range(2 * depth))
        self.head = nn.Linear(size, size)

    def forward(self, x):
        for at, scale in enumerate(self.scales):
            if at % 2:
                x = x * scale[:, None]
            else:
                x = x * scale
        return self.head(x)


def main():
    torch.manual_seed(9)
    model = Mixer().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(384, 384).cuda()
    for step in range(60):
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
