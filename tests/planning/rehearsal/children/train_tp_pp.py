"""A Llama of any size over tensor and pipeline parallelism, with PyTorch's own means: DTensor and pipelining.

torchrun --nproc_per_node=8 train_tp_pp.py --tp 4 --pp 2
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu  # noqa: F401
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.head_dim = args.hidden // args.heads
        self.wq = nn.Linear(args.hidden, args.heads * self.head_dim, bias=False)
        self.wk = nn.Linear(args.hidden, args.kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(args.hidden, args.kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(args.heads * self.head_dim, args.hidden, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q, k, v = (w(x).view(batch, length, -1, self.head_dim).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        groups = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(batch, length, -1))


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class FeedForward(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.w1 = nn.Linear(args.hidden, args.intermediate, bias=False)
        self.w2 = nn.Linear(args.intermediate, args.hidden, bias=False)
        self.w3 = nn.Linear(args.hidden, args.intermediate, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.attention_norm, self.ffn_norm = RMSNorm(args.hidden), RMSNorm(args.hidden)
        self.attention, self.feed_forward = Attention(args), FeedForward(args)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class Part(nn.Module):
    """The layers of one pipeline stage."""

    def __init__(self, args, stage):
        super().__init__()
        self.embeddings = nn.Embedding(args.vocab, args.hidden) if stage == 0 else None
        self.layers = nn.ModuleList(Block(args) for _ in range(args.layers // args.pp))
        last = stage == args.pp - 1
        self.norm = RMSNorm(args.hidden) if last else None
        self.output = nn.Linear(args.hidden, args.vocab, bias=False) if last else None
        self.args = args

    def forward(self, x):
        if self.embeddings is not None:
            x = self.embeddings(x)
        head_dim = self.args.hidden // self.args.heads
        angles = torch.arange(self.args.seq, device=x.device)[:, None] / 10000 ** (
            torch.arange(0, head_dim, 2, device=x.device) / head_dim
        )
        cos, sin = (torch.cat((f, f), -1).to(x.dtype) for f in (angles.cos(), angles.sin()))
        for layer in self.layers:
            if self.args.recompute:
                x = torch.utils.checkpoint.checkpoint(layer, x, cos, sin, use_reentrant=False)
            else:
                x = layer(x, cos, sin)
        if self.output is not None:
            x = self.output(self.norm(x))
        return x


def loss_fn(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=2)
    parser.add_argument("--pp", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--intermediate", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--kv_heads", type=int, default=4)
    parser.add_argument("--vocab", type=int, default=1000)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--micro_batches", type=int, default=4)
    parser.add_argument("--recompute", action="store_true")
    parser.add_argument("--peaks", action="store_true")
    args = parser.parse_args()

    rank = int(os.environ["RANK"])
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    mesh = init_device_mesh("npu", (args.pp, args.tp), mesh_dim_names=("pp", "tp"))
    stage_number = mesh["pp"].get_local_rank()
    with torch.device("meta"):
        part = Part(args, stage_number).to(torch.bfloat16)
    shared = PrepareModuleInput(input_layouts=(Shard(1), None, None), desired_input_layouts=(Replicate(), None, None))
    for layer in part.layers:
        plan = {"attention_norm": SequenceParallel(), "ffn_norm": SequenceParallel(), "attention": shared}
        plan |= {f"attention.w{name}": ColwiseParallel() for name in "qkv"}
        plan |= {f"feed_forward.w{name}": ColwiseParallel(input_layouts=Shard(1)) for name in "13"}
        plan |= {name: RowwiseParallel(output_layouts=Shard(1)) for name in ("attention.wo", "feed_forward.w2")}
        parallelize_module(layer, mesh["tp"], plan)
    if part.output is not None:
        head = ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())
        parallelize_module(part, mesh["tp"], {"norm": SequenceParallel(), "output": head})
    if part.embeddings is not None:
        embed = RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))
        parallelize_module(part, mesh["tp"], {"embeddings": embed})
    part.to_empty(device="npu")
    with torch.no_grad():
        for parameter in part.parameters():
            parameter.normal_(std=0.02) if parameter.dim() > 1 else parameter.fill_(1.0)

    device = torch.device("npu", torch.npu.current_device())
    stage = PipelineStage(part, stage_number, args.pp, device, group=mesh["pp"].get_group())
    schedule = Schedule1F1B(stage, n_microbatches=args.micro_batches, loss_fn=loss_fn)
    optimizer = torch.optim.AdamW(part.parameters(), lr=1e-4)
    for step in range(2):
        ids = torch.randint(0, args.vocab, (args.micro_batches, args.seq + 1)).to(device)
        if stage_number == 0:
            schedule.step(ids[:, :-1])
        elif stage_number == args.pp - 1:
            losses = []
            schedule.step(target=ids[:, 1:], losses=losses)
            print(f"step {step} loss {torch.stack(losses).mean().item():.4f}", flush=True)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
    if args.peaks:
        print("peak", rank, torch.npu.max_memory_allocated(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
