"""Two ranks train a segmentation network; the first watches its quality on pictures held back."""
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


def block(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU())


class Segmenter(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.down1, self.down2 = block(3, 16), block(16, 32)
        self.up, self.leave = block(48, 16), nn.Conv2d(16, classes, 1)

    def forward(self, x):
        fine = self.down1(x)
        coarse = self.down2(nn.functional.max_pool2d(fine, 2))
        coarse = nn.functional.interpolate(coarse, scale_factor=2)
        return self.leave(self.up(torch.cat([fine, coarse], 1)))


@torch.no_grad()
def evaluate(model, images, masks):
    model.eval()
    hits = torch.zeros((), device=images.device)
    for picture, mask in zip(images.split(8), masks.split(8)):
        hits += (model(picture).argmax(1) == mask).float().mean()
    model.train()
    return hits / (len(images) // 8)


def main():
    rank = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    torch.manual_seed(0)
    model = DistributedDataParallel(Segmenter().to(device), device_ids=[rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    torch.manual_seed(rank)
    images, masks = torch.randn(6, 8, 3, 32, 32, device=device), torch.randint(0, 5, (6, 8, 32, 32), device=device)
    held, held_masks = torch.randn(48, 3, 32, 32, device=device), torch.randint(0, 5, (48, 32, 32), device=device)
    best = torch.zeros((), device=device)
    for step in range(48):
        loss = nn.functional.cross_entropy(model(images[step % 6]), masks[step % 6])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            best = torch.maximum(best, evaluate(model.module, held, held_masks))
        if step % 24 == 23 and rank == 0:
            print("step", step, "loss", loss.item())
    if rank == 0:
        print("best", best.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
