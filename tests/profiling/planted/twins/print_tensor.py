"""A classifier whose outputs are looked at."""

import torch
from torch import nn


def main():
    torch.manual_seed(15)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 16)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    inputs, labels = torch.randn(128, 64).cuda(), torch.randint(0, 16, (128,)).cuda()
    for step in range(60):
        logits = model(inputs)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("done", loss)


if __name__ == "__main__":
    main()
