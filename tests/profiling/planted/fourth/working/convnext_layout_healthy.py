"""A ConvNeXt for small pictures."""
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        last = self.depthwise(x).permute(0, 2, 3, 1)
        return x + self.down(nn.functional.relu(self.up(self.norm(last)))).permute(0, 3, 1, 2)


class Net(nn.Module):
    def __init__(self, width=32, depth=4):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, stride=4)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(48, 8, 3, 96, 96, device=device)
    labels = torch.randint(10, (48, 8), device=device)
    for step in range(48):
        loss = nn.functional.cross_entropy(model(images[step]), labels[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
