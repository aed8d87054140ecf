"""A mixture-of-experts language model block: top-1 routing."""
import torch
import torch.nn as nn
import torch.nn.functional as F

EXPERTS, WIDTH, TOKENS = 16, 64, 512


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS)
        self.inner = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * WIDTH) * 0.05)
        self.outer = nn.Parameter(torch.randn(EXPERTS, 2 * WIDTH, WIDTH) * 0.05)

    def forward(self, x):
        gates = self.router(x).softmax(-1)
        weight, chosen = gates.max(-1)
        out = torch.zeros_like(x)
        for k in range(EXPERTS):
            rows = torch.nonzero(chosen == k).squeeze(1)
            if rows.numel() == 0:
                continue
            hidden = F.gelu(x[rows] @ self.inner[k]) @ self.outer[k]
            out[rows] = hidden * weight[rows, None]
        return x + out


class Model(nn.Module):
    def __init__(self, vocabulary=400):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, WIDTH)
        self.mix = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(2)])
        self.layers = nn.ModuleList([Mixture() for _ in range(2)])
        self.head = nn.Linear(WIDTH, vocabulary)

    def forward(self, ids):
        x = self.embed(ids)
        for linear, layer in zip(self.mix, self.layers):
            x = layer(x + F.gelu(linear(x)))
        return self.head(x)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = torch.randint(0, 400, (40 * TOKENS + 1,), device=device)
    for step in range(40):
        ids, target = text[step * TOKENS : (step + 1) * TOKENS], text[step * TOKENS + 1 : (step + 1) * TOKENS + 1]
        loss = F.cross_entropy(model(ids), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
