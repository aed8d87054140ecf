"""Neural matrix factorisation on a ratings file (torch_npu)."""
import csv
import os
import random
import tempfile
import time
import torch
import torch.nn as nn

try:
    import torch_npu
    device = "npu:0" if torch.npu.is_available() else "cpu"
except ImportError:
    device = "cpu"

USERS, ITEMS, ROWS, BATCH = 3000, 2000, 24000, 1024


def write(path):
    r = random.Random(0)
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["user", "item", "rating"])
        for _ in range(ROWS):
            w.writerow([r.randrange(USERS), r.randrange(ITEMS), r.choice([1, 2, 3, 4, 5])])


def read(path, first, count):
    users, items, ratings = [], [], []
    with open(path, newline="") as f:
        for n, row in enumerate(csv.DictReader(f)):
            if first <= n < first + count:
                users.append(int(row["user"]))
                items.append(int(row["item"]))
                ratings.append(float(row["rating"]))
    return torch.tensor(users), torch.tensor(items), torch.tensor(ratings)


class NeuMF(nn.Module):
    def __init__(self, k=64):
        super().__init__()
        self.u, self.i = nn.Embedding(USERS, k), nn.Embedding(ITEMS, k)
        self.mlp = nn.Sequential(nn.Linear(2 * k, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, u, i):
        u, i = self.u(u), self.i(i)
        return (u * i).sum(1) + self.mlp(torch.cat([u, i], 1)).squeeze(1)


def main():
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "ratings.csv")
    write(path)
    net = NeuMF().to(device)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    begin = time.perf_counter()
    for step in range(15):
        u, i, r = read(path, step * BATCH, BATCH)
        for _ in range(4):
            negative = torch.randint(0, ITEMS, i.shape).to(device)
            loss = nn.functional.mse_loss(net(u.to(device), i.to(device)), r.to(device)) + 0.1 * net(u.to(device), negative).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("mse", loss.item())
    print(f"steps_seconds={time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
