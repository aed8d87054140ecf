"""A GAN of faces whose critic is kept smooth by the gradient at real pictures."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, z=32, width=16):
        super().__init__()
        self.fc = nn.Linear(z, width * 16)
        self.net = nn.Sequential(
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(width, 3, 3, padding=1), nn.Tanh(),
        )

    def forward(self, z):
        return self.net(self.fc(z).view(len(z), -1, 4, 4))


class Critic(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(width, width, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(width, 2 * width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(2 * width * 16, 1),
        )

    def forward(self, x):
        return self.net(x)


def r1_penalty(critic, real):
    real = real.detach().requires_grad_(True)
    score = critic(real)
    (grad,) = torch.autograd.grad(score.sum(), real, create_graph=True)
    return grad.pow(2).flatten(1).sum(1).mean()


class Trainer:
    def __init__(self, device, r1=10.0, every=16):
        self.g, self.d = Generator().to(device), Critic().to(device)
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=2e-4, betas=(0.0, 0.99))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=2e-4, betas=(0.0, 0.99))
        self.r1, self.every, self.device = r1, every, device

    def critic_step(self, real, z, step):
        with torch.no_grad():
            fake = self.g(z)
        loss = F.softplus(self.d(fake)).mean() + F.softplus(-self.d(real)).mean()
        loss = loss + self.r1 / 2 * r1_penalty(self.d, real)
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss

    def generator_step(self, z):
        loss = F.softplus(-self.d(self.g(z))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    trainer = Trainer(device)
    faces = torch.rand(8, 8, 3, 16, 16, device=device) * 2 - 1
    for step in range(48):
        z = torch.randn(2, 8, 32, device=device)
        d = trainer.critic_step(faces[step % 8], z[0], step)
        g = trainer.generator_step(z[1])
    print("critic", d.item(), "generator", g.item())


if __name__ == "__main__":
    main()
