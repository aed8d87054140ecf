"""Quality of wines from their measurements: a small residual network on a table."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width, drop=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(drop), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        return x + self.net(x)


class TableNet(nn.Module):
    def __init__(self, features, width=96, depth=3, classes=6):
        super().__init__()
        self.stem = nn.Linear(features, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def make_table(rows=20000, features=32):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(rows, features, generator=g)
    y = (x[:, :6].abs().argmax(1)).long()
    return x, y


class Trainer:
    def __init__(self, model, device, lr=1e-3):
        self.model = model.to(device)
        self.device = device
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, x, y, epochs=2, batch_size=512):
        data = TensorDataset(x, y)
        loader = DataLoader(data, batch_size=batch_size, shuffle=True, drop_last=True)
        for epoch in range(epochs):
            total = torch.zeros((), device=self.device)
            for xb, yb in loader:
                xb, yb = xb.to(self.device), yb.to(self.device)
                loss = self.criterion(self.model(xb), yb)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                total += loss.detach()
            print(f"epoch {epoch}: loss {total.item() / 39:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = make_table()
    Trainer(TableNet(x.shape[1]), device).fit(x, y)
