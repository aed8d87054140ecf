"""Data loaders and samplers."""

import random

import numpy
import torch
from telling import CUDA, DEVICE, mlp, on_gpu, seed, tell
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, WeightedRandomSampler


class Augmented(Dataset):
    """Draws from all three streams for each item."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        x = torch.full((16,), float(index)) / 24
        x = x + 0.1 * torch.randn_like(x) + torch.empty(16).uniform_() * torch.bernoulli(torch.full((16,), 0.5))
        return x * random.random() + float(numpy.random.rand())


class Endless(IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        generator = torch.Generator().manual_seed(3 if info is None else info.id)
        for _ in range(12):
            yield torch.randn(16, generator=generator) + torch.rand(1)


def _seed_worker(number):
    state = torch.initial_seed() % 2**32
    numpy.random.seed(state)
    random.seed(state)


def _run(dataset, dropout=0.0, epochs=2, **options):
    seed(31)
    model = mlp(dropout).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(dataset, batch_size=8, **options)
    for _ in range(epochs):
        for batch in loader:
            batch = (batch[0] if isinstance(batch, (list, tuple)) else batch).to(DEVICE, non_blocking=True)
            with on_gpu():
                loss = model(batch).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
            optimizer.step()
            tell(loss, model, more=batch)


def shuffled():
    _run(Augmented(), shuffle=True)


def shuffled_with_dropout():
    _run(Augmented(), 0.5, shuffle=True)


def workers():
    _run(Augmented(), shuffle=True, num_workers=2, worker_init_fn=_seed_worker)


def workers_with_dropout():
    _run(Augmented(), 0.5, shuffle=True, num_workers=2, worker_init_fn=_seed_worker, persistent_workers=True)


def pinned():
    _run(Augmented(), shuffle=True, pin_memory=CUDA, drop_last=True)


def pinned_by_workers():
    _run(Augmented(), shuffle=True, pin_memory=CUDA, num_workers=1, prefetch_factor=2)


def own_generator():
    _run(TensorDataset(torch.arange(384.0).reshape(24, 16)), shuffle=True, generator=torch.Generator().manual_seed(8))


def weighted():
    _run(Augmented(), 0.5, sampler=WeightedRandomSampler(torch.arange(1.0, 25.0), 16))


def streamed():
    _run(Endless(), 0.5, num_workers=2)


def split():
    first, _ = torch.utils.data.random_split(Augmented(), [16, 8], generator=torch.Generator().manual_seed(5))
    _run(first, 0.2, shuffle=True)


def prefetched():
    """A prefetcher over a side stream, as in NVIDIA's examples."""
    seed(32)
    model = mlp(0.5).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    side = torch.cuda.Stream() if CUDA else None
    waiting = None
    for batch in DataLoader(Augmented(), batch_size=8, shuffle=True, pin_memory=CUDA):
        if side is None:
            ahead = batch.clone()
        else:
            with torch.cuda.stream(side):
                ahead = batch.cuda(non_blocking=True)
                ahead = ahead.float()
            torch.cuda.current_stream().wait_stream(side)
            ahead.record_stream(torch.cuda.current_stream())
        if waiting is not None:
            with on_gpu():
                loss = model(waiting).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
            optimizer.step()
            tell(loss, model)
        waiting = ahead
