"""Breeds of pets from photographs that are turned, blurred and made small."""
import numpy as np
import torch
import torch.nn as nn
from PIL import Image, ImageEnhance, ImageFilter
from torch.utils.data import DataLoader, Dataset


class Resize:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        return image.resize((self.size, self.size), Image.BILINEAR)


class RandomRotate:
    def __init__(self, degrees, rng):
        self.degrees, self.rng = degrees, rng

    def __call__(self, image):
        return image.rotate(self.rng.uniform(-self.degrees, self.degrees), Image.BILINEAR)


class Blur:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, image):
        return image.filter(ImageFilter.GaussianBlur(self.rng.uniform(0.5, 2)))


class Jitter:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, image):
        return ImageEnhance.Color(image).enhance(self.rng.uniform(0.6, 1.4))


class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, image):
        for step in self.steps:
            image = step(image)
        return np.asarray(image, np.float32).transpose(2, 0, 1) / 255


class Photos(Dataset):
    def __init__(self, transform, count=256):
        rng = np.random.default_rng(0)
        self.photos = [Image.fromarray(rng.integers(0, 255, (160, 160, 3), dtype=np.uint8)) for _ in range(16)]
        self.transform, self.count = transform, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return torch.from_numpy(self.transform(self.photos[i % 16])), i % 16


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 24, 3, 2, 1), nn.Conv2d(24, 48, 3, 2, 1)
        self.fc = nn.Linear(48, 16)

    def forward(self, x):
        return self.fc(torch.relu(self.c2(torch.relu(self.c1(x)))).mean((2, 3)))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    rng = np.random.default_rng(1)
    transform = Compose(Resize(32), RandomRotate(20, rng), Blur(rng), Jitter(rng))
    loader = DataLoader(Photos(transform), batch_size=8, shuffle=True)
    net = Net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(2):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(net(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
