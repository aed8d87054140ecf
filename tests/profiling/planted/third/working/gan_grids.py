"""A convolutional GAN: generator and discriminator with an optimizer each."""
import pathlib
import tempfile

import numpy as np
import torch
import torch.nn as nn
from PIL import Image


class Generator(nn.Module):
    def __init__(self, z=32, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.ConvTranspose2d(z, width * 2, 4), nn.BatchNorm2d(width * 2), nn.ReLU(),
            nn.ConvTranspose2d(width * 2, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.ConvTranspose2d(width, 12, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(12, 3, 4, 2, 1), nn.Tanh(),
        )

    def forward(self, noise):
        return self.net(noise[:, :, None, None])


class Discriminator(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(width, width * 2, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(width * 2 * 64, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def save_grid(pictures, path):
    images = ((pictures.detach().cpu().numpy() + 1) * 127.5).astype(np.uint8).transpose(0, 2, 3, 1)
    rows = [np.concatenate(list(images[k : k + 8]), axis=1) for k in range(0, len(images), 8)]
    grid = Image.fromarray(np.concatenate(rows, axis=0))
    grid.resize((grid.width * 2, grid.height * 2), Image.BICUBIC).save(path)


def main():
    torch.manual_seed(0)
    device = "cuda"
    generator, discriminator = Generator().to(device), Discriminator().to(device)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    batch = 32
    one, zero = torch.ones(batch, device=device), torch.zeros(batch, device=device)
    data = torch.rand(4 * batch, 3, 32, 32, device=device) * 2 - 1
    folder = pathlib.Path(tempfile.mkdtemp())
    for step in range(40):
        real = data[step % 4 * batch : (step % 4 + 1) * batch]
        fake = generator(torch.randn(batch, 32, device=device))
        optimizer_d.zero_grad()
        loss_d = criterion(discriminator(real), one) + criterion(discriminator(fake.detach()), zero)
        loss_d.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = criterion(discriminator(fake), one)
        loss_g.backward()
        optimizer_g.step()
        save_grid(fake, folder / f"{step:05}.png")
    print(loss_d.item(), loss_g.item())


main()
