"""A residual network on CIFAR-sized pictures, with a running confusion matrix."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm1(self.first(x)))
        return F.relu(x + self.norm2(self.second(y)))


class Confusion:
    def __init__(self, classes, device):
        self.classes = classes
        self.matrix = torch.zeros(classes * classes, device=device)
        self.one = torch.ones((), device=device)

    def update(self, logits, target):
        place = target * self.classes + logits.detach().argmax(-1)
        self.matrix.index_add_(0, place, self.one.expand(place.numel()))

    def accuracy(self):
        matrix = self.matrix.view(self.classes, self.classes).cpu()
        return (matrix.diagonal().sum() / matrix.sum()).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=96)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda")
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), Residual(16), nn.Conv2d(16, 32, 3, stride=2, padding=1), Residual(32),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    ).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    pictures = torch.randn(8 * args.batch, 3, 32, 32, device=device)
    classes = torch.randint(0, 10, (8 * args.batch,), device=device)
    confusion = Confusion(10, device)
    for step in range(args.steps):
        at = step % 8 * args.batch
        x, y = pictures[at : at + args.batch], classes[at : at + args.batch]
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        confusion.update(logits, y)
    print("accuracy", confusion.accuracy(), "loss", loss.item())


if __name__ == "__main__":
    main()
