"""Traffic of 120 sensors, the next hour from the last four: a GRU."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def simulate(days=200, sensors=120):
    rng = np.random.default_rng(1)
    t = np.arange(days * 24)[:, None]
    daily = np.sin(2 * np.pi * t / 24 + rng.random(sensors) * 2)
    return (60 + 20 * daily + 5 * rng.standard_normal((len(t), sensors))).astype(np.float32)


class Windows(Dataset):
    def __init__(self, values, past=16, ahead=1):
        self.values, self.past, self.ahead = values, past, ahead
        self.mean, self.std = values.mean(0), values.std(0)

    def __len__(self):
        return len(self.values) - self.past - self.ahead

    def normalize(self, window):
        return (window - self.mean) / self.std

    def __getitem__(self, i):
        window = self.normalize(self.values[i : i + self.past + self.ahead])
        return window[: self.past], window[self.past :]


class Forecaster(nn.Module):
    def __init__(self, sensors, hidden=128):
        super().__init__()
        self.gru = nn.GRU(sensors, hidden, batch_first=True)
        self.out = nn.Linear(hidden, sensors)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1:])


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    dataset = Windows(simulate())
    loader = DataLoader(dataset, batch_size=16, shuffle=True, num_workers=0)
    model = Forecaster(120).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 20, 0.5)
    for step, (past, future) in enumerate(loader):
        if step == 48:
            break
        pred = model(past.to(device, non_blocking=True))
        loss = nn.functional.smooth_l1_loss(pred, future.to(device, non_blocking=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 24 == 23:
            print(f"step {step + 1} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.1e}")


if __name__ == "__main__":
    main()
