"""Small trainings of many kinds: `trainings.py NAME` runs one and prints its peak and reserved bytes as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS = 3


def train(net: nn.Module, loss_of: Callable[[], torch.Tensor], optimizer: torch.optim.Optimizer | None = None) -> None:
    optimizer = optimizer or torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        time.sleep(float(os.environ.get("ASCEND_WORKBOOK_TEST_PAUSE", "0")))


def mean_square(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return what mse_loss does, whose CPU kernel leaves the one number it gives in the memory of all differences."""
    return (x - y).pow(2).mean()


def images(count: int, size: int = 32) -> torch.Tensor:
    return torch.randn(count, 3, size, size).npu()


def labels(count: int, classes: int = 10) -> torch.Tensor:
    return torch.randint(0, classes, (count,)).npu()


def tokens(count: int, length: int, vocabulary: int = 500) -> torch.Tensor:
    return torch.randint(0, vocabulary, (count, length)).npu()


def mlp() -> None:
    net = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Dropout(0.1), nn.Linear(1024, 10)).npu()
    train(net, lambda: F.cross_entropy(net(torch.randn(64, 256).npu()), labels(64)))


def sgd_momentum() -> None:
    net = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 256)).npu()
    x = torch.randn(128, 256).npu()
    train(net, lambda: mean_square(net(x), x), torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=1e-4))


def cnn() -> None:
    parts = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU()]
    net = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).npu()
    train(net, lambda: F.cross_entropy(net(images(12)), labels(12)))


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(x + self.norms[1](self.second(y)))


