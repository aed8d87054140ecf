import time
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

try:
    import torch_npu
    torch_npu.npu.set_device("npu:0")
    loc = "npu:0"
except ImportError:
    loc = "cpu"
hp = {"T": 4.0, "alpha": 0.7, "bs": 64, "lr": 0.02}


def net(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(8 * width, 20))


def kd_loss(s, t, y):
    soft = F.kl_div(F.log_softmax(s / hp["T"], 1), F.softmax(t / hp["T"], 1), reduction="batchmean") * hp["T"] ** 2
    return hp["alpha"] * soft + (1 - hp["alpha"]) * F.cross_entropy(s, y)


def validate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right = right + (model(x.to(loc)).argmax(1) == y.to(loc)).sum()
            total += len(y)
    model.train()
    return right.item() / total


torch.manual_seed(0)
train = DataLoader(TensorDataset(torch.rand(64 * 12, 3, 32, 32), torch.randint(0, 20, (64 * 12,))), batch_size=hp["bs"], shuffle=True)
valid = DataLoader(TensorDataset(torch.rand(512, 3, 32, 32), torch.randint(0, 20, (512,))), batch_size=128)
teacher, student = net(64).to(loc).eval(), net(32).to(loc)
opt = torch.optim.SGD(student.parameters(), lr=hp["lr"], momentum=0.9)
best = 0.0
clock = time.perf_counter()
for x, y in train:
    x, y = x.to(loc), y.to(loc)
    with torch.no_grad():
        t = teacher(x)
    loss = kd_loss(student(x), t, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - clock:.4f}")
