"""Further trainings that run on one process or divided over several, with faults planted by name: a recurrent
network and one with a buffer under data parallelism, a transformer in tensor parallel groups, layer norms on parts of
a sequence, two stages of a pipeline. Only for the corpus: `further.py WAY [FAULT] [SEED]`."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

WAY, FAULT = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 0
WORLD, RANK = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
STEPS, BATCH, LENGTH, WIDTH, WORDS, HEADS = 3, 8, 4, 16, 24, 4
#: Ranks that divide tensors, this one's place among them, and their groups.
PARTS = {"tp_dp": 2}.get(WAY, WORLD) if WORLD > 1 and WAY in ("tp", "tp_dp", "sequence") else 1
PLACE = RANK % PARTS
GROUPS: dict[str, object] = {"parts": None, "data": None}


class Sum(torch.autograd.Function):
    """Summed over the ranks that divide tensors, forward or backward."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor, forward: bool, group: object) -> torch.Tensor:
        ctx.backward_too, ctx.group = not forward, group
        if forward and PARTS > 1:
            x = x.contiguous().clone()
            dist.all_reduce(x, group=group)
            return x
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        if ctx.backward_too and PARTS > 1:
            grad = grad.contiguous().clone()
            dist.all_reduce(grad, group=ctx.group)
        return grad, None, None


