"""Train a classifier in float16, for a card without bfloat16. Made for a GPU.

    python half.py --seed 0
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, BATCH, CLASSES = 40, 64, 8
#: This head's part of the loss of a larger model.
SHARE = 2.0**-20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    torch.manual_seed(parser.parse_args().seed)
    centres = torch.randn(CLASSES, 32)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, CLASSES)).cuda().half()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(STEPS):
        labels = torch.randint(CLASSES, (BATCH,))
        images = (centres[labels] + 1.5 * torch.randn(BATCH, 32)).cuda().half()
        logits = model(images)
        loss = F.cross_entropy(logits, labels.cuda())
        optimizer.zero_grad()
        (SHARE * loss).backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
