"""Statistics of every unit are written down while a network learns."""

import logging
import tempfile

import torch
from torch import nn

log = logging.getLogger("units")


def describe(step, weights):
    if step % 20:
        return
    for number, weight in enumerate(weights):
        log.info("step %d unit %d weight %.6f of %s", step, number, weight, {"rank": 0, "phase": "train"})


def main():
    torch.manual_seed(8)
    handler = logging.FileHandler(tempfile.mktemp(suffix=".log"))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(filename)s:%(lineno)d %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    model = nn.Sequential(nn.Linear(128, 400), nn.ReLU(), nn.Linear(400, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(256, 128).cuda(), torch.randint(0, 10, (256,)).cuda()
    weights = [float(number) for number in range(400)]
    for step in range(80):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        describe(step, weights)
    print(loss.item())


main()
