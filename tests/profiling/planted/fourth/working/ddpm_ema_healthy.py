"""A denoising diffusion network of residual blocks; a moving average of the weights is kept for sampling."""
import copy

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, width), nn.GroupNorm(8, width)
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(64, width)

    def forward(self, x, t):
        h = self.conv1(torch.relu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return x + self.conv2(torch.relu(self.norm2(h)))


class Denoiser(nn.Module):
    def __init__(self, width=32, depth=6):
        super().__init__()
        self.enter, self.out = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.time = nn.Sequential(nn.Embedding(1000, 64), nn.Linear(64, 64), nn.SiLU())
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])

    def forward(self, x, t):
        x, t = self.enter(x), self.time(t)
        for block in self.blocks:
            x = block(x, t)
        return self.out(x)


@torch.no_grad()
def update_average(average, current, decay=0.999):
    torch._foreach_lerp_(average, current, 1 - decay)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Denoiser().to(device)
    average = copy.deepcopy(model).requires_grad_(False)
    averaged, current = list(average.parameters()), list(model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0).to(device)
    images = torch.randn(48, 4, 3, 16, 16, device=device)
    for step in range(48):
        x = images[step]
        t = torch.randint(1000, (len(x),), device=device)
        noise = torch.randn_like(x)
        share = kept[t][:, None, None, None]
        loss = nn.functional.mse_loss(model(share.sqrt() * x + (1 - share).sqrt() * noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_average(averaged, current)
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
