"""An MLP-Mixer, trained with AdamW."""
import torch
import torch.nn as nn


class Mixer(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.over_width = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.over_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_width(self.norm2(x))


class Net(nn.Module):
    def __init__(self, width=64, depth=5):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, stride=8)
        self.blocks = nn.Sequential(*[Mixer(64, width) for _ in range(depth)])
        self.head = nn.Linear(width, 20)

    def forward(self, x):
        return self.head(self.blocks(self.patch(x).flatten(2).transpose(1, 2)).mean(1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    images = torch.randn(48, 8, 3, 64, 64, device=device)
    labels = torch.randint(20, (48, 8), device=device)
    for step in range(48):
        loss = nn.functional.cross_entropy(model(images[step]), labels[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
