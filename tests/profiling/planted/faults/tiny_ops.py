"""A recurrent cell by hand that runs over a sequence."""

import torch
from torch import nn


class Filter(nn.Module):
    """An exponential average over time, with a learned rate for each channel."""

    def __init__(self, channels=32):
        super().__init__()
        self.rate = nn.Parameter(torch.zeros(channels))
        self.inner = nn.Linear(channels, 128)
        self.out = nn.Linear(128, channels)

    def forward(self, sequence):
        keep = torch.sigmoid(self.rate)
        state = torch.zeros_like(sequence[:, 0])
        for time in range(sequence.shape[1]):
            state = keep * state + (1 - keep) * sequence[:, time]
        return self.out(torch.relu(self.inner(state)))


def main():
    torch.manual_seed(3)
    model = Filter().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    signal = torch.randn(32, 100, 32).cuda()
    target = signal.mean(1)
    for step in range(60):
        loss = (model(signal) - target).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
