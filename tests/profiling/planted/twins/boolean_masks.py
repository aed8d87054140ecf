"""A detector whose boxes are filtered picture by picture."""

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 5))

    def forward(self, anchors):
        return self.body(anchors)


def losses(output, target, matched):
    total = output.new_zeros(())
    weight = matched.float()
    parts = (output[..., :4] - target).abs().sum(-1) * weight
    score = nn.functional.binary_cross_entropy_with_logits(output[..., 4], weight)
    return total + (parts.sum(1) / weight.sum(1).clamp(min=1)).mean() + score


def main():
    torch.manual_seed(14)
    model = Detector().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    anchors, target = torch.randn(24, 200, 64).cuda(), torch.randn(24, 200, 4).cuda()
    matched = (torch.rand(24, 200) > 0.8).cuda()
    for step in range(60):
        optimizer.zero_grad()
        loss = losses(model(anchors), target, matched)
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
