"""Two processes that share their gradients by hand."""

import torch
import torch.distributed as dist
from torch import nn


def share_gradients(parameters, world):
    for parameter in parameters:
        dist.all_reduce(parameter.grad)
        parameter.grad /= world


class Deep(nn.Module):
    def __init__(self, depth=30, width=64):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.relu(layer(x))
        return x


def main():
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    torch.manual_seed(23)
    model = Deep().cuda()
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=1e-3)
    x = torch.randn(64, 64).cuda() * (rank + 1)
    for step in range(60):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        share_gradients(parameters, world)
        optimizer.step()
    print(rank, loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
