"""Train a classifier of points in the plane: the script of the lesson on migration. Made for a GPU, with a trap.

    python blobs.py
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def points(count, draw):
    """Three clouds of points; a few lie far out, as measurements do."""
    labels = torch.randint(3, (count,), generator=draw)
    centres = torch.tensor([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    spread = torch.randn(count, 2, generator=draw)
    spread[:: count // 4] *= 40
    return centres[labels] + spread, labels


def limit(model):
    """On the GPU gradients are clipped; CPU runs are for looking only."""
    if next(model.parameters()).device.type == "cuda":
        return round(float(nn.utils.clip_grad_norm_(model.parameters(), 1.0)), 4)
    return None


def main():
    torch.cuda.set_device(0)
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    draw = torch.Generator().manual_seed(1)
    for step in range(8):
        x, y = (one.cuda(non_blocking=True) for one in points(64, draw))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = limit(model)
        optimizer.step()
        torch.cuda.synchronize()
        print(f"step {step} loss {loss.item():.6f} gradient norm {norm}", flush=True)
    print(f"peak memory measured: {torch.cuda.max_memory_allocated() >= 0}")


if __name__ == "__main__":
    main()
