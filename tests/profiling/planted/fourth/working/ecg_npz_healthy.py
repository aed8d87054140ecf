"""A one-dimensional residual network over heart recordings that were stored one by one."""
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def write_recordings(folder, count):
    rng = np.random.default_rng(0)
    for i in range(count):
        beat = np.sin(np.arange(3000)[None] * rng.uniform(0.01, 0.1, (12, 1))) + 0.1 * rng.standard_normal((12, 3000))
        np.savez_compressed(folder / f"{i:04}.npz", signal=beat.astype(np.float32), label=i % 5)


class Recordings(Dataset):
    def __init__(self, folder):
        stored = [np.load(file) for file in sorted(folder.glob("*.npz"))]
        self.rows = [(one["signal"], int(one["label"])) for one in stored]

    def __len__(self):
        return 4 * len(self.rows)

    def __getitem__(self, i):
        signal, label = self.rows[i % len(self.rows)]
        start = np.random.randint(0, signal.shape[1] - 512)
        return signal[:, start : start + 512], label


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(width, width, 7, padding=3), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 7, padding=3), nn.BatchNorm1d(width),
        )

    def forward(self, x):
        return torch.relu(x + self.net(x))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = nn.Sequential(
        nn.Conv1d(12, 48, 15, stride=4, padding=7), nn.ReLU(), *[Block(48) for _ in range(3)],
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(48, 5),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    with tempfile.TemporaryDirectory() as folder:
        write_recordings(Path(folder), 200)
        loader = DataLoader(Recordings(Path(folder)), batch_size=16, shuffle=True, pin_memory=True)
        for step, (signal, label) in enumerate(loader):
            signal, label = signal.to(device, non_blocking=True), label.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(signal), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 25 == 0:
                print(step, loss.item())


if __name__ == "__main__":
    main()
