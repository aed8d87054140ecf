"""A survival model: the partial likelihood of Cox over risk sets."""

import torch
from torch import nn


class Risk(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))

    def forward(self, x):
        return self.net(x)


def partial_likelihood(risk, observed):
    at_risk = torch.logcumsumexp(risk, dim=0)
    return -((risk - at_risk) * observed).sum() / observed.sum()


def main():
    torch.manual_seed(2)
    device = torch.device("cuda")
    model = Risk().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    covariates = torch.randn(512, 64, device=device)
    observed = (torch.rand(512, 1, device=device) > 0.3).float()
    for step in range(80):
        optimizer.zero_grad()
        loss = partial_likelihood(model(covariates), observed)
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


main()
