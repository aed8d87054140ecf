"""Contrastive learning of pictures in two views."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.project = nn.Sequential(nn.Linear(2 * width, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        return F.normalize(self.project(self.body(x)), dim=1)


def contrast(a, b, heat=0.5):
    both, count = torch.cat([a, b]), len(a)
    loss = 0.0
    for i in range(2 * count):
        partner = (i + count) % (2 * count)
        similar = torch.exp(both[i] @ both[partner] / heat)
        others = torch.cat([both[:i], both[i + 1 :]])
        loss = loss - torch.log(similar / torch.exp(others @ both[i] / heat).sum())
    return loss / (2 * count)


def augment(x):
    x = x + 0.1 * torch.randn_like(x)
    return torch.flip(x, (3,)) * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1, device=x.device))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Encoder().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images = torch.randn(48, 16, 3, 40, 40, device=device)
    for step in range(48):
        loss = contrast(model(augment(images[step])), model(augment(images[step])))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
