"""A residual network that goes to half precision by hand."""

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        y = x.half() * self.scale.half()
        y = y.float() + self.shift
        y = y.half().float()
        return x + 0.1 * y.half().float()


def main():
    torch.manual_seed(12)
    model = nn.Sequential(nn.Linear(128, 256), *(Residual() for _ in range(10)), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(1024, 128).cuda(), torch.randint(0, 10, (1024,)).cuda()
    for step in range(60):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
