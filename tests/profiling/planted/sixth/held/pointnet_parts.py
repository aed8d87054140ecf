"""Shapes of point clouds: two levels of sampled centres and their neighbours."""
import torch
from torch import nn


def farthest_points(xyz, count):
    """Return the numbers of points that are far from each other."""
    b, n, _ = xyz.shape
    chosen = torch.zeros(b, count, dtype=torch.long, device=xyz.device)
    distance = torch.full((b, n), 1e10, device=xyz.device)
    farthest = torch.zeros(b, dtype=torch.long, device=xyz.device)
    rows = torch.arange(b, device=xyz.device)
    for i in range(count):
        chosen[:, i] = farthest
        centre = xyz[rows, farthest].unsqueeze(1)
        distance = torch.minimum(distance, (xyz - centre).pow(2).sum(-1))
        farthest = distance.argmax(-1)
    return chosen


def gather(x, index):
    return x[torch.arange(len(x), device=x.device).view(-1, *[1] * (index.ndim - 1)), index]


class Abstraction(nn.Module):
    def __init__(self, inside, outside, near):
        super().__init__()
        self.near = near
        self.mlp = nn.Sequential(nn.Linear(inside + 3, outside), nn.ReLU(), nn.Linear(outside, outside), nn.ReLU())

    def forward(self, xyz, feats, chosen):
        centres = gather(xyz, chosen)
        near = torch.cdist(centres, xyz).topk(self.near, largest=False).indices
        local = gather(xyz, near) - centres.unsqueeze(2)
        return centres, self.mlp(torch.cat([local, gather(feats, near)], -1)).amax(2)


class PointNet(nn.Module):
    def __init__(self, classes=12):
        super().__init__()
        self.first, self.second = Abstraction(3, 32, 8), Abstraction(32, 64, 8)
        self.head = nn.Linear(64, classes)

    def forward(self, xyz, chosen):
        centres, feats = self.first(xyz, xyz, chosen[0])
        _, feats = self.second(centres, feats, chosen[1])
        return self.head(feats.amax(1))


def choose(xyz):
    first = farthest_points(xyz, 48)
    return first, farthest_points(gather(xyz, first), 16)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    clouds, labels = torch.rand(6, 8, 192, 3, device=device), torch.randint(0, 12, (6, 8), device=device)
    model = PointNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(48):
        i = step % 6
        loss = nn.functional.cross_entropy(model(clouds[i], choose(clouds[i])), labels[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
