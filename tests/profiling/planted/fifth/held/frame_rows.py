"""Prices of flats from a table: a network over columns of numbers and one of districts."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

NUMBERS = [f"number{i}" for i in range(10)]


def read_flats(count=3200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((count, 10)).astype(np.float32), columns=NUMBERS)
    frame["district"] = rng.integers(0, 40, count)
    frame["price"] = frame[NUMBERS].sum(axis=1) + rng.standard_normal(count)
    return frame


class Flats(Dataset):
    def __init__(self, frame):
        self.frame = frame

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, index):
        row = self.frame.iloc[index]
        numbers = row[NUMBERS].to_numpy(dtype=np.float32)
        return numbers, int(row["district"]), np.float32(row["price"])


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
    loader = DataLoader(Flats(frame), batch_size=64, shuffle=True, pin_memory=True)
    for step, (numbers, district, price) in enumerate(loader):
        numbers, district, price = numbers.to(device), district.to(device), price.to(device)
        loss = nn.functional.huber_loss(model(numbers, district), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
