"""An autoencoder whose activations are rounded, as a chip with few bits would."""

import torch
from torch import nn


class Rounded(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.scale = torch.full((width,), 16.0)
        self.scale = self.scale.cuda()

    def forward(self, x):
        y = torch.relu(self.inner(x))
        rounded = torch.round(y.detach() * self.scale) / self.scale
        return y + (rounded - y).detach()


def main():
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(16, 32), *(Rounded(32) for _ in range(6)), nn.Linear(32, 16)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    batch = torch.randn(8192, 16).cuda()
    for step in range(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
    print("reconstruction", loss.item())


if __name__ == "__main__":
    main()
