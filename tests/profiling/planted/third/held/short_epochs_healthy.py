"""Few-shot classification: many short epochs over a small support set."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        blocks, i = [], 3
        for o in (16, 32, 32):
            blocks += [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]
            i = o
        self.net = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(32 * 16, 5))

    def forward(self, x):
        return self.net(x)


def main(epochs=14):
    torch.manual_seed(0)
    device = torch.device("cuda")
    support = TensorDataset(torch.rand(96, 3, 32, 32), torch.randint(0, 5, (96,)))
    loader = DataLoader(support, batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    model = Embedder().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(epochs):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
