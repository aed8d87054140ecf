"""A generative adversarial network with convolutions."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_generator(width=48):
    return nn.Sequential(
        nn.ConvTranspose2d(32, 2 * width, 4), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.ConvTranspose2d(width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, 3, 3, padding=1), nn.Tanh(),
    )


def make_critic(width=24):
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 1, 4), nn.Flatten(),
    )


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    generator, critic = make_generator().to(device), make_critic().to(device)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_c = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
    images = torch.rand(48, 8, 3, 16, 16, device=device) * 2 - 1
    for step in range(48):
        real = images[step]
        fake = generator(torch.randn(len(real), 32, 1, 1, device=device))
        right, wrong = critic(real), critic(fake.detach())
        loss_c = F.softplus(-right).mean() + F.softplus(wrong).mean()
        optimizer_c.zero_grad()
        loss_c.backward()
        optimizer_c.step()
        critic.requires_grad_(False)
        loss_g = F.softplus(-critic(fake)).mean()
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        critic.requires_grad_(True)
        if step % 25 == 0:
            print("step", step, "critic", loss_c.item(), "generator", loss_g.item())


if __name__ == "__main__":
    main()
