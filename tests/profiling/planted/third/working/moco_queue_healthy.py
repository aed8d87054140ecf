"""Momentum contrast: two encoders and a queue of negative keys."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 64, dim),
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class MoCo(nn.Module):
    def __init__(self, size=4096, dim=64, momentum=0.99, temperature=0.1):
        super().__init__()
        self.momentum, self.temperature, self.at = momentum, temperature, 0
        self.query, self.key = Encoder(dim), Encoder(dim)
        self.key.load_state_dict(self.query.state_dict())
        self.key.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))

    @torch.no_grad()
    def follow(self):
        torch._foreach_lerp_(list(self.key.parameters()), list(self.query.parameters()), 1 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue[self.at : self.at + len(keys)] = keys
        self.at = (self.at + len(keys)) % len(self.queue)

    def forward(self, one, other):
        q = self.query(one)
        with torch.no_grad():
            self.follow()
            k = self.key(other)
        positive = (q * k).sum(1, keepdim=True)
        logits = torch.cat([positive, q @ self.queue.clone().detach().t()], 1) / self.temperature
        self.enqueue(k)
        return logits


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = MoCo().to(device)
    optimizer = torch.optim.SGD(model.query.parameters(), lr=0.03, momentum=0.9)
    pictures = torch.rand(512, 3, 32, 32, device=device)
    target = torch.zeros(64, dtype=torch.long, device=device)
    for step in range(40):
        x = pictures[step % 8 * 64 : (step % 8 + 1) * 64]
        one, other = x + 0.1 * torch.randn_like(x), x.flip(3) + 0.1 * torch.randn_like(x)
        loss = F.cross_entropy(model(one, other), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
