"""A regression with several terms in its loss, whose parts are watched."""

import torch
from torch import nn
from torch.nn import functional as F


class Regressor(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(8))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        activations = []
        for layer in self.layers:
            x = torch.tanh(layer(x))
            activations.append(x)
        return self.head(x), activations


def train(steps=80):
    torch.manual_seed(1)
    model = Regressor().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    features, target = torch.randn(64, 96).cuda(), torch.randn(64, 1).cuda()
    history = []
    for step in range(steps):
        optimizer.zero_grad()
        output, activations = model(features)
        loss = F.mse_loss(output, target)
        terms = {}
        for number, activation in enumerate(activations):
            term = 1e-3 * activation.pow(2).mean()
            loss = loss + term
            if step % 20 == 0:
                terms[number] = term.item()
        loss.backward()
        for name, parameter in model.named_parameters():
            if step % 20 == 0:
                terms[name] = parameter.grad.norm().item()
        optimizer.step()
        history.append(terms)
    print("last loss", loss.item())


train()
