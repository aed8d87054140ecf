"""A radiance field of one scene: points are lifted by Fourier features."""
import numpy as np
import torch
import torch.nn as nn


class Fourier(nn.Module):
    def __init__(self, octaves=10):
        super().__init__()
        self.register_buffer("scales", torch.from_numpy(2.0 ** np.arange(octaves)).float())

    def forward(self, points):
        angles = (points[..., None] * self.scales).flatten(-2)
        return torch.cat([points, angles.sin(), angles.cos()], -1)


class Field(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.lift, self.turn = Fourier(10), Fourier(4)
        self.body = nn.Sequential(nn.Linear(63, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.density = nn.Linear(width, 1)
        self.colour = nn.Sequential(nn.Linear(width + 27, 32), nn.ReLU(), nn.Linear(32, 3), nn.Sigmoid())

    def forward(self, points, toward):
        x = self.body(self.lift(points))
        return self.density(x).squeeze(-1).relu(), self.colour(torch.cat([x, self.turn(toward)], -1))


def render(density, colour, gap):
    thickness = density * gap
    left = torch.exp(thickness - thickness.cumsum(1))
    return (((1 - torch.exp(-thickness)) * left)[..., None] * colour).sum(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Field().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    origin = torch.randn(48, 128, 1, 3, device=device)
    toward = nn.functional.normalize(torch.randn(48, 128, 1, 3, device=device), dim=-1)
    wanted = torch.rand(48, 128, 3, device=device)
    depth = torch.linspace(2, 6, 32, device=device)[:, None]
    for step in range(48):
        points = origin[step] + toward[step] * depth
        density, colour = model(points, toward[step].expand_as(points))
        loss = nn.functional.mse_loss(render(density, colour, 4 / 32), wanted[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
