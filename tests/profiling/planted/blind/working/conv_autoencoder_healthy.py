"""Convolutional autoencoder."""
import time
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Norm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return x * self.weight[:, None, None] + self.bias[:, None, None]


def block(i, o, up=False):
    conv = nn.ConvTranspose2d(i, o, 4, 2, 1) if up else nn.Conv2d(i, o, 3, 2, 1)
    return nn.Sequential(Norm(i), conv, nn.ReLU())


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1), block(32, 32), block(32, 48), block(48, 64))
        self.decoder = nn.Sequential(block(64, 48, True), block(48, 32, True), block(32, 32, True), Norm(32), nn.Conv2d(32, 3, 1))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main():
    torch.manual_seed(0)
    data = torch.rand(128, 3, 64, 64)
    net = AutoEncoder().to(device)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    begin = time.perf_counter()
    for step in range(10):
        x = data[torch.randperm(128)[:16]].to(device, non_blocking=True)
        loss = nn.functional.mse_loss(net(x), x)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    print("mse", loss.item())
    print(f"steps_seconds={time.perf_counter() - begin:.4f}")


main()
