"""Age, sex, smile and landmarks of faces from one trunk."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Trunk(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.ModuleList()
        inside = 3
        for i in range(4):
            self.layers.append(nn.Conv2d(inside, width * 2 ** (i // 2), 3, padding=1))
            inside = width * 2 ** (i // 2)

    def forward(self, x):
        for i, conv in enumerate(self.layers):
            x = F.relu(conv(x))
            if i % 2:
                x = F.max_pool2d(x, 2)
        return x.mean((2, 3))


class FaceNet(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = Trunk()
        self.heads = nn.ModuleDict({name: nn.Linear(48, size) for name, size in tasks.items()})

    def forward(self, x):
        shared = self.trunk(x)
        return {name: head(shared) for name, head in self.heads.items()}


class MultiTask:
    tasks = {"age": 1, "sex": 2, "smile": 2, "landmarks": 10}

    def __init__(self, device):
        self.device = device
        self.model = FaceNet(self.tasks).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def losses(self, out, y):
        yield F.mse_loss(out["age"].squeeze(1), y["age"])
        yield F.cross_entropy(out["sex"], y["sex"])
        yield F.cross_entropy(out["smile"], y["smile"])
        yield F.smooth_l1_loss(out["landmarks"], y["landmarks"])

    def step(self, x, y):
        self.optimizer.zero_grad()
        out = self.model(x)
        total = 0
        for loss in self.losses(out, y):
            loss.backward(retain_graph=True)
            total += loss.detach()
        self.optimizer.step()
        return total


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    learner = MultiTask(device)
    x = torch.randn(8, 8, 3, 24, 24, device=device)
    y = {
        "age": torch.rand(8, device=device), "sex": torch.randint(0, 2, (8,), device=device),
        "smile": torch.randint(0, 2, (8,), device=device), "landmarks": torch.rand(8, 10, device=device),
    }
    for step in range(48):
        total = learner.step(x[step % 8], y)
    print("loss", total.item())


if __name__ == "__main__":
    main()
