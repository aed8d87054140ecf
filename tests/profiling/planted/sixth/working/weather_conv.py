"""The next hour of a weather field by a small convolutional network."""
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def write_archive(path, hours=240):
    rng = np.random.default_rng(0)
    t = np.arange(hours)[:, None, None, None]
    base = np.sin(t / 24 + rng.random((1, 4, 24, 48)) * 6)
    np.savez(path, fields=(base + 0.05 * rng.standard_normal(base.shape)).astype(np.float32), hours=np.arange(hours))


class Weather(Dataset):
    def __init__(self, path, lead=1):
        self.data = np.load(path)
        self.count = len(self.data["hours"]) - lead
        self.lead = lead

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        x = self.data["fields"][i]
        y = self.data["fields"][i + self.lead]
        return torch.from_numpy(x), torch.from_numpy(y)


class Net(nn.Module):
    def __init__(self, channels=4, width=32):
        super().__init__()
        self.enter = nn.Conv2d(channels, width, 3, padding=1, padding_mode="circular")
        self.body = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])
        self.leave = nn.Conv2d(width, channels, 1)

    def forward(self, x):
        h = torch.relu(self.enter(x))
        for conv in self.body:
            h = h + torch.relu(conv(h))
        return x + self.leave(h)


def train(loader, model, optimizer, device, epochs):
    def one_epoch():
        total, n = torch.zeros((), device=device), 0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = (model(x) - y).abs().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total, n = total + loss.detach(), n + 1
        return total / n

    for epoch in range(epochs):
        print(f"epoch {epoch} L1 {one_epoch().item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda:0")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "era.npz")
        write_archive(path)
        loader = DataLoader(Weather(path), batch_size=8, shuffle=True, drop_last=True)
        model = Net().to(device)
        train(loader, model, torch.optim.Adam(model.parameters(), lr=1e-3), device, epochs=2)
