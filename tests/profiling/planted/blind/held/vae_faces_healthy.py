"""Variational autoencoder on JPEG faces (NPU)."""
import io
import time
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

try:
    import torch_npu
    device = torch.device("npu:0")
except ImportError:
    device = torch.device("cpu")


class Faces(Dataset):
    def __init__(self, n):
        r = np.random.default_rng(0)
        self.blobs = []
        for _ in range(n):
            small = Image.fromarray(r.integers(0, 255, (16, 16, 3), dtype=np.uint8))
            buffer = io.BytesIO()
            small.resize((320, 320), Image.BICUBIC).save(buffer, "JPEG", quality=90)
            self.blobs.append(buffer.getvalue())
        self.decoded = [self.decode(b) for b in self.blobs]

    @staticmethod
    def decode(blob):
        image = Image.open(io.BytesIO(blob)).convert("RGB").resize((32, 32), Image.LANCZOS)
        return torch.from_numpy(np.asarray(image, dtype=np.float32) / 255).permute(2, 0, 1).contiguous()

    def __len__(self):
        return len(self.blobs)

    def __getitem__(self, i):
        return self.decoded[i]


class VAE(nn.Module):
    def __init__(self, z=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4096, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 4096), nn.Unflatten(1, (64, 8, 8)), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))

    def forward(self, x):
        mean, logvar = self.enc(x).chunk(2, 1)
        return self.dec(mean + torch.randn_like(mean) * (0.5 * logvar).exp()), mean, logvar


torch.manual_seed(0)
loader = DataLoader(Faces(384), batch_size=32, shuffle=True)
vae = VAE().to(device)
opt = torch.optim.Adam(vae.parameters(), 1e-3)
tick = time.perf_counter()
for x in loader:
    x = x.to(device)
    out, mean, logvar = vae(x)
    loss = nn.functional.binary_cross_entropy_with_logits(out, x, reduction="sum") / len(x) - 0.5 * (1 + logvar - mean ** 2 - logvar.exp()).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("elbo", loss.item())
print(f"steps_seconds={time.perf_counter() - tick:.4f}")
