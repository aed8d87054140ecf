"""A two-tower recommender; what was bought is in a database."""
import random
import sqlite3
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

USERS, ITEMS = 600, 900


def write_purchases(path):
    draw = random.Random(0)
    with sqlite3.connect(path) as base:
        base.execute("create table purchases (user integer, item integer, rating real)")
        rows = [(draw.randrange(USERS), draw.randrange(ITEMS), draw.random()) for _ in range(9000)]
        base.executemany("insert into purchases values (?, ?, ?)", rows)


class Towers(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, width), nn.Embedding(ITEMS, width)
        self.user_net = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, width))
        self.item_net = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, width))

    def forward(self, user, item):
        return (self.user_net(self.users(user)) * self.item_net(self.items(item))).sum(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Towers().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        write_purchases(file.name)
        with sqlite3.connect(file.name) as base:
            table = torch.tensor(base.execute("select user, item, rating from purchases").fetchall())
        users, items, ratings = table[:, 0].long().to(device), table[:, 1].long().to(device), table[:, 2].to(device)
        for step, rows in enumerate(torch.randperm(len(table), device=device)[: 48 * 60].split(48)):
            user, item, rating = users[rows], items[rows], ratings[rows]
            loss = nn.functional.mse_loss(model(user, item), rating)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 24 == 23:
                print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
