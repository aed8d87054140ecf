"""Prices of flats from a table: a network over columns of numbers and one of districts."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn

NUMBERS = [f"number{i}" for i in range(10)]


def read_flats(count=3200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((count, 10)).astype(np.float32), columns=NUMBERS)
    frame["district"] = rng.integers(0, 40, count)
    frame["price"] = frame[NUMBERS].sum(axis=1) + rng.standard_normal(count)
    return frame


class Prices(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.districts = nn.Embedding(40, 16)
        self.net = nn.Sequential(
            nn.Linear(26, width), nn.ReLU(), nn.BatchNorm1d(width), nn.Linear(width, width), nn.ReLU(),
            nn.BatchNorm1d(width), nn.Linear(width, 1),
        )

    def forward(self, numbers, district):
        return self.net(torch.cat([numbers, self.districts(district)], 1)).squeeze(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Prices().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    frame = read_flats()
    numbers_all = torch.tensor(frame[NUMBERS].to_numpy(dtype=np.float32), device=device)
    districts_all = torch.tensor(frame["district"].to_numpy(), device=device)
    prices_all = torch.tensor(frame["price"].to_numpy(dtype=np.float32), device=device)
    for step, rows in enumerate(torch.randperm(len(frame), device=device).split(64)):
        numbers, district, price = numbers_all[rows], districts_all[rows], prices_all[rows]
        loss = nn.functional.huber_loss(model(numbers, district), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
