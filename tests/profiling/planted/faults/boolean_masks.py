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
    for boxes, wanted, mask in zip(output, target, matched):
        chosen = boxes[mask]
        places = mask.nonzero().squeeze(1)
        total = total + (chosen[:, :4] - wanted[places]).abs().sum() / max(1, len(places))
        total = total + nn.functional.binary_cross_entropy_with_logits(boxes[:, 4], mask.float())
    return total / len(output)


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
