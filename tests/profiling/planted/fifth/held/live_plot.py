"""A variational autoencoder; its loss curves are kept as a picture."""
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
import torch.nn as nn


class Vae(nn.Module):
    def __init__(self, pixels=784, width=400, latent=20):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, pixels))

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, 1)
        z = mean + torch.exp(0.5 * spread) * torch.randn_like(mean)
        return self.decoder(z), mean, spread


def draw(path, reconstructions, divergences):
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    axes[0].plot(reconstructions)
    axes[0].set_title("reconstruction")
    axes[1].plot(divergences)
    axes[1].set_title("divergence")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Vae().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.rand(8, 128, 784, device=device).round()
    reconstructions, divergences = [], []
    with tempfile.TemporaryDirectory() as folder:
        for step in range(48):
            logits, mean, spread = model(x[step % 8])
            reconstruction = nn.functional.binary_cross_entropy_with_logits(logits, x[step % 8], reduction="sum") / 128
            divergence = -0.5 * (1 + spread - mean**2 - spread.exp()).sum() / 128
            optimizer.zero_grad()
            (reconstruction + divergence).backward()
            optimizer.step()
            reconstructions.append(reconstruction.item())
            divergences.append(divergence.item())
            draw(Path(folder) / "losses.png", reconstructions, divergences)
        print("loss", reconstructions[-1] + divergences[-1])


if __name__ == "__main__":
    main()
