"""A training script of a few operators: convolution, attention by softmax, cross entropy. Made for a GPU."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.functional import relu  # bound before anything can wrap it, unless that is early enough

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--width", type=int, default=6)
parser.add_argument("--fail", action="store_true")
args = parser.parse_args()
torch.manual_seed(args.seed)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.conv3 = nn.Conv2d(width, 4, 3, padding=1)
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        x = relu(self.norm(self.conv1(x)))
        x = self.conv3(torch.tanh(self.conv2(x)))
        tokens = x.flatten(2).transpose(1, 2)
        weights = F.softmax(tokens @ tokens.transpose(1, 2) / 2, dim=-1)
        return self.head((weights @ tokens).mean(dim=1))


model = Net(args.width).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x, y = torch.randn(8, 1, 6, 6).cuda(), torch.randint(5, (8,)).cuda()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    if args.fail and step == 1:
        raise ValueError("the data ended")
    optimizer.step()
    with torch.no_grad():
        model.eval()(x)  # an evaluation in between is no part of a step
    model.train()
    print(f"step {step} loss {loss.item():.6f}")
