"""The equation of Burgers by a network that knows its physics."""
import math

import torch
from torch import nn


class Field(nn.Module):
    def __init__(self, width=48, depth=4):
        super().__init__()
        sizes = [2] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.out = nn.Linear(width, 1)

    def forward(self, tx):
        for layer in self.hidden:
            tx = torch.tanh(layer(tx))
        return self.out(tx)


def gradients(u, tx):
    """Return the derivatives of each value by its own point."""
    rows = []
    for i in range(len(u)):
        (g,) = torch.autograd.grad(u[i], tx, create_graph=True, retain_graph=True)
        rows.append(g[i])
    return torch.stack(rows)


class Burgers:
    def __init__(self, device, nu=0.01 / math.pi):
        self.net = Field().to(device)
        self.nu, self.device = nu, device
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def residual(self, tx):
        u = self.net(tx)
        du = gradients(u, tx)
        u_t, u_x = du[:, :1], du[:, 1:]
        u_xx = torch.autograd.grad(u_x.sum(), tx, create_graph=True)[0][:, 1:]
        return u_t + u * u_x - self.nu * u_xx

    def step(self):
        inner = torch.rand(24, 2, device=self.device, requires_grad=True)
        start = torch.rand(24, 2, device=self.device) * torch.tensor([0.0, 2.0], device=self.device) - torch.tensor([0.0, 1.0], device=self.device)
        loss = self.residual(inner).pow(2).mean()
        loss = loss + (self.net(start) + torch.sin(math.pi * start[:, 1:])).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


def main():
    torch.manual_seed(0)
    problem = Burgers(torch.device("cuda"))
    for step in range(44):
        loss = problem.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
