"""A linear probe: a head is trained on the features of a convolutional backbone that stays as it is."""
import torch
import torch.nn as nn


class Stage(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=2, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(x)))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.Sequential(Stage(3, 16), Stage(16, 32), Stage(32, 64))

    def forward(self, images):
        return self.stages(images).mean((2, 3))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    backbone = Backbone().to(device).eval()
    head = nn.Linear(64, 10).to(device)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
    images = torch.randn(8, 16, 3, 64, 64, device=device)
    labels = torch.randint(0, 10, (8, 16), device=device)
    for step in range(48):
        features = backbone(images[step % 8])
        loss = nn.functional.cross_entropy(head(features), labels[step % 8])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
