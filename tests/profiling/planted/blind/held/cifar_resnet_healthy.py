"""Small residual network on CIFAR-sized images."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image, ImageEnhance, ImageFilter

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--lr", type=float, default=0.05)
args = parser.parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rng = np.random.default_rng(0)


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.a = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.b = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(cout), nn.BatchNorm2d(cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.na(self.a(x)))
        return F.relu(self.nb(self.b(y)) + self.skip(x))


def augment(pixels):
    image = Image.fromarray(pixels)
    image = image.resize((96, 96), Image.BICUBIC).rotate(rng.uniform(-15, 15), Image.BICUBIC)
    image = ImageEnhance.Color(image).enhance(rng.uniform(0.6, 1.4))
    image = image.filter(ImageFilter.GaussianBlur(1.5)).resize((32, 32), Image.BICUBIC)
    return np.asarray(image, dtype=np.float32) / 255.0


images = rng.integers(0, 255, (1024, 32, 32, 3), dtype=np.uint8)
labels = torch.from_numpy(rng.integers(0, 10, 1024))
augmented = torch.from_numpy(np.stack([augment(i) for i in images[: args.batch_size * 4]])).permute(0, 3, 1, 2).contiguous()
model = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), Block(32, 32, 1), Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)

start = time.perf_counter()
for step in range(args.steps):
    index = rng.integers(0, args.batch_size * 4, args.batch_size)
    x = augmented[index].to(device, non_blocking=True)
    y = labels[index].to(device, non_blocking=True)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
print("final loss", loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
