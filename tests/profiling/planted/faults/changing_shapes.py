"""Sentences of any length through a compiled encoder."""

import random

import torch
from torch import nn

torch._dynamo.config.cache_size_limit = 256
torch._dynamo.config.accumulated_cache_size_limit = 1024


class Encoder(nn.Module):
    def __init__(self, words=500, width=128):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width))
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head((x + self.mix(x)).mean(1))


def batches(count, longest=192):
    random.seed(10)
    lengths = random.sample(range(32, longest), count)
    for length in lengths:
        yield torch.randint(1, 500, (16, length)), torch.randint(0, 2, (16,))


def main():
    torch.manual_seed(10)
    model = Encoder().cuda()
    compiled = torch.compile(model, backend="eager", dynamic=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for tokens, labels in batches(60):
        tokens, labels = tokens.cuda(), labels.cuda()
        loss = nn.functional.cross_entropy(compiled(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
