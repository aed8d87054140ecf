"""A language model over characters, careful with its memory."""

import gc

import torch
from torch import nn


class Characters(nn.Module):
    def __init__(self, vocabulary=96, width=96):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 192, batch_first=True, dropout=0.0)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens)))


def main():
    torch.manual_seed(6)
    model = Characters().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    corpus = {number: [f"line {number}", number] for number in range(200_000)}
    tokens = torch.randint(0, 96, (8, 65)).cuda()
    for step in range(60):
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(len(corpus), loss.item())


main()
