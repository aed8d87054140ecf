"""Sequences compared with their targets by edit distance while a tagger learns."""

import torch
from torch import nn


def edit_distance(first, second):
    row = list(range(len(second) + 1))
    for at, left in enumerate(first, 1):
        previous, row[0] = row[0], at
        for place, right in enumerate(second, 1):
            previous, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, previous + (left != right))
    return row[-1]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 64)
        self.mix = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 20))

    def forward(self, tokens):
        return self.mix(self.embed(tokens))


def main():
    torch.manual_seed(16)
    model = Tagger().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    tokens = torch.randint(0, 50, (64, 60))
    tags = (tokens * 7 % 20).tolist()
    words, wanted = tokens.cuda(), torch.tensor(tags).cuda()
    distance = 0
    for step in range(60):
        logits = model(words)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        distance = sum(edit_distance(tags[number], tags[number - 1]) for number in range(16))
    print(distance, loss.item())


main()
