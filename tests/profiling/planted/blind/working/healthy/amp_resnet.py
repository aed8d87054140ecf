"""Mixed precision (bfloat16 autocast) training of a plain residual network."""
import time
import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c))

    def forward(self, x):
        return torch.relu(x + self.f(x))


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), Res(32), Res(32), nn.Conv2d(32, 64, 3, 2, 1), Res(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 100)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images, labels = torch.rand(120, 3, 32, 32, device=device), torch.randint(0, 100, (120,), device=device)
start = time.perf_counter()
for step in range(10):
    x, y = images[12 * step:12 * step + 12], labels[12 * step:12 * step + 12]
    with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
