"""Keyword spotting: log-mel pictures of one-second clips and a small convolutional network."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SR, N_FFT, HOP, MELS = 8000, 512, 160, 64


def hz_to_mel(f):
    return 2595.0 * np.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)


FILTERS = {}


def mel_filters(sr, n_fft, n_mels):
    """Triangles that are evenly spaced on the mel scale."""
    if (sr, n_fft, n_mels) in FILTERS:
        return FILTERS[sr, n_fft, n_mels]
    edges = mel_to_hz(np.linspace(hz_to_mel(0), hz_to_mel(sr / 2), n_mels + 2))
    bins = np.fft.rfftfreq(n_fft, 1 / sr)
    bank = np.zeros((n_mels, len(bins)), np.float32)
    for m in range(n_mels):
        left, center, right = edges[m : m + 3]
        up = (bins - left) / (center - left)
        down = (right - bins) / (right - center)
        bank[m] = np.maximum(0, np.minimum(up, down)) * 2 / (right - left)
    FILTERS[sr, n_fft, n_mels] = bank
    return bank


def log_mel(wave):
    frames = np.lib.stride_tricks.sliding_window_view(wave, N_FFT)[::HOP] * np.hanning(N_FFT).astype(np.float32)
    power = np.abs(np.fft.rfft(frames)).astype(np.float32) ** 2
    return np.log(mel_filters(SR, N_FFT, MELS) @ power.T + 1e-6)


class Clips(Dataset):
    def __init__(self, count=512, classes=12):
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, classes, count)
        t = np.arange(SR // 2) / SR
        tones = np.sin(2 * np.pi * t * (200 + 150 * self.labels[:, None]))
        self.waves = (tones + 0.3 * rng.standard_normal(tones.shape)).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        wave = np.roll(self.waves[i], np.random.randint(-400, 400))
        return torch.from_numpy(log_mel(wave))[None], int(self.labels[i])


class Spotter(nn.Module):
    def __init__(self, classes=12):
        super().__init__()
        def stage(i, o):
            return [nn.Conv2d(i, o, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
        self.net = nn.Sequential(*stage(1, 16), *stage(16, 32), *stage(32, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(self.net(x))


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    device = torch.device("cuda")
    loader = DataLoader(Clips(), batch_size=16, shuffle=True, drop_last=True)
    net = Spotter().to(device)
    optim = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    right = torch.zeros((), device=device)
    for epoch in range(2):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            logits = net(x)
            loss = nn.functional.cross_entropy(logits, y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            right += (logits.argmax(1) == y).sum()
    print("right", right.item() / 1024)


if __name__ == "__main__":
    main()
