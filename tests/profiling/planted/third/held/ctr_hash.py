"""Click-through-rate model: hashed categorical features in embedding tables, a deep and a cross part."""
import hashlib
import random

import torch
from torch import nn

FIELDS, BUCKETS, BATCH = 20, 500, 256


def hash_field(field, value):
    return int(hashlib.md5(f"{field}={value}".encode()).hexdigest(), 16) % BUCKETS


def encode(rows):
    return torch.tensor([[hash_field(k, value) for k, value in enumerate(row)] for row in rows])


class DeepCross(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.tables = nn.Embedding(FIELDS * BUCKETS, width)
        self.register_buffer("offset", torch.arange(FIELDS) * BUCKETS)
        n = FIELDS * width
        self.cross = nn.ModuleList([nn.Linear(n, n) for _ in range(2)])
        self.deep = nn.Sequential(nn.Linear(n, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.head = nn.Linear(n + 64, 1)

    def forward(self, ids):
        x0 = x = self.tables(ids + self.offset).flatten(1)
        for layer in self.cross:
            x = x0 * layer(x) + x
        return self.head(torch.cat([x, self.deep(x0)], 1)).squeeze(1)


def main():
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda")
    log = [[random.choice("abcdefgh") + str(random.randrange(5000)) for _ in range(FIELDS)] for _ in range(16 * BATCH)]
    clicks = torch.randint(0, 2, (len(log),)).float().to(device)
    model = DeepCross().to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    for step in range(40):
        at = step % 16 * BATCH
        ids = encode(log[at : at + BATCH]).to(device)
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids), clicks[at : at + BATCH])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("log loss", loss.item())


if __name__ == "__main__":
    main()
