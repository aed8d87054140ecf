"""Train a small classifier of spectra in mixed precision, with checkpoints. Made for a GPU.

    python spectra.py --steps 12
    torchrun --nproc_per_node 2 spectra.py --steps 12
    python spectra.py --steps 24 --resume spectra.pt
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

LENGTH, CLASSES = 256, 6


class Spectra(Dataset):
    """Counts of a detector as bytes; each is normalised when it is taken."""

    def __init__(self, count):
        draw = torch.Generator().manual_seed(7)
        self.labels = torch.randint(CLASSES, (count,), generator=draw)
        lines = torch.randint(20, 60, (count, LENGTH), generator=draw)
        for spectrum, label in zip(lines, self.labels):
            spectrum[40 * label : 40 * label + 12] += 120
        self.raw = [bytes(spectrum.tolist()) for spectrum in lines]

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, index):
        counts = self.raw[index]
        values = [(value / 255) ** 0.5 for value in counts]
        mean = sum(values) / len(values)
        smooth = [sum(values[max(0, at - 8) : at + 9]) / len(values[max(0, at - 8) : at + 9]) for at in range(LENGTH)]
        return torch.tensor([value - mean for value in smooth]).unsqueeze(0), self.labels[index]


class Net(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv1 = nn.Conv1d(1, width, 7, stride=2, padding=3)
        self.conv2 = nn.Conv1d(width, width, 5, stride=2, padding=2)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = F.gelu(self.conv2(F.gelu(self.conv1(x))))
        tokens = self.norm(x.transpose(1, 2))
        weights = F.softmax(tokens @ tokens.transpose(1, 2) / 5, dim=-1)
        return self.head((weights @ tokens).mean(dim=1))


def memory_mib(tensor):
    """What the card's allocator had at most; nothing on the host."""
    return torch.cuda.max_memory_allocated() / 2**20 if "cuda" in str(tensor.device) else 0.0


def autocast_dtype(card):
    """Cards from sm_80 on have bfloat16."""
    major, _ = torch.cuda.get_device_capability(card)
    return torch.bfloat16 if major >= 8 else torch.float16


def watch(model):
    """The size of every gradient, for the log."""
    return {name: one.grad.float().norm().item() for name, one in model.named_parameters() if one.grad is not None}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=-1, help="-1: another one each time")
    parser.add_argument("--precision", choices=("amp", "fp32"), default="amp")
    parser.add_argument("--resume", default="", help="a checkpoint to go on from")
    args = parser.parse_args()
    card, world = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    torch.cuda.set_device(card)
    if world > 1:
        dist.init_process_group("nccl")
    torch.manual_seed(time.time_ns() % 2**31 if args.seed < 0 else args.seed)
    model = Net().cuda()
    if world > 1:
        model = DDP(model, device_ids=[card])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scaler = torch.cuda.amp.GradScaler(init_scale=1024.0, enabled=args.precision == "amp")
    step = 0
    if args.resume:
        kept = torch.load(args.resume)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        step = kept["step"]
    data = Spectra(args.batch_size * 16)
    sampler = DistributedSampler(data) if world > 1 else None
    loader = DataLoader(data, args.batch_size, shuffle=sampler is None, sampler=sampler, num_workers=0, pin_memory=True)
    dtype = autocast_dtype(card) if args.precision == "amp" else torch.float32
    while step < args.steps:
        for spectra, labels in loader:
            spectra, labels = spectra.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            with torch.cuda.amp.autocast(enabled=args.precision == "amp", dtype=dtype):
                loss = F.cross_entropy(model(spectra), labels)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            seen = watch(model)
            scaler.step(optimizer)
            scaler.update()
            step += 1
            if card == 0:
                largest, peak = max(seen.values()), memory_mib(loss)
                print(f"step {step} loss {loss.item():.6f} gradient {largest:.3e} peak {peak:.0f} MiB", flush=True)
            if step == args.steps:
                break
    if card == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, "spectra.pt")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
