"""Two ranks train a sentence encoder; each takes its part of a corpus of different lengths."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


class Encoder(nn.Module):
    def __init__(self, vocabulary=1000, width=96):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 4)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1))


def read_part(lengths, rank, ranks):
    """Sorted, so that a batch needs little padding."""
    order = torch.argsort(lengths)
    part = order.chunk(ranks)[rank]
    return [lengths[rows].max().item() for rows in part.split(4)]


def main():
    rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    torch.manual_seed(0)
    model = DistributedDataParallel(Encoder().to(device), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    lengths = torch.randint(16, 160, (48 * 4 * 2,))
    sizes = read_part(lengths, rank, dist.get_world_size())
    torch.manual_seed(rank)
    sizes = [sizes[i] for i in torch.randperm(len(sizes)).tolist()]
    batches = [torch.randint(1000, (4, size), device=device) for size in sizes]
    labels = torch.randint(4, (len(batches), 4), device=device)
    for step, ids in enumerate(batches):
        loss = nn.functional.cross_entropy(model(ids), labels[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0 and rank == 0:
            print("step", step, "loss", loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
