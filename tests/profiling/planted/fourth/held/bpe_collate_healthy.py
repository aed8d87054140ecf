"""A review classifier over byte pairs."""
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

WORDS = "the a film plot was is acting great terrible boring wonderful story music scene never always really quite".split()
MERGES = {pair: rank for rank, pair in enumerate([("t", "h"), ("th", "e"), ("i", "s"), ("i", "n"), ("in", "g"), ("e", "r"),
          ("a", "c"), ("ac", "t"), ("r", "e"), ("s", "t"), ("o", "r"), ("b", "le"), ("l", "e"), ("w", "a"), ("n", "d")])}
VOCABULARY, LENGTH = 2000, 64


def split_word(word):
    parts = list(word)
    while len(parts) > 1:
        pairs = [(MERGES.get(pair, 1000), i) for i, pair in enumerate(zip(parts, parts[1:]))]
        rank, i = min(pairs)
        if rank == 1000:
            break
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return parts


def encode(text):
    ids = [sum(map(ord, part)) * 31 % VOCABULARY for word in text.split() for part in split_word(word)]
    return (ids + [0] * LENGTH)[:LENGTH]


def read_reviews(count):
    rng = random.Random(0)
    return [(" ".join(rng.choices(WORDS, k=60)), rng.randrange(2)) for _ in range(count)]


def collate(rows):
    return torch.tensor([ids for ids, _ in rows]), torch.tensor([label for _, label in rows])


class Classifier(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 2)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Classifier().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    reviews = [(encode(text), label) for text, label in read_reviews(800)]
    loader = DataLoader(reviews, batch_size=16, shuffle=True, collate_fn=collate, pin_memory=True)
    for step, (ids, labels) in enumerate(loader):
        ids, labels = ids.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        loss = nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
