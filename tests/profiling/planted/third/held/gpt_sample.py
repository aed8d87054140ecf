"""Pre-train a small GPT on random characters, and look at what it writes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, WIDTH, LENGTH, STEPS = 96, 96, 64, 40
device = "cuda"


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCAB, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block(WIDTH) for _ in range(3)])
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)
        self.register_buffer("place", torch.arange(LENGTH))

    def forward(self, ids):
        x = self.tokens(ids) + self.places(self.place[: ids.size(1)])
        return self.head(self.blocks(x))

    @torch.no_grad()
    def generate(self, ids, count):
        for _ in range(count):
            logits = self(ids[:, -LENGTH:])[:, -1]
            ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return ids


def train():
    torch.manual_seed(1)
    text = torch.randint(0, VOCAB, (200_000,), device=device)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(STEPS):
        start = torch.randint(0, text.numel() - LENGTH - 1, (1,)).item()
        block = text[start : start + 8 * LENGTH + 1] if start < 190_000 else text[: 8 * LENGTH + 1]
        x, y = block[:-1].view(8, LENGTH), block[1:].view(8, LENGTH)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.eval()
        sample = model.generate(x[:2, :8], 40)
        model.train()
    print(loss.item(), sample.tolist())


train()
