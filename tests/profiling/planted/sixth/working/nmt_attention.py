"""Translation with additive attention over the source."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)

    def forward(self, src):
        return self.rnn(self.embed(src))[0]


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.key = nn.Linear(2 * width, width, bias=False)
        self.query = nn.Linear(width, width, bias=False)
        self.energy = nn.Linear(width, 1, bias=False)

    def forward(self, state, memory):
        keys = self.key(memory)
        scores = self.energy(torch.tanh(self.query(state).unsqueeze(1) + keys)).squeeze(2)
        return torch.bmm(scores.softmax(1).unsqueeze(1), memory).squeeze(1)


class Decoder(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.attention = Attention(width)
        self.cell = nn.GRUCell(3 * width, width)
        self.out = nn.Linear(width, vocab)

    def forward(self, memory, target):
        state = memory.new_zeros(len(memory), self.cell.hidden_size)
        words = self.embed(target)
        states = []
        for t in range(target.shape[1]):
            context = self.attention(state, memory)
            state = self.cell(torch.cat([words[:, t], context], 1), state)
            states.append(state)
        return self.out(torch.stack(states, 1))


class Translator(nn.Module):
    def __init__(self, vocab=400, width=128):
        super().__init__()
        self.encoder, self.decoder = Encoder(vocab, width), Decoder(vocab, width)

    def forward(self, src, tgt):
        return self.decoder(self.encoder(src), tgt)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Translator().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    src, tgt = torch.randint(0, 400, (6, 16, 32), device=device), torch.randint(0, 400, (6, 16, 13), device=device)
    for step in range(42):
        i = step % 6
        logits = model(src[i], tgt[i, :, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[i, :, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
