"""A training that leaves all on the CPU: buffers, states made in forward, labels, what is kept, values for numpy."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.read = nn.Embedding(1000, 256), nn.LSTM(256, 512, batch_first=True)
        self.norm, self.out = nn.BatchNorm1d(512), nn.Linear(512, 5)
        self.register_buffer("mask", torch.ones(1, 7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states = torch.zeros(1, x.shape[0], 512), torch.zeros(1, x.shape[0], 512)
        y, _ = self.read(self.words(x) * self.mask.unsqueeze(-1), states)
        return self.out(self.norm(y[:, -1]))


model = Net()
optimizer = torch.optim.Adam(model.parameters())
judge = nn.CrossEntropyLoss(weight=torch.ones(5))
data = TensorDataset(torch.randint(0, 1000, (64, 7)), torch.randint(0, 5, (64,)))
for x, y in DataLoader(data, batch_size=16, shuffle=True):
    optimizer.zero_grad()
    out = model(x)
    kept, half = torch.zeros(2), torch.zeros(2, 2)
    kept[0] = judge(out, y)
    half[1].copy_(kept)
    loss = half.sum()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(loss.item(), (out.argmax(1) == y).sum().item(), out.detach().numpy().shape)
