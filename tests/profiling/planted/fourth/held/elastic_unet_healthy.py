"""A U-Net for cell outlines; pictures are deformed elastically as augmentation."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def smooth(field, sigma):
    reach = np.arange(-3 * sigma, 3 * sigma + 1)
    kernel = np.exp(-0.5 * (reach / sigma) ** 2)
    kernel /= kernel.sum()
    for axis in (0, 1):
        field = np.apply_along_axis(np.convolve, axis, field, kernel, mode="same")
    return field


class Cells(Dataset):
    def __init__(self, count=512, size=48):
        rng = np.random.default_rng(0)
        self.images = rng.standard_normal((count, size, size)).astype(np.float32)
        self.masks = (self.images > 0.5).astype(np.int64)
        self.size = size
        self.fields = [self.draw_field() for _ in range(64)]

    def draw_field(self):
        dy, dx = (smooth(np.random.rand(self.size, self.size) * 2 - 1, 4) * 30 for _ in range(2))
        rows, cols = np.meshgrid(np.arange(self.size), np.arange(self.size), indexing="ij")
        rows = np.clip(np.rint(rows + dy), 0, self.size - 1).astype(int)
        return rows, np.clip(np.rint(cols + dx), 0, self.size - 1).astype(int)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        rows, cols = self.fields[np.random.randint(len(self.fields))]
        return self.images[i][rows, cols][None], self.masks[i][rows, cols]


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = conv(1, 16), conv(16, 32), conv(32, 64)
        self.d, self.e = conv(64 + 32, 32), conv(32 + 16, 16)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 2))
        d = self.d(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        return self.out(self.e(torch.cat([F.interpolate(d, scale_factor=2), a], 1)))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = UNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = DataLoader(Cells(), batch_size=8, shuffle=True, drop_last=True, pin_memory=True)
    for step, (image, mask) in enumerate(loader):
        image, mask = image.to(device, non_blocking=True), mask.to(device, non_blocking=True)
        loss = F.cross_entropy(model(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())
        if step == 47:
            break


if __name__ == "__main__":
    main()
