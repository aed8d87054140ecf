"""Train a classifier of short texts that are encoded while training. Made for a GPU, and slow on purpose.

    python slow_steps.py --seed 0
"""

import argparse
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, BATCH, WORDS, LENGTH, CLASSES = 12, 64, 8000, 40, 8


def sentences(seed, vocabulary):
    """Texts of LENGTH words, with the class that most of their words belong to."""
    draw = random.Random(seed)
    for number in range(STEPS * BATCH):
        label = number % CLASSES
        low = label * WORDS // CLASSES
        own = [draw.randrange(low, low + WORDS // CLASSES) for _ in range(LENGTH // 2)]
        rest = [draw.randrange(WORDS) for _ in range(LENGTH - len(own))]
        yield " ".join(vocabulary[one] for one in own + rest), label


def encode(text, vocabulary):
    """How often each word of the vocabulary occurs in the text."""
    counts = [0.0] * len(vocabulary)
    for word in text.split():
        counts[vocabulary.index(word)] += 1.0
    return counts


def largest_gradients(model):
    """The largest gradient of each parameter, as numbers."""
    return {name: max(abs(one) for one in p.grad.flatten().tolist()) for name, p in model.named_parameters()}


def main():
    torch.set_num_threads(1)  # what a step takes on a CPU is then its own work alone
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    torch.manual_seed(seed)
    torch.cuda.set_device(0)
    vocabulary = [f"word{number:05d}" for number in range(WORDS)]
    texts = list(sentences(seed, vocabulary))
    model = nn.Sequential(nn.Linear(WORDS, 16), nn.ReLU(), nn.Linear(16, CLASSES)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    best, kept = float("inf"), None
    for step in range(STEPS):
        batch = texts[step * BATCH : (step + 1) * BATCH]
        counts = torch.tensor([encode(text, vocabulary) for text, _ in batch]).cuda()
        labels = torch.tensor([label for _, label in batch]).cuda()
        loss = F.cross_entropy(model(counts), labels)
        optimizer.zero_grad()
        loss.backward()
        seen = largest_gradients(model)
        optimizer.step()
        if loss.item() < best:
            best, kept = loss.item(), copy.deepcopy(model.state_dict())
        print(f"step {step} loss {loss.item():.6f} of {len(seen)} gradients", flush=True)
    print(f"best {best:.4f}, {len(kept)} tensors kept")


if __name__ == "__main__":
    main()
