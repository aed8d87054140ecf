"""Encoder-decoder with attention and a copy mechanism."""
import time
import torch
from torch import nn

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
V, D, SRC, TGT, B = 1600, 96, 40, 16, 16


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r = nn.Embedding(V, D), nn.LSTM(D, D, batch_first=True)

    def forward(self, x):
        return self.r(self.e(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.cell = nn.Embedding(V, D), nn.LSTMCell(2 * D, D)
        self.query, self.out = nn.Linear(D, D), nn.Linear(2 * D, V)

    def forward(self, memory, state, y, src):
        h, c = state[0][0], state[1][0]
        context = memory.mean(1)
        logits = []
        for t in range(y.size(1)):
            h, c = self.cell(torch.cat([self.e(y[:, t]), context], 1), (h, c))
            weight = (memory @ self.query(h).unsqueeze(2)).squeeze(2).softmax(1)
            context = (weight.unsqueeze(1) @ memory).squeeze(1)
            step = self.out(torch.cat([h, context], 1))
            copied = torch.zeros(B, V, device=memory.device).scatter_add(1, src, weight)
            logits.append(step + copied)
        return torch.stack(logits, 1)


torch.manual_seed(0)
enc, dec = Encoder().to(dev), Decoder().to(dev)
params = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.Adam(params, 1e-3)
start = time.perf_counter()
for step in range(12):
    src = torch.randint(1, V, (B, SRC), device=dev)
    tgt = src[:, :TGT + 1]
    memory, state = enc(src)
    logits = dec(memory, state, tgt[:, :-1], src)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
print("loss", loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
