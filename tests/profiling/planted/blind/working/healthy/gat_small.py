"""Dense graph attention."""
import time
import torch
from torch import nn
import torch.nn.functional as F

dev = "cuda" if torch.cuda.is_available() else "cpu"


class GAT(nn.Module):
    def __init__(self, i, o, heads):
        super().__init__()
        self.h, self.lin = heads, nn.Linear(i, o * heads, bias=False)
        self.l, self.r = nn.Parameter(torch.randn(heads, o) * 0.1), nn.Parameter(torch.randn(heads, o) * 0.1)

    def forward(self, x, blocked):
        z = self.lin(x).view(len(x), self.h, -1)
        e = F.leaky_relu((z * self.l).sum(-1).t().unsqueeze(2) + (z * self.r).sum(-1).t().unsqueeze(1), 0.2)
        a = e.masked_fill(blocked, -1e9).softmax(-1)
        return (a @ z.transpose(0, 1)).transpose(0, 1).flatten(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = GAT(500, 16, 4), GAT(64, 7, 1)

    def forward(self, x, m):
        return self.b(F.elu(self.a(F.dropout(x, 0.6, self.training), m)), m)


torch.manual_seed(0)
n = 400
x, y = torch.rand(n, 500, device=dev), torch.randint(0, 7, (n,), device=dev)
blocked = (torch.rand(n, n, device=dev) > 0.02) & ~torch.eye(n, dtype=torch.bool, device=dev)
net = Net().to(dev)
opt = torch.optim.Adam(net.parameters(), lr=5e-3, weight_decay=5e-4)
t0 = time.perf_counter()
for epoch in range(20):
    loss = F.cross_entropy(net(x, blocked), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - t0:.4f}")
