"""Small segmentation network, class-based trainer (NPU)."""
import time
import torch
from torch import nn
import torch.nn.functional as F

try:
    import torch_npu
    from torch_npu.contrib import transfer_to_npu
except ImportError:
    pass


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Seg(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.a, self.b, self.c = conv(3, w), conv(w, 2 * w), conv(2 * w, 4 * w)
        self.d, self.e = conv(6 * w, 2 * w), conv(3 * w, w)
        self.out = nn.Conv2d(w, 4, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 2))
        d = self.d(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        return self.out(self.e(torch.cat([F.interpolate(d, scale_factor=2), a], 1)))


class Trainer:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = Seg().to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, nesterov=True)

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def fit(self, steps):
        x, y = torch.rand(steps * 8, 3, 48, 48), torch.randint(0, 4, (steps * 8, 48, 48))
        losses = []
        begin = time.perf_counter()
        for k in range(steps):
            losses.append(self.step(x[8 * k:8 * k + 8].to(self.device, non_blocking=True), y[8 * k:8 * k + 8].to(self.device, non_blocking=True)))
        print("mean", torch.stack(losses).mean().item())
        print(f"steps_seconds={time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer().fit(12)
