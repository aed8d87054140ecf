"""Masked language model pre-training on a toy corpus (torch_npu)."""
import random
import time

import torch
import torch.nn as nn

try:
    import torch_npu  # noqa: F401
except ImportError:
    torch_npu = None

from bert_mlm_healthy_text import WordPiece, make_corpus

device = torch.device("npu:0" if torch_npu is not None and torch.npu.is_available() else "cpu")
LENGTH, BATCH, STEPS = 48, 16, 12


class TinyBert(nn.Module):
    def __init__(self, vocab, width=128, layers=2, heads=4):
        super().__init__()
        self.word = nn.Embedding(vocab, width, padding_idx=0)
        self.position = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, heads, width * 4, dropout=0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.decoder = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.word(ids) + self.position.weight[: ids.size(1)]
        return self.decoder(self.encoder(x))


def mask_tokens(ids, mask_id, p=0.15):
    chosen = torch.rand(ids.shape) < p
    return ids.masked_fill(chosen, mask_id), ids.masked_fill(~chosen, -100)


def main():
    random.seed(3)
    torch.manual_seed(3)
    corpus = make_corpus(200)
    tokenizer = WordPiece(corpus)
    encoded = torch.tensor([tokenizer.encode(line, LENGTH) for line in corpus])
    model = TinyBert(len(tokenizer)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    begin = time.perf_counter()
    for step in range(STEPS):
        picks = random.sample(range(len(corpus)), BATCH)
        ids = encoded[picks]
        inputs, targets = mask_tokens(ids, tokenizer.mask)
        logits = model(inputs.to(device))
        loss = criterion(logits.flatten(0, 1), targets.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("mlm loss", float(loss))
    print(f"steps_seconds={time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
