"""Which customers leave: a wide and deep network, and a table of how its training went."""
import os
import tempfile

import pandas as pd
import torch
from torch import nn


class WideDeep(nn.Module):
    def __init__(self, cards=(50, 20, 8, 12), numeric=16, width=16):
        super().__init__()
        self.embeds = nn.ModuleList(nn.Embedding(card, width) for card in cards)
        self.deep = nn.Sequential(
            nn.Linear(numeric + width * len(cards), 128), nn.ReLU(), nn.BatchNorm1d(128), nn.Linear(128, 64), nn.ReLU()
        )
        self.wide = nn.Linear(numeric, 1)
        self.out = nn.Linear(64, 1)

    def forward(self, cats, nums):
        x = torch.cat([embed(c) for embed, c in zip(self.embeds, cats.unbind(1))] + [nums], 1)
        return (self.out(self.deep(x)) + self.wide(nums)).squeeze(1)


class History:
    def __init__(self, path):
        self.path = path
        self.rows = []

    def add(self, **row):
        self.rows.append(row)

    def write(self):
        frame = pd.DataFrame(self.rows)
        frame["smooth"] = frame["loss"].ewm(span=10).mean()
        frame.to_csv(self.path, index=False)
        return frame


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = WideDeep().to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    cats = torch.stack([torch.randint(0, n, (4096,)) for n in (50, 20, 8, 12)], 1).to(device)
    nums = torch.randn(4096, 16, device=device)
    left = (nums[:, 0] + cats[:, 2].float() / 8 > 0.5).float()
    with tempfile.TemporaryDirectory() as folder:
        history = History(os.path.join(folder, "history.csv"))
        for step in range(60):
            rows = torch.randint(0, 4096, (256,), device=device)
            scores = model(cats[rows], nums[rows])
            loss = nn.functional.binary_cross_entropy_with_logits(scores, left[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.add(step=step, loss=loss.item(), lr=opt.param_groups[0]["lr"], batch=len(rows))
        print(history.write().tail(3))


if __name__ == "__main__":
    main()
