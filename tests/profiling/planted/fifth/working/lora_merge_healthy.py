"""Low-rank adapters in a frozen causal language model."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoraLinear(nn.Module):
    def __init__(self, inside, outside, rank=8, scale=2.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outside, inside) * inside**-0.5, requires_grad=False)
        self.down = nn.Parameter(torch.randn(rank, inside) * 0.01)
        self.up = nn.Parameter(torch.zeros(outside, rank))
        self.scale = scale

    def forward(self, x):
        return F.linear(x, self.weight) + self.scale * F.linear(F.linear(x, self.down), self.up)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = LoraLinear(width, 3 * width), LoraLinear(width, width)
        self.up, self.down = LoraLinear(width, 4 * width), LoraLinear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, vocabulary=400, width=384, depth=3):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([Block(width, 6) for _ in range(depth)])
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Model().to(device)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.rpartition(".")[2] in ("up", "down"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    text = torch.randint(0, 400, (48, 2, 25), device=device)
    for step in range(48):
        ids = text[step]
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
