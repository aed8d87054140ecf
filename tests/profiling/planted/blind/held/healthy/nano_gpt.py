import time
from dataclasses import dataclass
import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class GPTConfig:
    block_size: int = 64
    vocab_size: int = 512
    n_layer: int = 3
    n_head: int = 4
    n_embd: int = 128


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.h = c.n_head
        self.ln_1, self.ln_2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.c_attn, self.c_proj = nn.Linear(c.n_embd, 3 * c.n_embd, bias=False), nn.Linear(c.n_embd, c.n_embd, bias=False)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.h, d // self.h).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).split(d, 2))
        x = x + self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c.vocab_size, c.n_embd), nn.Embedding(c.block_size, c.n_embd)
        self.h, self.ln_f = nn.Sequential(*[Block(c) for _ in range(c.n_layer)]), nn.LayerNorm(c.n_embd)
        self.register_buffer("pos", torch.arange(c.block_size), persistent=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(self.pos[: idx.size(1)])
        return self.ln_f(self.h(x)) @ self.wte.weight.t()


device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1337)
config = GPTConfig()
model = GPT(config).to(device)
decay = [p for p in model.parameters() if p.dim() > 1]
rest = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=6e-4, betas=(0.9, 0.95))
data = torch.randint(0, config.vocab_size, (15, 8, config.block_size + 1)).to(device)
t0 = time.perf_counter()
for batch in data:
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, config.vocab_size), batch[:, 1:].reshape(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"loss {loss.item():.4f}")
print(f"steps_seconds={time.perf_counter() - t0:.4f}")
