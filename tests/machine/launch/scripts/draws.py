"""Every way to draw, one line each with a digest of the numbers, on whatever device there is; then a network trains."""

import hashlib

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

cuda = torch.cuda.is_available()
device = torch.device("cuda" if cuda else "cpu")
torch.manual_seed(5)


def tell(name, *tensors):
    total = hashlib.sha256()
    for tensor in tensors:
        tensor = tensor.detach().cpu().contiguous()
        total.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    print("DRAW", name.replace(" ", "_"), total.hexdigest()[:16], flush=True)


x = torch.arange(1.0, 25.0).reshape(2, 3, 4).to(device)
flat, chance = x.reshape(6, 4), torch.linspace(0.1, 0.9, 24).reshape(6, 4).to(device)
generator = torch.Generator(device=device).manual_seed(3)
ways = {
    "rand": lambda: torch.rand(3, 4, device=device),
    "rand list": lambda: torch.rand([5], device=device, dtype=torch.float64),
    "rand half": lambda: torch.rand((5,), device=device, dtype=torch.float16),
    "rand on the CPU": lambda: torch.rand(4),
    "rand generator": lambda: torch.rand(4, device=device, generator=generator),
    "randn": lambda: torch.randn(100, device=device),
    "randn bfloat16": lambda: torch.randn(7, device=device, dtype=torch.bfloat16),
    "randint": lambda: torch.randint(10, (20,), device=device),
    "randint low": lambda: torch.randint(-3, 4, (20,), device=device),
    "randint named": lambda: torch.randint(low=2, high=9, size=(4,), device=device),
    "randperm": lambda: torch.randperm(20, device=device),
    "rand_like": lambda: torch.rand_like(x),
    "randn_like": lambda: torch.randn_like(x),
    "randint_like": lambda: torch.randint_like(x, 3, 9),
    "normal": lambda: torch.normal(0.5, 2.0, (3,), device=device),
    "normal of tensors": lambda: torch.normal(x, x),
    "normal of a mean": lambda: torch.normal(x, 2.0),
    "bernoulli": lambda: torch.bernoulli(chance),
    "bernoulli method": lambda: chance.bernoulli(),
    "multinomial": lambda: torch.multinomial(chance, 3),
    "multinomial again": lambda: chance.multinomial(5, replacement=True),
    "poisson": lambda: torch.poisson(flat),
    "normal_": lambda: torch.empty_like(x).normal_(1.0, 3.0),
    "uniform_": lambda: torch.empty_like(x).uniform_(-2, 2),
    "uniform_ named": lambda: torch.empty_like(x).uniform_(to=3.0),
    "bernoulli_": lambda: torch.empty_like(x).bernoulli_(0.3),
    "bernoulli_ of tensors": lambda: torch.empty_like(chance).bernoulli_(chance),
    "random_": lambda: torch.empty(6, dtype=torch.int32, device=device).random_(),
    "random_ to": lambda: torch.empty(6, device=device).random_(9),
    "random_ from": lambda: torch.empty(6, device=device).random_(-5, 5),
    "exponential_": lambda: torch.empty_like(x).exponential_(2.0),
    "geometric_": lambda: torch.empty_like(x).geometric_(0.2),
    "init": lambda: nn.init.trunc_normal_(torch.empty(5, 5, device=device)),
    "dropout": lambda: F.dropout(x, 0.5),
    "dropout in place": lambda: F.dropout(x.clone(), 0.5, inplace=True),
    "dropout of torch": lambda: torch.dropout(x, 0.5, True),
    "dropout evaluated": lambda: F.dropout(x, 0.5, training=False),
    "dropout1d": lambda: F.dropout1d(x, 0.5),
    "dropout2d": lambda: F.dropout2d(x[None], 0.5),
    "alpha_dropout": lambda: F.alpha_dropout(x, 0.5, training=True),
    "gumbel_softmax": lambda: F.gumbel_softmax(flat, hard=True),
    "categorical": lambda: torch.distributions.Categorical(chance).sample(),
    "rsample": lambda: torch.distributions.Normal(x, x).rsample(),
}
for name, draw in ways.items():
    tell(name, draw())
print("STATE", int(torch.randint(10**9, (1,)).item()))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 8, 2, dropout=0.5, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.3, batch_first=True)
        self.end = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1))

    def forward(self, x):
        y, _ = self.lstm(x)
        y, _ = self.attention(y, y, y, need_weights=False)
        return checkpoint(self.end, y, use_reentrant=False)


model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = (model(torch.randn(4, 5, 8, device=device)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
