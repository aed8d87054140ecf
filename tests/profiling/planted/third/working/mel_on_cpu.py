"""Keyword spotting: log-mel pictures of one second of sound into a small convolution network."""
import math

import torch
import torch.nn as nn

RATE, N_FFT, HOP, MELS = 8000, 512, 64, 40


def mel_bank():
    top = 2595 * math.log10(1 + RATE / 2 / 700)
    points = 700 * (10 ** (torch.linspace(0, top, MELS + 2) / 2595) - 1)
    bins = torch.linspace(0, RATE / 2, N_FFT // 2 + 1)
    up = (bins - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
    down = (points[2:, None] - bins) / (points[2:] - points[1:-1])[:, None]
    return torch.minimum(up, down).clamp(min=0)


class LogMel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bank", mel_bank())
        self.register_buffer("window", torch.hann_window(N_FFT))

    def forward(self, sound):
        spectrum = torch.stft(sound, N_FFT, HOP, window=self.window, return_complex=True, center=False)
        return (self.bank @ spectrum.abs().square() + 1e-6).log().unsqueeze(1)


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 12),
        )

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    sounds, words = torch.randn(256, RATE), torch.randint(0, 12, (256,), device=device)
    features, model = LogMel(), Spotter().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(40):
        at = step % 8 * 32
        x = features(sounds[at : at + 32]).to(device)
        loss = nn.functional.cross_entropy(model(x), words[at : at + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
