import math
import time
import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    import torch_npu
except ImportError:
    torch_npu = None
device = "npu" if torch_npu is not None else "cpu"


class Dense(nn.Linear):
    """Linear layer."""

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class Norm(nn.LayerNorm):
    """Layer norm."""

    def forward(self, x):
        return super().forward(x)


class EncoderLayer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = Norm(d), Norm(d)
        self.q, self.k, self.v, self.o = (Dense(d, d) for _ in range(4))
        self.up, self.down = Dense(d, 2 * d), Dense(2 * d, d)

    def forward(self, x):
        b, n, d = x.shape
        y = self.n1(x)
        q, k, v = (m(y).view(b, n, self.heads, -1).transpose(1, 2) for m in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
        x = x + self.o(y)
        return x + self.down(F.gelu(self.up(self.n2(x))))


class ViT(nn.Module):
    def __init__(self, size=64, patch=8, d=64, depth=4, heads=4, classes=100):
        super().__init__()
        self.patch = nn.Conv2d(3, d, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, d) * 0.02)
        self.layers = nn.Sequential(*[EncoderLayer(d, heads) for _ in range(depth)])
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.layers(x)[:, 0])


torch.manual_seed(0)
model = ViT().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 0.5 * (1 + math.cos(math.pi * s / 12)))
images, targets = torch.rand(16, 3, 64, 64).to(device), torch.randint(0, 100, (16,)).to(device)
t0 = time.perf_counter()
for step in range(12):
    loss = F.cross_entropy(model(images), targets, label_smoothing=0.1)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
print(f"steps_seconds={time.perf_counter() - t0:.4f}")
