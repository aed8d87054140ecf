import time
import torch
from torch import nn
import torch.nn.functional as F

try:
    import torch_npu
    device = torch.device("npu:0")
except ImportError:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class VQ(nn.Module):
    def __init__(self, k=256, d=32):
        super().__init__()
        self.book = nn.Embedding(k, d)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
        code = torch.cdist(flat, self.book.weight).argmin(1)
        q = self.book(code).view(z.size(0), z.size(2), z.size(3), -1).permute(0, 3, 1, 2)
        return z + (q - z).detach(), F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 4, 2, 1))
        self.vq = VQ()
        self.dec = nn.Sequential(nn.ConvTranspose2d(32, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))

    def forward(self, x):
        q, penalty = self.vq(self.enc(x))
        return F.mse_loss(self.dec(q), x) + penalty


torch.manual_seed(0)
model, data = Model().to(device), torch.rand(12, 16, 3, 32, 32).to(device)
opt = torch.optim.Adam(model.parameters(), lr=2e-4)
tic = time.perf_counter()
for x in data:
    loss = model(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - tic:.4f}")
