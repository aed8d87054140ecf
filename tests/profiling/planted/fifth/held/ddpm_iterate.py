"""A denoising diffusion model of small grey pictures."""
import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(4)])
        self.leave = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.enter(x) + self.time(t[:, None])[:, :, None, None]
        for conv in self.middle:
            h = h + torch.nn.functional.silu(conv(h))
        return self.leave(h)


class Schedule:
    def __init__(self, steps, device):
        self.steps = steps
        self.betas = torch.linspace(1e-4, 0.05, steps, device=device)
        self.kept = torch.cumprod(1 - self.betas, 0)

    def add_noise(self, x, t):
        """The picture after t moments of the chain; where a picture has reached its own t, it stays."""
        first = x
        for moment in range(self.steps):
            beta = self.betas[moment]
            noisier = (1 - beta).sqrt() * x + beta.sqrt() * torch.randn_like(x)
            x = torch.where((t >= moment)[:, None, None, None], noisier, x)
        kept = self.kept[t][:, None, None, None]
        return x, (x - kept.sqrt() * first) / (1 - kept).sqrt()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Denoiser().to(device)
    schedule = Schedule(40, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    pictures = torch.rand(8, 16, 1, 28, 28, device=device) * 2 - 1
    for step in range(48):
        t = torch.randint(0, schedule.steps, (16,), device=device)
        noisy, noise = schedule.add_noise(pictures[step % 8], t)
        loss = nn.functional.mse_loss(model(noisy, t / schedule.steps), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
