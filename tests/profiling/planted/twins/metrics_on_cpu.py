"""Segmentation with the confusion of its classes counted at every step."""

import numpy as np
import torch
from torch import nn


class Confusion:
    def __init__(self, classes):
        self.counts = np.zeros((classes, classes), "int64")

    def add(self, logits, labels):
        predicted = np.argmax(logits.detach().cpu().numpy(), axis=1).ravel()
        wanted = labels.cpu().numpy().ravel()
        for row, column in zip(wanted.tolist(), predicted.tolist()):
            self.counts[row, column] += 1

    def agreement(self):
        return float(np.diag(self.counts).sum() / max(1, self.counts.sum()))


def main():
    torch.manual_seed(19)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = torch.randn(2, 3, 64, 64).cuda(), torch.randint(0, 8, (2, 64, 64)).cuda()
    confusion = Confusion(8)
    for step in range(60):
        logits = model(images)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confusion.add(logits, labels)
    print(loss.item(), confusion.agreement())


main()
