"""A convolutional variational autoencoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def down(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.GroupNorm(8, cout), nn.SiLU(),
                         nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(8, cout), nn.SiLU())


def up(cin, cout):
    return nn.Sequential(nn.ConvTranspose2d(cin, cout, 4, stride=2, padding=1), nn.GroupNorm(8, cout), nn.SiLU(),
                         nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(8, cout), nn.SiLU())


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(down(3, 16), down(16, 32), down(32, 64), nn.Flatten(), nn.Linear(64 * 16, 64))
        self.enter = nn.Linear(32, 64 * 16)
        self.decoder = nn.Sequential(up(64, 32), up(32, 16), up(16, 16), nn.Conv2d(16, 3, 3, padding=1))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        rebuilt = self.decoder(self.enter(z).view(-1, 64, 4, 4))
        divergence = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(1).mean()
        return F.mse_loss(rebuilt, x, reduction="sum") / len(x) + divergence


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Vae().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, momentum=0.9)
    images = torch.rand(48, 4, 3, 32, 32, device=device)
    for step in range(48):
        loss = model(images[step])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item(), "norm", norm.item())


if __name__ == "__main__":
    main()
