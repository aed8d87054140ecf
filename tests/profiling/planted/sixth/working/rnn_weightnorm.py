"""A recurrent cell whose weights are normalised, step by step over a series."""
import torch
import torch.nn as nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm


class Cell(nn.Module):
    def __init__(self, inside, width):
        super().__init__()
        self.inp = weight_norm(nn.Linear(inside, 3 * width))
        self.rec = weight_norm(nn.Linear(width, 3 * width))

    def forward(self, x, h):
        a, b = self.inp(x), self.rec(h)
        r, z = (a + b)[:, : 2 * h.shape[1]].sigmoid().chunk(2, 1)
        n = torch.tanh(a[:, -h.shape[1] :] + r * b[:, -h.shape[1] :])
        return (1 - z) * n + z * h


class SeriesModel(nn.Module):
    def __init__(self, inside=32, width=192):
        super().__init__()
        self.cell = Cell(inside, width)
        self.out = nn.Linear(width, inside)

    def unroll(self, x):
        h = x.new_zeros(len(x), self.cell.rec.in_features)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
        return h

    def forward(self, x):
        return self.out(self.unroll(x))


class Fitter:
    def __init__(self, model, lr=1e-3):
        self.model, self.opt = model, torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, series, steps):
        for step in range(steps):
            x = series[step % len(series)]
            loss = (self.model(x[:, :-1]) - x[:, -1]).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda")
    series = torch.randn(8, 8, 21, 32, device=device).cumsum(2) / 5
    print("loss", Fitter(SeriesModel().to(device)).fit(series, 40).item())
