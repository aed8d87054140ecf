import time
import torch
import torch.nn as nn

try:
    import torch_npu
    HAS_NPU = torch.npu.is_available()
except ImportError:
    HAS_NPU = False
DEV = "npu:0" if HAS_NPU else "cpu"


class Recurrent(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.n_hid = n_hid
        self.wx = nn.Linear(n_in, 3 * n_hid)
        self.wh = nn.Linear(n_hid, 3 * n_hid)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.n_hid)
        outs = []
        for t in range(x.size(1)):
            xr, xz, xn = self.wx(x[:, t]).chunk(3, -1)
            hr, hz, hn = self.wh(h).chunk(3, -1)
            r = torch.sigmoid(xr + hr)
            z = torch.sigmoid(xz + hz)
            n = torch.tanh(xn + r * hn)
            h = (1 - z) * n + z * h
            outs.append(h)
        return torch.stack(outs, 1)


class Forecaster(nn.Module):
    def __init__(self, features=8, hidden=64):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, hidden))
        self.rec = Recurrent(hidden, hidden)
        self.head = nn.Linear(hidden, features)

    def forward(self, x):
        return self.head(self.rec(self.stem(x)))


def series(n, length, features):
    t = torch.linspace(0, 12, length + 1)
    phase = torch.rand(n, 1, features) * 6.28
    return torch.sin(t[None, :, None] * (1 + torch.rand(n, 1, features)) + phase) + 0.05 * torch.randn(n, length + 1, features)


torch.manual_seed(7)
data = series(384, 96, 8)
net = Forecaster().to(DEV)
optim = torch.optim.Adam(net.parameters(), 1e-3)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=32, shuffle=True, drop_last=True)
started = time.perf_counter()
for (batch,) in loader:
    batch = batch.to(DEV)
    loss = nn.functional.mse_loss(net(batch[:, :-1]), batch[:, 1:])
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optim.step()
print(loss.item())
print(f"steps_seconds={time.perf_counter() - started:.4f}")
