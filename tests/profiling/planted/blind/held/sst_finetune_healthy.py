"""Fine-tune a small encoder for sentence classification."""
import time
import numpy as np
import torch
from torch import nn
from sklearn.metrics import classification_report, f1_score, roc_auc_score

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Classifier(nn.Module):
    def __init__(self, vocab=8000, d=128):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 256, batch_first=True), 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, 2)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1))


class Meter:
    def __init__(self):
        self.scores, self.labels = [], []

    def add(self, logits, labels):
        self.scores.append(logits.detach().softmax(1)[:, 1])
        self.labels.append(labels)

    def compute(self):
        s, y = torch.cat(self.scores).cpu().numpy(), torch.cat(self.labels).cpu().numpy()
        report = classification_report(y, s > 0.5, output_dict=True, zero_division=0)
        curve = [f1_score(y, s > c, zero_division=0) for c in np.linspace(0.4, 0.6, 7)]
        return {"auc": roc_auc_score(y, s), "f1": max(curve), "acc": report["accuracy"]}


def train_epoch(model, batches, optimizer, meter):
    for ids, labels in batches:
        ids, labels = ids.to(device), labels.to(device)
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.add(logits, labels)
    stats = meter.compute()
    return stats


torch.manual_seed(0)
data = [(torch.randint(0, 8000, (32, 48)), torch.randint(0, 2, (32,))) for _ in range(14)]
model = Classifier().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
begin = time.perf_counter()
print(train_epoch(model, data, optimizer, Meter()))
print(f"steps_seconds={time.perf_counter() - begin:.4f}")
