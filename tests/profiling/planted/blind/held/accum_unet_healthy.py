"""U-Net segmentation with gradient accumulation (NPU)."""
import time
import torch
from torch import nn
import torch.nn.functional as F

try:
    import torch_npu
    from torch_npu.contrib import transfer_to_npu
except ImportError:
    pass
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ACCUMULATE = 4


def double(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.d1, self.d2, self.d3, self.mid = double(3, w), double(w, 2 * w), double(2 * w, 4 * w), double(4 * w, 12 * w)
        self.u3, self.u2, self.u1 = double(16 * w, 4 * w), double(6 * w, 2 * w), double(3 * w, w)
        self.out = nn.Conv2d(w, 5, 1)

    def forward(self, x):
        up = lambda t: F.interpolate(t, scale_factor=2)
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        m = self.mid(F.max_pool2d(c, 2))
        c = self.u3(torch.cat([up(m), c], 1))
        b = self.u2(torch.cat([up(c), b], 1))
        return self.out(self.u1(torch.cat([up(b), a], 1)))


def check(model):
    for name, p in model.named_parameters():
        assert torch.isfinite(p).all(), name
        assert p.grad is None or torch.isfinite(p.grad).all(), name
        assert p.grad is None or p.grad.abs().max() < 1e4, name


torch.manual_seed(0)
model = UNet().to(device)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
images, masks = torch.rand(64, 3, 32, 32), torch.randint(0, 5, (64, 32, 32))
start = time.perf_counter()
for step in range(8):
    optimizer.zero_grad()
    for micro in range(ACCUMULATE):
        at = (step * ACCUMULATE + micro) % 32 * 2
        x, y = images[at:at + 2].to(device), masks[at:at + 2].to(device)
        loss = F.cross_entropy(model(x), y) / ACCUMULATE
        loss.backward()
    optimizer.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
