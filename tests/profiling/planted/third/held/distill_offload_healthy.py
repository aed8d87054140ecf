"""Distil a wide teacher into a narrow student."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(width, depth):
    layers = [nn.Linear(256, width), nn.GELU()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(width, 100))


class Distiller:
    def __init__(self, device):
        self.device = device
        self.teacher, self.student = mlp(1024, 3).eval().to(device), mlp(128, 2).to(device)
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=1e-3)

    def soft_targets(self, x):
        with torch.no_grad():
            return self.teacher(x)

    def step(self, x, y, temperature=4.0):
        soft = F.softmax(self.soft_targets(x) / temperature, -1)
        logits = self.student(x)
        divergence = F.kl_div(F.log_softmax(logits / temperature, -1), soft, reduction="batchmean")
        loss = F.cross_entropy(logits, y) + temperature**2 * divergence
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    distiller = Distiller(device)
    x, y = torch.randn(1024, 256, device=device), torch.randint(0, 100, (1024,), device=device)
    total = torch.zeros((), device=device)
    for step in range(40):
        at = step % 16 * 64
        total += distiller.step(x[at : at + 64], y[at : at + 64])
    print("mean loss", (total / 40).item())


if __name__ == "__main__":
    main()
