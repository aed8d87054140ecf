"""Two ranks train a recommender of sessions; hits among the first ten are counted over both."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


class Sessions(nn.Module):
    def __init__(self, items=1000, width=64):
        super().__init__()
        self.embed = nn.Embedding(items, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, items)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids)).mean(1))


def count_hits(scores, wanted):
    mine = {"best": scores.topk(10).indices.cpu(), "wanted": wanted.cpu(), "scores": scores.cpu()}
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, mine)
    return sum((one["best"] == one["wanted"][:, None]).any(1).float().mean().item() for one in gathered) / len(gathered)


def main():
    rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    torch.manual_seed(0)
    model = DistributedDataParallel(Sessions().to(device), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(rank)
    sessions = torch.randint(1000, (48, 16, 30), device=device)
    following = torch.randint(1000, (48, 16), device=device)
    for step in range(48):
        scores = model(sessions[step])
        loss = nn.functional.cross_entropy(scores, following[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hits = count_hits(scores.detach(), following[step])
    if rank == 0:
        print("hits", hits, "loss", loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
