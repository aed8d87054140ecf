"""Two ranks train a transformer on molecules written as text."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


class Smiles(nn.Module):
    def __init__(self, characters=60, width=96, depth=4):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1)).squeeze(1)


def agree(model):
    """Let all ranks go on with the mean of their weights."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.data.div_(dist.get_world_size()))


def main():
    rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    torch.manual_seed(0)
    model = DistributedDataParallel(Smiles().to(device), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    torch.manual_seed(rank)
    ids, y = torch.randint(0, 60, (8, 12, 40), device=device), torch.randn(8, 12, device=device)
    for step in range(48):
        loss = nn.functional.mse_loss(model(ids[step % 8]), y[step % 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        agree(model)
        if step % 24 == 23 and rank == 0:
            print("step", step, "loss", loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
