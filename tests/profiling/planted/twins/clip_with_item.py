"""A deep recurrent network whose gradients are kept small."""

import torch
from torch import nn


def clip(parameters, most):
    norm = torch.linalg.vector_norm(torch.cat([parameter.grad.flatten() for parameter in parameters]))
    scale = (most / norm).clamp(max=1.0)
    torch._foreach_mul_([parameter.grad for parameter in parameters], scale)


class Deep(nn.Module):
    def __init__(self, depth=24, width=96):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


def main():
    torch.manual_seed(21)
    model = Deep().cuda()
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    x = torch.randn(192, 96).cuda()
    for step in range(60):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        clip(parameters, 1.0)
        optimizer.step()
    print(loss.item())


main()
