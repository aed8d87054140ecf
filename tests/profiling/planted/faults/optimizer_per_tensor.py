"""Many small experts, each with parameters of its own."""

import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self, experts=60, width=32):
        super().__init__()
        self.first = nn.ParameterList(nn.Parameter(torch.randn(width, 8) / 8) for _ in range(experts))
        self.scale = nn.ParameterList(nn.Parameter(torch.ones(8)) for _ in range(experts))
        self.shift = nn.ParameterList(nn.Parameter(torch.zeros(8)) for _ in range(experts))

    def forward(self, x):
        first = torch.cat(list(self.first), 1)
        return torch.relu(x @ first * torch.cat(list(self.scale)) + torch.cat(list(self.shift))).mean(1)


def main():
    torch.manual_seed(17)
    model = Experts().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    x, target = torch.randn(256, 32).cuda(), torch.randn(256).cuda()
    for step in range(60):
        loss = (model(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