def resnet_amp() -> None:
    parts = [nn.Conv2d(3, 32, 3, padding=1), Residual(32), Residual(32), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    net = nn.Sequential(*parts, nn.Linear(32, 10)).npu()
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    scaler = torch.amp.GradScaler("npu", init_scale=1.0)
    for _ in range(STEPS):
        with torch.autocast("npu", torch.float16):
            loss = F.cross_entropy(net(images(8)), labels(8))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


class Block(nn.Module):
    """A layer of a transformer, with or without a causal mask."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Language(nn.Module):
    def __init__(self, causal: bool, layers: int = 2, recompute: bool = False) -> None:
        super().__init__()
        self.recompute = recompute
        self.embedding, self.position = nn.Embedding(500, 128), nn.Embedding(64, 128)
        self.blocks = nn.ModuleList(Block(128, 4, causal) for _ in range(layers))
        self.head = nn.Linear(128, 500, bias=False)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        x = self.embedding(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = checkpoint(block, x, mask, use_reentrant=False) if self.recompute else block(x, mask)
        return self.head(x)


def next_token(net: nn.Module, count: int = 4) -> torch.Tensor:
    ids = tokens(count, 64)
    return F.cross_entropy(net(ids).view(-1, 500), ids.view(-1))


def gpt() -> None:
    net = Language(causal=True).npu()
    train(net, lambda: next_token(net))


def bert() -> None:
    net = Language(causal=False).npu()

    def loss() -> torch.Tensor:
        ids = tokens(4, 64)
        padded = torch.arange(64).npu().view(1, 1, 1, 64) < torch.tensor([64, 40, 30, 64]).npu().view(4, 1, 1, 1)
        hidden = net(ids, padded.expand(4, 1, 64, 64))
        chosen = torch.rand(4, 64).npu() < 0.15  # small and known: the masked tokens are really chosen
        return F.cross_entropy(hidden[chosen], ids[chosen])

    train(net, loss)


def bfloat16() -> None:
    net = Language(causal=True).to(torch.bfloat16).npu()
    train(net, lambda: next_token(net).float())


def autocast() -> None:
    net = Language(causal=True).npu()

    def loss() -> torch.Tensor:
        with torch.autocast("npu", torch.bfloat16):
            return next_token(net)

    train(net, loss)


def recomputing() -> None:
    net = Language(causal=True, layers=4, recompute=True).npu()
    train(net, lambda: next_token(net))


def accumulation() -> None:
    net = Language(causal=True).npu()
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(4):
        (next_token(net) / 2).backward()
        if step % 2:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def vit() -> None:
    patches, net = nn.Conv2d(3, 128, 8, stride=8).npu(), nn.ModuleList(Block(128, 4, False) for _ in range(2)).npu()
    head = nn.Linear(128, 10).npu()
    whole = nn.ModuleList([patches, net, head])

    def loss() -> torch.Tensor:
        x = patches(images(8, 64)).flatten(2).transpose(1, 2)
        for block in net:
            x = block(x)
        return F.cross_entropy(head(x.mean(1)), labels(8))

    train(whole, loss)


def lstm() -> None:
    embedding, net, head = (
        nn.Embedding(500, 64).npu(),
        nn.LSTM(64, 128, 2, batch_first=True).npu(),
        nn.Linear(128, 500).npu(),
    )
    whole = nn.ModuleList([embedding, net, head])

    def loss() -> torch.Tensor:
        ids = tokens(8, 16)
        return F.cross_entropy(head(net(embedding(ids))[0]).view(-1, 500), ids.view(-1))

    train(whole, loss)


def gan() -> None:
    maker = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1024), nn.Tanh()).npu()
    judge = nn.Sequential(nn.Linear(1024, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1)).npu()
    makes, judges = (torch.optim.Adam(net.parameters(), 2e-4, betas=(0.5, 0.999)) for net in (maker, judge))
    ones, zeros = torch.ones(32, 1).npu(), torch.zeros(32, 1).npu()
    for _ in range(STEPS):
        made = maker(torch.randn(32, 64).npu())
        right = F.binary_cross_entropy_with_logits(judge(torch.randn(32, 1024).npu()), ones)
        wrong = F.binary_cross_entropy_with_logits(judge(made.detach()), zeros)
        judges.zero_grad()
        (right + wrong).backward()
        judges.step()
        makes.zero_grad()
        F.binary_cross_entropy_with_logits(judge(made), ones).backward()
        makes.step()


def moe() -> None:
    """Experts by a dense product with their shares, as small models do: no shape depends on who is chosen."""
    router = nn.Linear(64, 4).npu()
    experts = nn.ModuleList(nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(4)).npu()
    whole = nn.ModuleList([router, experts])

    def loss() -> torch.Tensor:
        x = torch.randn(128, 64).npu()
        shares, chosen = torch.softmax(router(x), -1).topk(2)
        weights = torch.zeros(128, 4).npu().scatter(1, chosen, shares)
        y = sum(weights[:, i : i + 1] * expert(x) for i, expert in enumerate(experts))
        return mean_square(y, x)

    train(whole, loss)


def seq2seq() -> None:
    net = nn.Transformer(64, 4, 2, 2, 256, dropout=0.0, batch_first=True).npu()
    embedding, head = nn.Embedding(500, 64).npu(), nn.Linear(64, 500).npu()
    whole = nn.ModuleList([net, embedding, head])

    def loss() -> torch.Tensor:
        source, target = tokens(4, 24), tokens(4, 16)
        mask = nn.Transformer.generate_square_subsequent_mask(16).npu()
        y = head(net(embedding(source), embedding(target), tgt_mask=mask))
        return F.cross_entropy(y.view(-1, 500), target.view(-1))

    train(whole, loss)


def unet() -> None:
    down, middle = nn.Conv2d(3, 32, 3, padding=1).npu(), nn.Conv2d(32, 64, 3, stride=2, padding=1).npu()
    up, last = nn.ConvTranspose2d(64, 32, 2, stride=2).npu(), nn.Conv2d(64, 3, 1).npu()
    norm = nn.GroupNorm(8, 32).npu()
    whole = nn.ModuleList([down, middle, up, last, norm])

    def loss() -> torch.Tensor:
        x = images(4)
        first = F.silu(norm(down(x)))
        return mean_square(last(torch.cat([first, up(F.silu(middle(first)))], 1)), x)

    train(whole, loss)


def embedding_bag() -> None:
    table, net = (
        nn.EmbeddingBag(5000, 64, mode="sum").npu(),
        nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1)).npu(),
    )
    whole = nn.ModuleList([table, net])

    def loss() -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(net(table(tokens(64, 10, 5000))).view(-1), torch.ones(64).npu())

    train(whole, loss, torch.optim.Adagrad(whole.parameters()))


def gru() -> None:
    net, head, embedding = nn.GRU(64, 128, 2, batch_first=True).npu(), nn.Linear(128, 500).npu(), nn.Embedding(500, 64)
    whole = nn.ModuleList([net, head, embedding.npu()])

    def loss() -> torch.Tensor:
        words = tokens(8, 33)
        return F.cross_entropy(head(net(embedding(words[:, :-1]))[0]).flatten(0, 1), words[:, 1:].flatten())

    train(whole, loss)


def mixer() -> None:
    """Patches mixed by matrices, across the image and across channels."""
    across, along = nn.Linear(64, 64).npu(), nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)).npu()
    cut, norms, head = (
        nn.Linear(48, 128).npu(),
        nn.ModuleList([nn.LayerNorm(128) for _ in range(2)]).npu(),
        nn.Linear(128, 10),
    )
    whole = nn.ModuleList([across, along, cut, norms, head.npu()])

    def loss() -> torch.Tensor:
        x = cut(images(16).unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).reshape(16, 64, 48))
        x = x + across(norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + along(norms[1](x))
        return F.cross_entropy(head(x.mean(1)), labels(16))

    train(whole, loss)


def graph() -> None:
    """Messages along edges, summed where they arrive."""
    layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(3)).npu()
    head = nn.Linear(64, 7).npu()
    whole = nn.ModuleList([layers, head])

    def loss() -> torch.Tensor:
        x, source, target = torch.randn(512, 64).npu(), tokens(1, 4096, 512)[0], tokens(1, 4096, 512)[0]
        for layer in layers:
            x = F.relu(layer(x) + torch.zeros_like(x).index_add(0, target, x.index_select(0, source)))
        return F.cross_entropy(head(x), labels(512, 7))

    train(whole, loss)


def two_towers() -> None:
    """Pairs told from all others of the batch, as in contrastive learning."""
    towers = nn.ModuleList(nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 64)) for _ in range(2)).npu()

    def loss() -> torch.Tensor:
        one, other = (F.normalize(tower(torch.randn(96, 128).npu()), dim=-1) for tower in towers)
        scores = one @ other.t() / 0.07
        numbers = torch.arange(96).npu()
        return F.cross_entropy(scores, numbers) + F.cross_entropy(scores.t(), numbers)

    train(towers, loss)


def begin() -> int:
    rank = int(os.environ["LOCAL_RANK"])
    torch.npu.set_device(rank)
    torch.distributed.init_process_group("hccl")
    return rank


def ddp() -> None:
    rank = begin()
    net = nn.parallel.DistributedDataParallel(Language(causal=True).npu(), device_ids=[rank])
    train(net, lambda: next_token(net))


def zero() -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    rank = begin()
    net = nn.parallel.DistributedDataParallel(Language(causal=True).npu(), device_ids=[rank])
    optimizer = ZeroRedundancyOptimizer(net.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-3)
    train(net, lambda: next_token(net), optimizer)


def fsdp2() -> None:
    from torch.distributed.fsdp import fully_shard

    begin()
    net = Language(causal=True, layers=4).npu()
    for block in net.blocks:
        fully_shard(block)
    fully_shard(net)
    train(net, lambda: next_token(net))


def main() -> None:
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
    torch.npu.synchronize()
    peak, reserved = torch.npu.max_memory_allocated(), torch.npu.max_memory_reserved()
    facts = {"peak": peak, "reserved": reserved, "now": torch.npu.memory_allocated()}
    if torch.distributed.is_initialized():
        facts["rank"] = torch.distributed.get_rank()
        torch.distributed.barrier()
    os.write(1, (json.dumps(facts) + "\n").encode())  # one write: other ranks write here too


if __name__ == "__main__":
    main()
