"""A masked language model: 15 % of the words are hidden and guessed."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, MASK, IGNORE = 4000, 1, -100


class Embeddings(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.word, self.place = nn.Embedding(VOCAB, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.register_buffer("places", torch.arange(length))

    def forward(self, x):
        return self.norm(self.word(x) + self.place(self.places[: x.shape[1]]))


class PredictionHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dense, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.decoder = nn.Linear(width, VOCAB)

    def forward(self, x):
        return self.decoder(self.norm(F.gelu(self.dense(x))))


class MaskedModel(nn.Module):
    def __init__(self, width=96, layers=2, length=64):
        super().__init__()
        self.embeddings = Embeddings(width, length)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = PredictionHead(width)

    def forward(self, words, hidden, answers):
        x = self.encoder(self.embeddings(words))
        labels = torch.full_like(words, IGNORE).scatter(1, hidden, answers)
        logits = self.head(x)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)


def hide(words, count):
    places = torch.rand(words.shape, device=words.device).topk(count, 1).indices
    return words.scatter(1, places, MASK), places, words.gather(1, places)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = MaskedModel().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    corpus = torch.randint(2, VOCAB, (40, 6, 64), device=device)
    for step in range(40):
        loss = model(*hide(corpus[step], 9))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
