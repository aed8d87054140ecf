"""A bag of word pieces sorts news by subject."""
import random
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SYLLABLES = ["ka", "lo", "mi", "ter", "sun", "va", "pre", "dor", "qui", "ash", "bel", "cor"]


def make_news(count):
    draw = random.Random(0)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(3000)]
    return [" ".join(draw.choices(words, k=24)) for _ in range(count)]


def train_tokenizer(news, path):
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(news, trainers.BpeTrainer(vocab_size=3000, special_tokens=["[PAD]", "[UNK]"]))
    tokenizer.save(str(path))


def encode(path, texts):
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(64)
    tokenizer.enable_padding(length=64)
    return torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(texts)])


class Sorter(nn.Module):
    def __init__(self, vocabulary=3000, width=96, subjects=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        self.mix = nn.Sequential(nn.Linear(width, 256), nn.GELU(), nn.Linear(256, width), nn.LayerNorm(width))
        self.head = nn.Linear(width, subjects)

    def forward(self, ids):
        return self.head(self.mix(self.embed(ids)).mean(1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    news = make_news(768)
    labels = torch.randint(0, 8, (768,), device=device)
    model = Sorter().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        train_tokenizer(news, path)
        encoded = encode(path, news).to(device)
        for step in range(48):
            at = step % 24 * 32
            ids = encoded[at : at + 32]
            loss = nn.functional.cross_entropy(model(ids), labels[at : at + 32])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 24 == 23:
                print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
