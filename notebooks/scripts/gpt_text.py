"""Train a small GPT, byte by byte, on the Python standard library's own source code.

    python gpt_text.py --steps 200 --amp
    torchrun --nproc_per_node 2 gpt_text.py

The text is on every machine that runs Python, so nothing is downloaded. One process uses one GPU; under
torchrun each process takes its own and the gradients are averaged over NCCL.
"""

import argparse
import math
import os
import random
import sysconfig
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

VOCABULARY = 256  # every byte is a token


class SelfAttention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.resid_dropout(self.proj(y.transpose(1, 2).reshape(batch, length, width)))


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, layers, heads, width, context, dropout):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self._init)
        for name, parameter in self.named_parameters():
            if name.endswith("proj.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers))

    @staticmethod
    def _init(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets):
        positions = torch.arange(idx.shape[1], device=idx.device)
        x = self.dropout(self.tokens(idx) + self.positions(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def load_text(limit):
    """The bytes of the standard library's modules, in the same order on every machine."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    text = bytearray()
    for path in sorted(stdlib.glob("*.py")):
        text += path.read_bytes()
        if len(text) >= limit:
            break
    return np.frombuffer(bytes(text[:limit]), dtype=np.uint8)


def get_batch(data, args, rng):
    """Random windows of the text and the same windows one byte later, on the GPU."""
    starts = rng.integers(0, len(data) - args.context - 1, size=args.batch_size)
    x = torch.stack([torch.from_numpy(data[s : s + args.context].astype(np.int64)) for s in starts])
    y = torch.stack([torch.from_numpy(data[s + 1 : s + 1 + args.context].astype(np.int64)) for s in starts])
    return x.pin_memory().cuda(non_blocking=True), y.pin_memory().cuda(non_blocking=True)


def learning_rate(step, args):
    """Linear warm-up, then a cosine down to a tenth."""
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    progress = (step - args.warmup) / max(1, args.steps - args.warmup)
    return args.lr * (0.1 + 0.45 * (1.0 + math.cos(math.pi * min(1.0, progress))))


def make_optimizer(model, args):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": args.weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95))


@torch.no_grad()
def evaluate(model, data, args, batches=8):
    model.eval()
    rng = np.random.default_rng(args.seed)
    losses = torch.zeros(batches, device="cuda")
    for i in range(batches):
        x, y = get_batch(data, args, rng)
        with torch.cuda.amp.autocast(enabled=args.amp):
            losses[i] = model(x, y)
    model.train()
    return losses.mean().item()


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batch-size", type=int, default=16, help="sequences per GPU and micro-batch")
    parser.add_argument("--accumulate", type=int, default=1, help="micro-batches per optimizer step")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0, help="largest gradient norm; 0 turns clipping off")
    parser.add_argument("--amp", action="store_true", help="mixed precision: autocast and GradScaler")
    parser.add_argument("--eval-interval", type=int, default=100)
    parser.add_argument("--text-bytes", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--out", default="", help="file for the trained weights")
    return parser.parse_args()


def main():
    args = parse_args()
    ddp = "RANK" in os.environ
    if ddp:
        dist.init_process_group(backend="nccl")
        local_rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(local_rank)
    rank = dist.get_rank() if ddp else 0

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.cuda.manual_seed_all(args.seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    rng = np.random.default_rng(args.seed + rank)

    data = load_text(args.text_bytes)
    train, valid = data[: int(len(data) * 0.9)], data[int(len(data) * 0.9) :]
    model = GPT(args.layers, args.heads, args.width, args.context, args.dropout).cuda()
    if ddp:
        model = DDP(model, device_ids=[local_rank])
    raw_model = model.module if ddp else model
    optimizer = make_optimizer(raw_model, args)
    scaler = torch.cuda.amp.GradScaler(enabled=args.amp)
    if rank == 0:
        print(f"{sum(p.numel() for p in raw_model.parameters()):,} parameters, {len(train):,} bytes of text")

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    began = time.time()
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args)
        start.record()
        total = 0.0
        for micro in range(args.accumulate):
            x, y = get_batch(train, args, rng)
            last = micro == args.accumulate - 1
            with model.no_sync() if ddp and not last else nullcontext():
                with torch.cuda.amp.autocast(enabled=args.amp):
                    loss = model(x, y)
                scaler.scale(loss / args.accumulate).backward()
            total += loss.detach() / args.accumulate
        if args.clip > 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        end.record()
        torch.cuda.synchronize()
        if rank == 0:
            lr = optimizer.param_groups[0]["lr"]
            print(f"step {step} loss {total.item():.6f} lr {lr:.2e} {start.elapsed_time(end):.0f} ms", flush=True)
        if rank == 0 and (step + 1) % args.eval_interval == 0:
            print(f"step {step} validation loss {evaluate(raw_model, valid, args):.4f}", flush=True)

    if rank == 0:
        print(f"{args.steps} steps in {time.time() - began:.1f} s")
        if args.out:
            torch.save(raw_model.state_dict(), args.out)
    if ddp:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
