"""Neural collaborative filtering: four items that a user has not seen for each that he has."""
import random

import torch
from torch import nn

USERS, ITEMS = 500, 6000


class Interactions:
    def __init__(self, seen_per_user=900):
        rnd = random.Random(0)
        self.seen = [rnd.sample(range(ITEMS), seen_per_user) for _ in range(USERS)]
        self.seen_set = [set(items) for items in self.seen]
        self.rnd = rnd

    def draw_negative(self, user):
        item = self.rnd.randrange(ITEMS)
        while item in self.seen_set[user]:
            item = self.rnd.randrange(ITEMS)
        return item

    def batch(self, size, negatives=4):
        users, items, labels = [], [], []
        for _ in range(size):
            user = self.rnd.randrange(USERS)
            users += [user] * (1 + negatives)
            items.append(self.rnd.choice(self.seen[user]))
            items += [self.draw_negative(user) for _ in range(negatives)]
            labels += [1.0] + [0.0] * negatives
        return torch.tensor(users), torch.tensor(items), torch.tensor(labels)


class GMF(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.user, self.item = nn.Embedding(USERS, width), nn.Embedding(ITEMS, width)

    def forward(self, u, i):
        return self.user(u) * self.item(i)


class NCF(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.gmf = GMF(width)
        self.user, self.item = nn.Embedding(USERS, width), nn.Embedding(ITEMS, width)
        self.mlp = nn.Sequential(nn.Linear(2 * width, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.predict = nn.Linear(width + 32, 1)

    def forward(self, u, i):
        deep = self.mlp(torch.cat([self.user(u), self.item(i)], -1))
        return self.predict(torch.cat([self.gmf(u, i), deep], -1)).squeeze(-1)


def train(model, data, device, steps=60):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(1, steps + 1):
        u, i, y = (t.to(device) for t in data.batch(128))
        loss = criterion(model(u, i), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(f"[{step}/{steps}] bce={loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    dev = torch.device("cuda")
    train(NCF().to(dev), Interactions(), dev)
