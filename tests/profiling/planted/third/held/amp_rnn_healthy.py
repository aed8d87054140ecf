"""A recurrent language model with its own cell, trained in bfloat16 by autocast."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, WIDTH, LENGTH = 200, 256, 24


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inlet, self.again = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, x, h):
        r, z, n = self.inlet(x).chunk(3, -1)
        hr, hz, hn = self.again(h).chunk(3, -1)
        gate = torch.sigmoid(z + hz)
        return gate * h + (1 - gate) * torch.tanh(n + torch.sigmoid(r + hr) * hn)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.cell = Cell(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        h, states = torch.zeros_like(x[:, 0]), []
        for t in range(ids.size(1)):
            h = self.cell(x[:, t], h)
            states.append(h)
        return self.head(torch.stack(states, 1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(0, VOCAB, (64, LENGTH + 1), device=device)
    for step in range(40):
        batch = ids[step % 4 * 16 : (step % 4 + 1) * 16]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
