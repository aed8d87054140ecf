"""A generative adversarial network whose critic is spectrally normalised."""
import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm


def conv(inside, outside):
    return spectral_norm(nn.Conv2d(inside, outside, 4, stride=2, padding=1))


def make_critic():
    return nn.Sequential(
        conv(3, 16), nn.LeakyReLU(0.2), conv(16, 32), nn.LeakyReLU(0.2), conv(32, 64), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(64 * 16, 1),
    )


def make_generator(latent):
    return nn.Sequential(
        nn.Linear(latent, 64 * 16), nn.Unflatten(1, (64, 4, 4)), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 3, 4, stride=2, padding=1), nn.Tanh(),
    )


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    critic, generator = make_critic().to(device), make_generator(64).to(device)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.9))
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.9))
    pictures = torch.rand(8, 16, 3, 32, 32, device=device) * 2 - 1
    for step in range(48):
        fake = generator(torch.randn(16, 64, device=device))
        scores = critic(torch.cat([pictures[step % 8], fake.detach()]))
        critic_loss = torch.relu(1 - scores[:16]).mean() + torch.relu(1 + scores[16:]).mean()
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        generator_loss = -critic(fake).mean()
        generator_optimizer.zero_grad()
        generator_loss.backward()
        generator_optimizer.step()
        if step % 24 == 23:
            print("step", step, critic_loss.item(), generator_loss.item())


if __name__ == "__main__":
    main()
