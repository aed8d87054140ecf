import time
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.mlp = nn.Sequential(nn.Conv1d(k, 64, 1), nn.ReLU(), nn.Conv1d(64, 128, 1), nn.ReLU())
        self.fc = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, k * k))

    def forward(self, x):
        m = self.fc(self.mlp(x).amax(2)).view(-1, self.k, self.k)
        return m + torch.eye(self.k, device=x.device)


class PointNet(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        self.t1, self.t2 = TNet(3), TNet(32)
        self.c1, self.c2, self.c3 = nn.Conv1d(3, 32, 1), nn.Conv1d(32, 64, 1), nn.Conv1d(64, 256, 1)
        self.head = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, classes))

    def forward(self, x):
        x = F.relu(self.c1(self.t1(x) @ x))
        x = F.relu(self.c2(self.t2(x) @ x))
        return self.head(self.c3(x).amax(2))


def clip(model, limit):
    total = 0.0
    for p in model.parameters():
        for row in p.grad:
            total += row.norm(2).item() ** 2
    total = total ** 0.5
    if total > limit:
        for p in model.parameters():
            p.grad.mul_(limit / (total + 1e-6))
    return total


def main():
    torch.manual_seed(0)
    clouds, labels = torch.randn(256, 3, 128), torch.randint(0, 40, (256,))
    model = PointNet().to(device)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = time.perf_counter()
    for step in range(15):
        i = torch.randint(0, 256, (16,))
        loss = F.cross_entropy(model(clouds[i].to(device)), labels[i].to(device))
        opt.zero_grad()
        loss.backward()
        norm = clip(model, 1.0)
        opt.step()
    print("norm", float(norm), "loss", loss.item())
    print(f"steps_seconds={time.perf_counter() - start:.4f}")


main()