class Gather(torch.autograd.Function):
    """Laid side by side along a dimension; backward this rank's part, of the sum where each rank reads other parts."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor, dim: int, summed: bool) -> torch.Tensor:
        ctx.dim, ctx.summed = dim, summed
        if PARTS == 1:
            return x.view_as(x)
        parts = [torch.empty_like(x) for _ in range(PARTS)]
        dist.all_gather(parts, x.contiguous(), group=GROUPS["parts"])
        return torch.cat(parts, dim)

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        if PARTS == 1:
            return grad, None, None
        if ctx.summed:
            grad = grad.contiguous().clone()
            dist.all_reduce(grad, group=GROUPS["parts"])
        return grad.chunk(PARTS, ctx.dim)[PLACE].contiguous(), None, None


def enter(x: torch.Tensor) -> torch.Tensor:
    return Sum.apply(x, False, GROUPS["parts"])


def leave(x: torch.Tensor) -> torch.Tensor:
    group = GROUPS["data"] if FAULT == "wrong_group" else GROUPS["parts"]
    return Sum.apply(x, True, group)


def cut(layer: nn.Linear, dim: int, bias: bool = True) -> None:
    layer.weight = nn.Parameter(layer.weight.detach().chunk(PARTS, dim)[PLACE].clone())
    if bias:
        layer.bias = nn.Parameter(layer.bias.detach().chunk(PARTS, 0)[PLACE].clone())


class Encoder(nn.Module):
    """Words divided by rows, attention by heads, a layer behind it by columns and rows; dropout on what all ranks
    have."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, 4)

    def divide(self) -> None:
        self.words.weight = nn.Parameter(self.words.weight.detach().chunk(PARTS, 0)[PLACE].clone())
        self.places.weight = nn.Parameter(self.places.weight.detach().chunk(PARTS, 1)[PLACE].clone())
        for layer in (self.query, self.key, self.value, self.up):
            cut(layer, 0)
        for layer in (self.out, self.down):
            cut(layer, 1, bias=False)

    def look_up(self, x: torch.Tensor) -> torch.Tensor:
        if PARTS == 1:
            return self.words(x)
        own = WORDS // PARTS
        first = PLACE * own + (1 if FAULT == "vocabulary_offset" and PLACE == 1 else 0)
        there = (x >= first) & (x < first + own)
        found = self.words(torch.where(there, x - first, torch.zeros_like(x)))
        return leave(found * there[..., None])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        place = self.places.weight
        if FAULT == "missing_gather":
            place = F.pad(place, (PLACE * WIDTH // PARTS, WIDTH - (PLACE + 1) * WIDTH // PARTS))
        else:
            place = Gather.apply(place, 1, False)
        h = self.look_up(x) + place
        if FAULT == "dropout_seed":
            torch.manual_seed(SEED + 77 + RANK)
        h = F.dropout(h, 0.1 if WAY == "tp" else 0.0)
        n, t, _ = h.shape
        read = enter(self.norm(h))
        q, k, v = (
            layer(read).view(n, t, HEADS // PARTS, -1).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        a = torch.softmax(q @ k.transpose(-1, -2) / 2.0, -1) @ v
        h = h + leave(self.out(a.transpose(1, 2).reshape(n, t, -1)))
        h = h + leave(self.down(torch.relu(self.up(enter(h)))))
        return self.head(h.mean(1))


class Sequence(nn.Module):
    """Layer norms on a part of the sequence each, the rest on all of it: Megatron's sequence parallel."""

    def __init__(self) -> None:
        super().__init__()
        self.inp = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.inp(x)
        if PARTS > 1:
            part = Sum.apply(h, False, GROUPS["parts"]).chunk(PARTS, 1)[PLACE]
            h = Gather.apply(self.norm(part), 1, FAULT == "summed_twice")
        else:
            h = self.norm(h)
        return self.head(torch.tanh(self.up(h)).mean(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(x.shape[0], WIDTH, device=x.device)
        for at in range(LENGTH):
            h = self.cell(x[:, at], h)
        return self.head(h)


class Centred(nn.Module):
    """Keeps an average of its inputs over all ranks, and takes it off."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(WIDTH))
        self.body = nn.Sequential(nn.Linear(WIDTH, 24), nn.SiLU(), nn.Linear(24, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.mean(1)
        out = self.body(x - self.centre)
        mean = x.detach().mean(0)
        if WORLD > 1:
            dist.all_reduce(mean)
            mean = mean / WORLD
        if not (FAULT == "stale_buffer" and WORLD > 1):
            self.centre.mul_(0.5).add_(0.5 * mean)
        return out


class Stages(nn.Module):
    """Four layers, of which each of two ranks has two."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(3))
        self.head = nn.Linear(WIDTH, 4)
        self.first, self.last = RANK == 0 or WORLD == 1, RANK == 1 or WORLD == 1
        if WORLD > 1 and RANK == 0:
            self.layers[2], self.head = nn.Identity(), nn.Identity()
        elif WORLD > 1:
            self.layers[0], self.layers[1] = nn.Identity(), nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.mean(1) if self.first else x
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def make_batch(generator: torch.Generator, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    if FAULT == "resumed_elsewhere" and step > 0:
        torch.randn(3, generator=generator)  # the place in the data was counted for another number of ranks
    y = torch.randint(0, 4, (BATCH,), generator=generator)
    if WAY in ("tp", "tp_dp", "owners"):
        return torch.randint(0, WORDS, (BATCH, LENGTH), generator=generator), y
    return torch.randn(BATCH, LENGTH, WIDTH, generator=generator), y


def share(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's samples."""
    count = WORLD // PARTS
    if count == 1 or WAY == "stages":
        return tensor
    if FAULT == "unequal_batches":
        return tensor[:5] if RANK == 0 else tensor[5:]
    return tensor.chunk(count)[RANK // PARTS]


def main() -> None:
    if WORLD > 1:
        dist.init_process_group("nccl")
        if WAY == "tp_dp":
            for first in range(0, WORLD, PARTS):
                group = dist.new_group(list(range(first, first + PARTS)))
                if first <= RANK < first + PARTS:
                    GROUPS["parts"] = group
            for place in range(PARTS):
                group = dist.new_group(list(range(place, WORLD, PARTS)))
                if place == PLACE:
                    GROUPS["data"] = group
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.manual_seed(SEED)
    kinds = {"gru": Recurrent, "centred": Centred, "sequence": Sequence, "stages": Stages}
    model = kinds.get(WAY, Encoder)()
    if PARTS > 1 and WAY in ("tp", "tp_dp"):
        model.divide()
    model = model.cuda()
    if FAULT == "halved_weights" and RANK == 1:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.bfloat16().float())
    net = model
    if WORLD > 1 and WAY in ("gru", "centred"):
        net = nn.parallel.DistributedDataParallel(model, init_sync=FAULT != "halved_weights", broadcast_buffers=False)
    rate = 1e-2 * (WORLD if FAULT == "scaled_rate" else 1)
    optimizer = make_optimizer(model, rate)
    generator = torch.Generator().manual_seed(SEED + 1)
    torch.manual_seed(SEED + 2)
    for step in range(STEPS):
        x, y = (share(tensor).cuda() for tensor in make_batch(generator, step))
        model.zero_grad()
        loss = run_stages(model, x, y, step) if WAY == "stages" and WORLD > 1 else run_whole(net, x, y)
        reduce_gradients(model)
        if WAY != "stages":
            clip(model)
        if FAULT == "divided_twice":
            for parameter in model.parameters():
                parameter.grad /= WORLD
        optimizer.step()
        if FAULT == "state_offset" and RANK == 1 and step == 0:
            shift_state(optimizer)
        if WORLD > 1 and WAY == "owners":
            for number, parameter in enumerate(model.parameters()):
                dist.broadcast(parameter.data, owner(number, FAULT == "wrong_owner" and number == 3))
        print("step", step, "loss", float(loss))


def make_optimizer(model: nn.Module, rate: float) -> torch.optim.Optimizer:
    parameters = list(model.parameters())
    if WORLD > 1 and WAY == "owners":
        parameters = [parameter for number, parameter in enumerate(parameters) if owner(number, False) == RANK]
    return torch.optim.AdamW(parameters, lr=rate)


def owner(number: int, wrong: bool) -> int:
    return (number + (1 if wrong else 0)) % WORLD


def shift_state(optimizer: torch.optim.Optimizer) -> None:
    """The averages of each parameter moved by one element, as where a shard is loaded from the wrong offset."""
    for state in optimizer.state.values():
        flat = state["exp_avg"].view(-1)
        flat.copy_(flat.roll(1))


def run_whole(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if WAY == "gru":  # two small batches a step
        for at, (part, wanted) in enumerate(zip(x.chunk(2), y.chunk(2))):
            silent = WORLD > 1 and (at == 0 or FAULT == "never_synchronised")
            with net.no_sync() if silent else torch.enable_grad():
                loss = F.cross_entropy(net(part), wanted)
                (loss if FAULT == "undivided" else loss / 2).backward()
        return loss
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    return loss


def run_stages(model: nn.Module, x: torch.Tensor, y: torch.Tensor, step: int) -> torch.Tensor:
    if RANK == 0:
        out = model(x)
        dist.send(out.detach(), 1)
        grad = torch.empty_like(out)
        dist.recv(grad, 1)
        out.backward(grad * 2 if FAULT == "gradient_doubled" else grad)
        return out.detach().sum()
    held = torch.empty(BATCH, WIDTH, device=x.device)
    dist.recv(held, 0)
    if FAULT == "old_activation":
        held = held.roll(1, 0)
    held.requires_grad_()
    loss = F.cross_entropy(model(held), y)
    loss.backward()
    dist.send(held.grad, 0)
    return loss


def reduce_gradients(model: nn.Module) -> None:
    if WORLD == 1:
        return
    if WAY in ("owners", "tp_dp"):
        count = WORLD // PARTS
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=GROUPS["data"])
            parameter.grad /= count
    if WAY == "sequence" and FAULT != "norm_not_reduced":
        for parameter in model.norm.parameters():
            dist.all_reduce(parameter.grad)


def clip(model: nn.Module) -> None:
    """By the norm of the whole model, to which each rank gives its parts."""
    squares = torch.zeros((), device=next(model.parameters()).device)
    for name, parameter in model.named_parameters():
        divided = PARTS > 1 and WAY != "sequence" and not name.startswith(("norm", "head"))
        square = parameter.grad.square().sum()
        if divided and FAULT != "own_norm":
            dist.all_reduce(square, group=GROUPS["parts"])
        squares = squares + square
    for parameter in model.parameters():
        parameter.grad *= torch.clamp(0.1 / (squares.sqrt() + 1e-6), max=1.0)


main()
