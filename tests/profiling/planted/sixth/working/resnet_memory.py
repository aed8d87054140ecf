"""A residual network for small pictures; the memory of the process is watched for a leak."""
import os
import subprocess

import torch
import torch.nn as nn
import torch.nn.functional as F


class BasicBlock(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(o)
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(o)
        self.short = nn.Identity() if stride == 1 and i == o else nn.Conv2d(i, o, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(BasicBlock(3, 16), BasicBlock(16, 32, 2), BasicBlock(32, 64, 2))
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool2d(self.body(x), 1).flatten(1))


def resident_mb():
    out = subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())])
    return int(out) / 1024


class Watch:
    def __init__(self):
        self.values = []

    def step(self):
        self.values.append(resident_mb())

    def report(self):
        print(f"memory {self.values[0]:.0f} -> {self.values[-1]:.0f} MB")


def run():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = ResNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    images, labels = torch.randn(128, 3, 24, 24, device=device), torch.randint(0, 10, (128,), device=device)
    watch = Watch()
    for step in range(48):
        at = 8 * (step % 16)
        loss = F.cross_entropy(model(images[at : at + 8]), labels[at : at + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch.step()
    watch.report()


if __name__ == "__main__":
    run()
