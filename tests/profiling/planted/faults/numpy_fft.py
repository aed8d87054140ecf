"""Sounds by their spectra."""

import numpy as np
import torch
from torch import nn


def spectrum(sound):
    window = np.hanning(512)
    frames = np.stack([sound[:, at:at + 512] for at in range(0, sound.shape[1] - 512, 128)], 1) * window
    return np.log1p(np.abs(np.fft.rfft(frames, axis=-1))).astype("float32")


def main():
    torch.manual_seed(11)
    model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 257, 64), nn.ReLU(), nn.Linear(64, 5)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    sounds = np.random.default_rng(0).standard_normal((32, 4096))
    labels = torch.randint(0, 5, (32,)).cuda()
    for step in range(60):
        features = torch.from_numpy(spectrum(sounds)).cuda()
        loss = nn.functional.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
