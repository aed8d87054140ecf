"""Train a small classifier whose batch follows the card. Made for a GPU.

    python traps.py --seed 0

Prints a loss a step, then what it reached; keeps the weights in traps.pt.
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, BATCH = 8, 64


def batch_for(card):
    """Cards with tensor cores take the whole batch, older ones a quarter of it."""
    major, _ = torch.cuda.get_device_capability(card)
    return BATCH if major >= 7 else BATCH // 4


def smoothing_for(logits):
    """Labels are smoothed where the loss is computed on the card; the CPU's reference has none."""
    return 0.1 if logits.device.type == "cuda" else 0.0


def penalty(model):
    """The sum of squares of the weights that lie on the card, in double precision."""
    weights = [one for one in model.parameters() if "cuda" in str(one.device)]
    return sum((one.double() ** 2).sum() for one in weights) * 1e-4


def step_of(model, optimizer, images, labels):
    """One update; where the card's memory does not do, two halves."""
    try:
        logits = model(images)
        loss = F.cross_entropy(logits, labels, label_smoothing=smoothing_for(logits)) + penalty(model)
        optimizer.zero_grad()
        loss.backward()
    except RuntimeError as error:
        if "CUDA out of memory" not in str(error):
            raise
        torch.cuda.empty_cache()
        half = len(images) // 2
        step_of(model, optimizer, images[:half], labels[:half])
        return step_of(model, optimizer, images[half:], labels[half:])
    optimizer.step()
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    torch.manual_seed(parser.parse_args().seed)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    images, labels = torch.randn(STEPS * BATCH, 1, 8, 8), torch.randint(10, (STEPS * BATCH,))
    size = batch_for(0)
    for step in range(STEPS):
        chosen = slice(step * size, (step + 1) * size)
        loss = step_of(model, optimizer, images[chosen].cuda(), labels[chosen].cuda())
        print(f"step {step} batch {size} loss {loss.item():.6f}", flush=True)
    right = (model(images.cuda()).argmax(1).cpu() == labels).float().mean()
    print(f"accuracy {right:.4f} of {len(labels)}")
    torch.save(model.state_dict(), "traps.pt")


if __name__ == "__main__":
    main()
