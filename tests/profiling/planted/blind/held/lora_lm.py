"""LoRA fine-tuning of a frozen decoder; batches come through a queue."""
import queue
import threading
import time
import torch
from torch import nn
import torch.nn.functional as F

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class LoRA(nn.Module):
    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.a), self.b)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d).requires_grad_(False), nn.LayerNorm(d).requires_grad_(False)
        self.qkv, self.o = LoRA(nn.Linear(d, 3 * d)), LoRA(nn.Linear(d, d))
        self.up, self.down = LoRA(nn.Linear(d, 4 * d)), LoRA(nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Feed:
    def __init__(self, steps):
        self.queue = queue.Queue()
        threading.Thread(target=self.fill, args=(steps,), daemon=True).start()

    def fill(self, steps):
        for s in range(steps):
            self.queue.put(torch.randint(0, 1000, (8, 65), generator=torch.Generator().manual_seed(s)))

    def next(self):
        while True:
            time.sleep(0.05)
            if not self.queue.empty():
                return self.queue.get()


torch.manual_seed(0)
embed = nn.Embedding(1000, 128).requires_grad_(False).to(DEVICE)
body = nn.Sequential(*[Block(128) for _ in range(4)]).to(DEVICE)
head = nn.Linear(128, 1000, bias=False).requires_grad_(False).to(DEVICE)
opt = torch.optim.AdamW([p for p in body.parameters() if p.requires_grad], lr=1e-3)
feed = Feed(12)
time.sleep(0.2)
start = time.perf_counter()
for step in range(12):
    ids = feed.next().to(DEVICE)
    logits = head(body(embed(ids[:, :-1])))
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
