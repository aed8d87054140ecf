"""A small GPT whose rare tokens weigh more in the loss."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Config:
    vocab: int = 128
    block: int = 48
    layers: int = 2
    heads: int = 4
    width: int = 64


class SelfAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.qkv, self.proj = nn.Linear(c.width, 3 * c.width), nn.Linear(c.width, c.width)
        self.register_buffer("mask", torch.tril(torch.ones(c.block, c.block)).bool())

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(C, 2))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(~self.mask[:T, :T], float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c.width), nn.LayerNorm(c.width)
        self.attn = SelfAttention(c)
        self.mlp = nn.Sequential(nn.Linear(c.width, 4 * c.width), nn.GELU(), nn.Linear(4 * c.width, c.width))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok, self.pos = nn.Embedding(c.vocab, c.width), nn.Embedding(c.block, c.width)
        self.blocks = nn.Sequential(*[Block(c) for _ in range(c.layers)])
        self.ln, self.head = nn.LayerNorm(c.width), nn.Linear(c.width, c.vocab, bias=False)
        self.register_buffer("rarity", torch.linspace(0.5, 2.0, c.vocab))

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        return self.head(self.ln(self.blocks(x)))

    def loss(self, idx, targets):
        targets = targets.flatten()
        losses = F.cross_entropy(self(idx).flatten(0, 1), targets, reduction="none")
        weights = self.rarity[targets]
        return (losses * weights).sum() / weights.sum()


def main():
    torch.manual_seed(1337)
    device = "cuda"
    c = Config()
    model = GPT(c).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(0, c.vocab, (20000,), device=device)
    for it in range(48):
        ix = torch.randint(0, len(data) - c.block - 1, (4, 1), device=device) + torch.arange(c.block + 1, device=device)
        rows = data[ix]
        loss = model.loss(rows[:, :-1], rows[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if it % 24 == 23:
            print(f"iter {it}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
