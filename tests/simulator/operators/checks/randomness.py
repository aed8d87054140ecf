"""The NPU's random stream: apart from the CPU's, reproducible, with a state to get and set."""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F

DRAWS: dict[str, Callable[[], torch.Tensor]] = {
    "rand": lambda: torch.rand(50, device="npu"),
    "randn": lambda: torch.randn(50, device="npu"),
    "randint": lambda: torch.randint(0, 1000, (50,), device="npu"),
    "randperm": lambda: torch.randperm(50, device="npu"),
    "normal_": lambda: torch.empty(50, device="npu").normal_(1, 2),
    "uniform_": lambda: torch.empty(50, device="npu").uniform_(),
    "random_": lambda: torch.empty(50, device="npu").random_(),
    "exponential_": lambda: torch.empty(50, device="npu").exponential_(),
    "bernoulli_": lambda: torch.empty(50, device="npu").bernoulli_(0.5),
    "bernoulli": lambda: torch.bernoulli(torch.full((50,), 0.5, device="npu")),
    "multinomial": lambda: torch.multinomial(torch.ones(50, device="npu"), 40),
    "normal": lambda: torch.normal(torch.zeros(50, device="npu"), 1.0),
    "rand_like": lambda: torch.rand_like(torch.ones(50, device="npu")),
    "dropout": lambda: F.dropout(torch.ones(50, device="npu"), 0.5),
    "alpha_dropout": lambda: F.alpha_dropout(torch.ones(50, device="npu"), 0.5, training=True),
    "rrelu": lambda: F.rrelu(-torch.ones(50, device="npu"), training=True),
    "attention": lambda: F.scaled_dot_product_attention(*[torch.ones(1, 1, 8, 4, device="npu")] * 3, dropout_p=0.5),
    "trunc_normal_": lambda: torch.nn.init.trunc_normal_(torch.empty(50, device="npu")),
}


def check_each_draw_moves_on_and_a_seed_repeats_it() -> None:
    for name, draw in DRAWS.items():
        torch.manual_seed(5)
        first, second = draw(), draw()
        torch.manual_seed(5)
        again = draw()
        assert torch.equal(first, again), f"{name}: not repeated by the seed"
        assert not torch.equal(first, second), f"{name}: the stream stands still"


def check_the_cpu_stream_is_not_touched() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    for name, draw in DRAWS.items():
        draw()
        assert torch.equal(torch.get_rng_state(), before), f"{name} drew from the CPU's stream"


def check_the_npu_stream_is_not_touched_by_the_cpu() -> None:
    torch.manual_seed(5)
    first = torch.randn(4, device="npu")
    torch.manual_seed(5)
    torch.randn(1000)
    assert torch.equal(torch.randn(4, device="npu"), first)


def check_state_of_the_default_generator() -> None:
    torch.npu.manual_seed(11)
    torch.randn(3, device="npu")
    state = torch.npu.get_rng_state()
    values = [draw() for draw in DRAWS.values()]
    torch.npu.set_rng_state(state)
    for (name, draw), value in zip(DRAWS.items(), values):
        assert torch.equal(draw(), value), name


def check_seed_of_each_device() -> None:
    torch.npu.manual_seed_all(3)
    first, other = torch.randn(5, device="npu:0"), torch.randn(5, device="npu:1")
    assert torch.equal(first.cpu(), other.cpu())
    assert torch.npu.initial_seed() == 3
    assert not torch.equal(torch.randn(5, device="npu:0"), first)


def check_own_generator() -> None:
    generator = torch.Generator(device="npu").manual_seed(7)
    first = torch.randn(6, device="npu", generator=generator)
    state = generator.get_state()
    second = torch.randn(6, device="npu", generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.randn(6, device="npu", generator=generator), second)
    assert torch.equal(torch.randn(6, device="npu", generator=torch.Generator("npu").manual_seed(7)), first)
    assert generator.initial_seed() == 7
    before = torch.npu.get_rng_state()
    torch.randperm(9, device="npu", generator=generator)
    assert torch.equal(torch.npu.get_rng_state(), before)


def check_a_cpu_generator_is_refused() -> None:
    try:
        torch.randn(3, device="npu", generator=torch.Generator())
    except RuntimeError as error:
        assert "generator" in str(error), error
    else:
        raise AssertionError("a CPU generator was taken")


def check_fork_rng() -> None:
    torch.manual_seed(1)
    expected = torch.randn(3, device="npu")
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.randn(30, device="npu")
    assert torch.equal(torch.randn(3, device="npu"), expected)


def check_distributions_look_right() -> None:
    torch.manual_seed(0)
    normal, uniform = torch.randn(20000, device="npu"), torch.rand(20000, device="npu")
    assert abs(normal.mean().item()) < 0.03 and abs(normal.std().item() - 1) < 0.03
    assert abs(uniform.mean().item() - 0.5) < 0.02 and uniform.min().item() >= 0 and uniform.max().item() < 1
    kept = (F.dropout(torch.ones(20000, device="npu"), 0.3) > 0).float().mean().item()
    assert abs(kept - 0.7) < 0.02
    assert sorted(torch.randperm(100, device="npu").tolist()) == list(range(100))


def check_dropout_gradient_uses_the_same_mask() -> None:
    x = torch.ones(200, device="npu", requires_grad=True)
    y = F.dropout(x, 0.4)
    y.sum().backward()
    assert x.grad is not None and torch.equal(x.grad, y.detach())
