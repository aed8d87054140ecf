"""Graphs of different sizes put into one batch."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Graphs(Dataset):
    def __init__(self, count=512):
        generator = np.random.default_rng(1)
        self.nodes = [generator.standard_normal((int(size), 16)) for size in generator.integers(20, 40, count)]

    def __len__(self):
        return len(self.nodes)

    def __getitem__(self, index):
        return self.nodes[index], index % 3


def pack(samples):
    most = max(len(nodes) for nodes, _ in samples)
    batch = np.zeros((len(samples), most, 16), "float32")
    for place, (nodes, _) in enumerate(samples):
        batch[place, :len(nodes)] = nodes
    return torch.from_numpy(batch), torch.tensor([label for _, label in samples])


def main():
    torch.manual_seed(18)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Graphs(), batch_size=64, num_workers=1, collate_fn=pack, persistent_workers=True)
    for epoch in range(8):
        for nodes, labels in loader:
            logits = model(nodes.cuda()).mean(1)
            loss = nn.functional.cross_entropy(logits, labels.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
