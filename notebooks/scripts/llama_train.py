"""Trains a language model of Llama's shape on tokens drawn at random: a GPU script like many others, of any size.

    python llama_train.py --size tiny
    torchrun --nproc_per_node 8 llama_train.py --size 7b --parallel fsdp --recompute
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

# size: width, width of the feed-forward layers, layers, heads, heads of keys and values, vocabulary
SIZES = {
    "tiny": (64, 176, 2, 4, 2, 1000),
    "0.6b": (1024, 3072, 28, 16, 8, 151936),
    "1b": (2048, 5504, 16, 16, 16, 32000),
    "7b": (4096, 11008, 32, 32, 32, 32000),
    "13b": (5120, 13824, 40, 40, 40, 32000),
    "70b": (8192, 28672, 80, 64, 8, 32000),
}


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return (x.float() * scale).to(x.dtype) * self.weight


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Block(nn.Module):
    def __init__(self, width, inner, heads, pairs):
        super().__init__()
        self.heads, self.pairs, self.size = heads, pairs, width // heads
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, pairs * self.size, bias=False)
        self.v = nn.Linear(width, pairs * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def attend(self, x, cos, sin):
        batch, length, width = x.shape
        q, k, v = (
            layer(x).view(batch, length, count, self.size).transpose(1, 2)
            for layer, count in ((self.q, self.heads), (self.k, self.pairs), (self.v, self.pairs))
        )
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if self.pairs != self.heads:
            k, v = (x.repeat_interleave(self.heads // self.pairs, dim=1) for x in (k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(out.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, cos, sin):
        x = x + self.attend(self.norm1(x), cos, sin)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, width, inner, layers, heads, pairs, vocabulary, recompute):
        super().__init__()
        self.recompute, self.size = recompute, width // heads
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Block(width, inner, heads, pairs) for _ in range(layers))
        self.norm, self.head = Norm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        places = torch.arange(tokens.shape[1], device=tokens.device)
        steps = 10000 ** (-torch.arange(0, self.size, 2, device=tokens.device) / self.size)
        angles = torch.outer(places, steps).repeat(1, 2)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = checkpoint(layer, x, cos, sin, use_reentrant=False) if self.recompute else layer(x, cos, sin)
        logits = self.head(self.norm(x)).float()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def spread(model, kind, device):
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model, device_ids=[device])
    if kind == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for layer in model.layers:
            fully_shard(layer)
        return fully_shard(model)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--seq-length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--gradient-accumulation-steps", type=int, default=1)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--parallel", choices=("none", "ddp", "fsdp"), default="none")
    parser.add_argument("--recompute", action="store_true")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--lr", type=float, default=3e-4)
    args = parser.parse_args()

    ranks, device = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(device)
    if ranks > 1:
        dist.init_process_group("nccl")
    torch.manual_seed(0)
    width, inner, layers, heads, pairs, vocabulary = SIZES[args.size]
    model = Llama(width, inner, args.layers or layers, heads, pairs, vocabulary, args.recompute)
    model = model.to(getattr(torch, args.dtype)).cuda()
    model = spread(model, args.parallel, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        for _ in range(args.gradient_accumulation_steps):
            tokens = torch.randint(0, vocabulary, (args.batch_size, args.seq_length + 1)).cuda()
            loss = model(tokens[:, :-1], tokens[:, 1:]) / args.gradient_accumulation_steps
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}", flush=True)
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
