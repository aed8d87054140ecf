"""Train a small network on images that are decoded while training: the script of the course on profiling.

    python slow_loop.py

Made for a GPU, and slow on purpose in two ways that are common.
"""

import random
import zlib

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 96


def encoded(number):
    """An image as a file holds it: a square of grey, noise upon it, compressed."""
    noise = random.Random(number).randbytes(SIZE * SIZE)
    return zlib.compress(bytes(one // 8 + 20 * (number % 10) for one in noise))


class Images(Dataset):
    def __init__(self, files=64, count=512):
        self.files = [encoded(number) for number in range(files)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        pixels = zlib.decompress(self.files[index % len(self.files)])
        image = [[(pixels[row * SIZE + x] / 255) ** 0.8 - 0.5 for x in range(SIZE)] for row in range(SIZE)]
        return torch.tensor(image).unsqueeze(0), index % 10


def network(width=4, blocks=3):
    layers = [nn.Conv2d(1, width, 3, stride=4, padding=1), nn.ReLU()]
    for _ in range(blocks):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def watch(model):
    """Size and largest value of every gradient, as numbers to be logged."""
    return {name: (one.grad.norm().item(), one.grad.abs().max().item()) for name, one in model.named_parameters()}


def main():
    torch.set_num_threads(1)  # what a step takes on a CPU is then its own work alone
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    torch.cuda.set_device(0)
    model = network().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Images(), batch_size=32, num_workers=0)
    for step, (images, labels) in enumerate(loader):
        loss = F.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        seen = watch(model)
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f} of {len(seen)} gradients", flush=True)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
