"""A skip-gram model of words, and counts of which words stand together."""
import random
import threading
from collections import Counter

import torch
import torch.nn as nn

WORDS = 2000


def make_text(count):
    draw = random.Random(0)
    return [[int(draw.paretovariate(0.6)) % WORDS for _ in range(20)] for _ in range(count)]


def count_pairs(sentences, pairs):
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for other in sentence[max(0, i - 4) : i]:
                pairs[word, other] += 1


class SkipGram(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inside, self.outside = nn.Embedding(WORDS, width), nn.Embedding(WORDS, width)

    def forward(self, word, other, noise):
        h = self.inside(word)
        near = (h * self.outside(other)).sum(-1)
        far = torch.bmm(self.outside(noise), h.unsqueeze(-1)).squeeze(-1)
        return -(nn.functional.logsigmoid(near).mean() + nn.functional.logsigmoid(-far).mean())


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    sentences = make_text(400)
    text = torch.tensor(sentences, device=device)
    model = SkipGram().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    pairs = Counter()
    count_pairs(sentences, pairs)
    for step in range(96):
        rows = torch.randint(0, 400, (512,), device=device)
        at = torch.randint(0, 19, (512,), device=device)
        noise = torch.randint(0, WORDS, (512, 8), device=device)
        loss = model(text[rows, at], text[rows, at + 1], noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 48 == 47:
            print("step", step, "loss", loss.item())
    print(pairs.most_common(3))


if __name__ == "__main__":
    main()
