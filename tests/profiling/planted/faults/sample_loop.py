"""Pairs that are scored by one shared network."""

import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.left = nn.Linear(width, 128)
        self.right = nn.Linear(width, 128)

    def forward(self, left, right):
        return (torch.relu(self.left(left)) * torch.relu(self.right(right))).sum(-1)


def main():
    torch.manual_seed(20)
    model = Scorer().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    left, right, target = torch.randn(48, 64).cuda(), torch.randn(48, 64).cuda(), torch.rand(48).cuda()
    for step in range(60):
        scores = []
        for number in range(len(left)):
            scores.append(model(left[number:number + 1], right[number:number + 1]))
        scores = torch.cat(scores)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
