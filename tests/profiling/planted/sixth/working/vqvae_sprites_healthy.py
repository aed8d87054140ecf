"""VQ-VAE on small sprites that are drawn from their number."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sprites(Dataset):
    """Each number is a sprite: a palette and four bars."""

    def __init__(self, count):
        self.count = count
        self.palette = torch.rand(64, 3, 1, 1)
        self.bars = torch.rand(128, 1, 16, 16)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.palette[i % 64] * self.bars[i % 127], i % 10


class Quantizer(nn.Module):
    def __init__(self, codes, width, beta=0.25):
        super().__init__()
        self.beta = beta
        self.book = nn.Embedding(codes, width)
        self.book.weight.data.uniform_(-1 / codes, 1 / codes)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        d = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.book.weight.t() + self.book.weight.pow(2).sum(1)
        q = self.book(d.argmin(1)).view(z.shape[0], z.shape[2], z.shape[3], -1).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss


class VQVAE(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1))
        self.vq = Quantizer(64, width)
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1)
        )

    def forward(self, x):
        q, loss = self.vq(self.enc(x))
        return self.dec(q), loss


def forever(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_updates", type=int, default=48)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--log_interval", type=int, default=24)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda")
    training_loader = DataLoader(Sprites(400_000), batch_size=args.batch_size, shuffle=True)
    model = VQVAE().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, amsgrad=True)
    model.train()
    batches = forever(training_loader)
    for i in range(args.n_updates):
        x, _ = next(batches)
        x = x.to(device)
        optimizer.zero_grad()
        x_hat, embedding_loss = model(x)
        loss = F.mse_loss(x_hat, x) + embedding_loss
        loss.backward()
        optimizer.step()
        if i % args.log_interval == args.log_interval - 1:
            print("Update #", i, "Loss:", loss.item())


if __name__ == "__main__":
    main()
