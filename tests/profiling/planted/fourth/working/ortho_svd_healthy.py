"""Faces to vectors; the weights are held near orthogonal by a penalty."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(24, 48, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(48, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 48, 3, padding=1), nn.ReLU(),
        )
        self.project = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48 * 16, width), nn.ReLU())
        self.out = nn.Linear(width, 64)

    def forward(self, x):
        return F.normalize(self.out(self.project(self.convs(x))), dim=1)


def penalise(model):
    total = 0.0
    for parameter in model.parameters():
        if parameter.ndim > 1:
            rows = parameter.flatten(1)
            product = rows @ rows.T
            total = total + (product - torch.eye(len(product), device=rows.device)).pow(2).sum() / len(product)
    return total


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Embedder().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    first, second = torch.randn(2, 48, 8, 3, 48, 48, device=device)
    same = torch.arange(8, device=device)
    for step in range(48):
        both = model(torch.cat([first[step], second[step]]))
        loss = F.cross_entropy(both[:8] @ both[8:].T / 0.1, same) + 1e-3 * penalise(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
