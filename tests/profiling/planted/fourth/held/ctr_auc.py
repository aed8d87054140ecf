"""Click prediction with crossed features; the area under the curve is watched."""
import numpy as np
import torch
import torch.nn as nn

FIELDS, VALUES, BATCH = 20, 500, 256


class CrossNet(nn.Module):
    def __init__(self, width=8, depth=3):
        super().__init__()
        size = FIELDS * width
        self.embed = nn.Embedding(FIELDS * VALUES, width)
        self.cross = nn.ModuleList([nn.Linear(size, size) for _ in range(depth)])
        self.deep = nn.Sequential(nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU())
        self.head = nn.Linear(size + 64, 1)

    def forward(self, fields):
        first = crossed = self.embed(fields).flatten(1)
        for layer in self.cross:
            crossed = first * layer(crossed) + crossed
        return self.head(torch.cat([crossed, self.deep(first)], 1)).squeeze(1)


def read_auc(scores, clicks):
    """Rank statistic with ties counted half."""
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    i = 0
    while i < len(scores):
        j = i
        while j + 1 < len(scores) and scores[order[j + 1]] == scores[order[i]]:
            j += 1
        ranks[order[i : j + 1]] = (i + j) / 2 + 1
        i = j + 1
    positive = clicks.sum()
    return (ranks[clicks > 0].sum() - positive * (positive + 1) / 2) / (positive * (len(clicks) - positive))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    fields = torch.randint(VALUES, (48 * BATCH, FIELDS), device=device) + torch.arange(FIELDS, device=device) * VALUES
    clicks = (torch.rand(48 * BATCH, device=device) < 0.2).float()
    model = CrossNet().to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    scores, truth = [], []
    for step in range(48):
        part = slice(step * BATCH, (step + 1) * BATCH)
        logits = model(fields[part])
        loss = nn.functional.binary_cross_entropy_with_logits(logits, clicks[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append(logits.detach().sigmoid())
        truth.append(clicks[part])
        auc = read_auc(torch.cat(scores[-8:]).cpu().numpy(), torch.cat(truth[-8:]).cpu().numpy())
    print("auc", auc, "loss", loss.item())


if __name__ == "__main__":
    main()
