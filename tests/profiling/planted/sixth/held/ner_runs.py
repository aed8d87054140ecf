"""A BiLSTM tagger whose losses and rates are kept in a small database."""
import os
import sqlite3
import tempfile

import torch
from torch import nn


class RunStore:
    """Metrics of a run in SQLite, so that a dashboard can read them."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE TABLE metrics (step INTEGER, name TEXT, value REAL)")
        self.db.commit()

    def log(self, step, name, value):
        self.db.execute("INSERT INTO metrics VALUES (?, ?, ?)", (step, name, value))
        self.db.commit()

    def close(self):
        self.db.commit()
        self.db.close()


class Tagger(nn.Module):
    def __init__(self, words=3000, tags=9, width=64):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, tags)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[0])


def make_batch(device):
    words = torch.randint(0, 3000, (16, 20), device=device)
    return words, words % 9


def train_epoch(model, optimizer, scheduler, store, device, start, steps):
    for step in range(start, start + steps):
        words, tags = make_batch(device)
        scores = model(words)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        accuracy = (scores.argmax(-1) == tags).float().mean()
        loss_value, norm_value, accuracy_value = torch.stack([loss.detach(), norm, accuracy]).tolist()
        store.log(step, "loss", loss_value)
        store.log(step, "grad_norm", norm_value)
        store.log(step, "accuracy", accuracy_value)
        for i, group in enumerate(optimizer.param_groups):
            for key in ("lr", "momentum", "weight_decay"):
                store.log(step, f"group{i}/{key}", group[key])


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Tagger().to(device)
    optimizer = torch.optim.SGD(
        [{"params": model.embed.parameters(), "lr": 0.05}, {"params": [*model.lstm.parameters(), *model.out.parameters()]}],
        lr=0.1, momentum=0.9, weight_decay=1e-5,
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 48)
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(os.path.join(folder, "run.db"))
        for epoch in range(2):
            train_epoch(model, optimizer, scheduler, store, device, 24 * epoch, 24)
        print(store.db.execute("SELECT AVG(value) FROM metrics WHERE name = 'loss'").fetchone())
        store.close()


if __name__ == "__main__":
    main()
