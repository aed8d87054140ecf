"""A deep residual network over tabular features, regularised."""
import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(self.norm(x))))


class Network(nn.Module):
    def __init__(self, features=40, width=128, depth=12):
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.blocks = nn.Sequential(*[Residual(width) for _ in range(depth)])
        self.leave = nn.Linear(width, 1)

    def forward(self, x):
        return self.leave(self.blocks(self.enter(x))).squeeze(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=2e-4)
    x = torch.randn(12, 128, 40, device=device)
    y = x[..., 0] * x[..., 1] + x[..., 2]
    for step in range(48):
        loss = nn.functional.smooth_l1_loss(model(x[step % 12]), y[step % 12])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
