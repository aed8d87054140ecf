"""Data-parallel text classifier with gradient accumulation."""
import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ACCUMULATE = 8


class Classifier(nn.Module):
    def __init__(self, vocabulary=6000, width=192, classes=20):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocabulary, width)
        self.net = nn.Sequential(nn.Linear(width, 384), nn.ReLU(), nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, classes))

    def forward(self, ids):
        return self.net(self.embed(ids))


def run(rank, device):
    model = DistributedDataParallel(Classifier().to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    ids, labels = torch.randint(0, 6000, (1024, 40), device=device), torch.randint(0, 20, (1024,), device=device)
    for step in range(36):
        optimizer.zero_grad()
        for part in range(ACCUMULATE):
            at = (step * ACCUMULATE + part) % 64 * 16
            loss = nn.functional.cross_entropy(model(ids[at : at + 16]), labels[at : at + 16])
            (loss / ACCUMULATE).backward()
        optimizer.step()
    if rank == 0:
        print("loss", loss.item())


def main():
    dist.init_process_group("nccl")
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    torch.manual_seed(0)
    run(dist.get_rank(), torch.device("cuda", local))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
