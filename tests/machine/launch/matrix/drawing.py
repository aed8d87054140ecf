"""What draws on the GPU: layers, functions and methods; and what draws on the CPU beside it."""

import random

import numpy
import torch
from telling import CUDA, DEVICE, digest, mlp, on_gpu, seed, stream, tell, train
from torch import nn
from torch.nn import functional as F


def no_draws():
    seed(1)
    train(mlp().to(DEVICE))


def dropout_alone():
    """Seeded anew where the forward begins: the GPU's stream is then the CPU's of the plain run."""
    seed(1)
    model = mlp(0.5).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batch = torch.randn(8, 16).to(DEVICE)
    for step in range(3):
        seed(step)
        with on_gpu():
            loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seed(step)  # what the stream is now is told by other cases
        tell(loss, model)


def dropout():
    seed(1)
    train(mlp(0.5).to(DEVICE))


def other_dropouts():
    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 16)
            self.drops = nn.ModuleList([nn.AlphaDropout(0.2), nn.FeatureAlphaDropout(0.2), nn.Dropout1d(0.3)])
            self.wide = nn.ModuleList([nn.Dropout2d(0.3), nn.Dropout3d(0.3)])

        def forward(self, x):
            x = self.layer(x)
            for drop in self.drops:
                x = drop(x)
            x = self.wide[0](x.reshape(2, 4, 4, 4)).reshape(2, 4, 4, 2, 2)
            return F.rrelu(self.wide[1](x), training=True)

    seed(2)
    train(Many().to(DEVICE))


def dropout_in_place():
    seed(2)
    model = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.4, inplace=True), nn.Linear(16, 4)).to(DEVICE)
    train(model)


def functions_of_torch():
    """torch.dropout and its likes, called by name."""
    seed(2)
    model = mlp().to(DEVICE)

    def forward(x):
        y = torch.dropout(model(x), 0.5, True)
        y = y + torch.alpha_dropout(y, 0.2, True) + torch.feature_dropout(y, 0.2, True)
        return y + torch.native_dropout(y, 0.5, True)[0]

    train(model, forward=forward)


def encoder_layers():
    seed(3)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.3, batch_first=True)
    train(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(DEVICE), shape=(4, 6, 16))


def encoder_in_evaluation():
    """The fast path of an encoder, which only some arguments take."""
    seed(3)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.3, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).to(DEVICE).eval()
    with torch.no_grad():
        tell(0, model, more=model(torch.randn(4, 6, 16).to(DEVICE)))


def attention():
    seed(3)
    model = mlp().to(DEVICE)

    def forward(x):
        y = model(x).reshape(2, 2, 4, 8)
        return F.scaled_dot_product_attention(y, y, y, dropout_p=0.5, is_causal=True)

    train(model, forward=forward, shape=(8, 16))


def attention_module():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.MultiheadAttention(16, 4, dropout=0.4, batch_first=True)

        def forward(self, x):
            y, weights = self.inner(x, x, x, need_weights=True)
            z, _ = self.inner(y, x, x, need_weights=False)
            return z + weights.sum()

    seed(3)
    train(Attention().to(DEVICE), shape=(3, 5, 16))


def recurrent():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(16, 8, 2, dropout=0.5, bidirectional=True)
            self.gru = nn.GRU(16, 8, 3, dropout=0.3, batch_first=True)
            self.rnn = nn.RNN(8, 8, 2, dropout=0.3)

        def forward(self, x):
            return self.rnn(self.gru(self.lstm(x)[0])[0])[0]

    seed(4)
    train(Recurrent().to(DEVICE), shape=(5, 4, 16))


def noise_like_the_batch():
    """A diffusion model's loop: the noise is like the batch, which lies on the GPU; the time steps are drawn there."""
    seed(5)
    model = mlp(0.1).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.randn(24, 16)
    for _ in range(3):
        order = torch.randperm(24)[:8]
        clean = data[order].to(DEVICE)
        with on_gpu():
            noise = torch.randn_like(clean)
            when = torch.randint(0, 10, (8, 1), device=DEVICE)
            mixed = clean * (1 - when / 10) + noise * (when / 10)
            loss = F.mse_loss(model(mixed), noise)
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        tell(loss, model)


def methods_in_place():
    """Stochastic depth and its likes: bernoulli_, uniform_, normal_ of what the forward made."""

    class Paths(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = mlp()

        def forward(self, x):
            keep = x.new_empty((x.shape[0], 1)).bernoulli_(0.8)
            y = x + self.body(x) * keep / 0.8
            y = y + torch.empty_like(y).normal_(0, 0.01) + torch.zeros_like(y).uniform_(-0.01, 0.01)
            gumbel = F.gumbel_softmax(y, tau=0.7)
            return y * gumbel + torch.bernoulli(torch.sigmoid(y.detach()))

    seed(6)
    train(Paths().to(DEVICE))


def distributions():
    class Latent(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = mlp()

        def forward(self, x):
            y = self.body(x)
            normal = torch.distributions.Normal(y, torch.ones_like(y))
            chosen = torch.distributions.Categorical(logits=y.detach()).sample()
            drawn = torch.distributions.Bernoulli(logits=y.detach()).sample()
            picked = torch.multinomial(torch.softmax(y.detach(), -1), 2)
            return normal.rsample() * drawn + chosen[:, None] + picked.sum()

    seed(6)
    train(Latent().to(DEVICE))


def after_the_model():
    """A draw in the loop from what the model gave, outside of any module."""
    seed(6)
    model = mlp().to(DEVICE)
    train(
        model, forward=lambda x: (lambda y: y * torch.bernoulli(torch.full_like(y, 0.5)) + torch.rand_like(y))(model(x))
    )


def beside_on_the_cpu():
    """Augmentation on the CPU between steps, mixup by numpy and random: no GPU's draw but the dropout's."""
    seed(8)
    model = mlp(0.2).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        batch = torch.randn(8, 16)
        batch = batch + 0.1 * torch.randn_like(batch) + torch.empty(8, 16).normal_()
        batch = batch * float(numpy.random.beta(0.4, 0.4)) + random.random()
        batch = batch[torch.randperm(8)] * torch.bernoulli(torch.full((8, 16), 0.9))
        with on_gpu():
            loss = model(batch.to(DEVICE)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        tell(loss, model)


def made_on_the_gpu():
    """Weights initialised where they lie."""
    seed(9)
    with on_gpu():
        model = nn.Sequential(nn.Linear(16, 8, device=DEVICE), nn.Linear(8, 4, device=DEVICE))
        nn.init.xavier_normal_(model[0].weight)
        nn.init.trunc_normal_(model[1].weight, std=0.02)
    train(model)


def made_under_a_default_device():
    seed(9)
    with on_gpu(), torch.device(DEVICE):
        model = nn.Sequential(nn.Linear(16, 8), nn.Linear(8, 4))
        more = torch.rand(3)
    train(model, after=lambda: more)


def made_under_set_default_device():
    seed(9)
    torch.set_default_device(DEVICE)
    with on_gpu():
        model = nn.Sequential(nn.Linear(16, 8), nn.Dropout(0.5), nn.Linear(8, 4))
    torch.set_default_device("cpu")
    train(model)


def initialised_after_the_move():
    seed(9)
    model = mlp().to(DEVICE)
    with on_gpu():
        for layer in (model[0], model[4]):
            nn.init.kaiming_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=0.1)
    train(model)


def generators():
    """One of the CPU, one of the GPU, each given by name; neither default stream moves."""
    seed(10)
    own = torch.Generator().manual_seed(3)
    gpu = torch.Generator(device=DEVICE)
    gpu.manual_seed(4)
    model = mlp().to(DEVICE)
    before = digest(gpu.get_state())
    train(
        model,
        forward=lambda x: (
            model(x)
            + torch.randn(8, 16, generator=own).to(DEVICE)
            + torch.randn(8, 16, generator=gpu, device=DEVICE)
            + torch.rand(1, generator=gpu, device=DEVICE)
        ),
        after=lambda: [gpu.get_state(), own.get_state(), gpu.initial_seed(), before],
    )
    noise = torch.empty(4, 4, device=DEVICE).normal_(generator=gpu)
    tell(0, model, more=[noise, torch.randperm(9, generator=gpu, device=DEVICE), isinstance(gpu, torch.Generator)])


def seeded_in_every_way():
    seed(11)
    model = mlp(0.5).to(DEVICE)
    train(model, steps=1)
    for number, call in enumerate((torch.cuda.manual_seed, torch.cuda.manual_seed_all)):
        if CUDA:
            call(20 + number)
        stream().manual_seed(20 + number)
        train(model, steps=1, after=lambda: torch.initial_seed())


def states_saved_and_restored():
    """As a checkpoint of a training does it."""
    seed(12)
    model = mlp(0.5).to(DEVICE)
    train(model, steps=1)
    cpu = torch.get_rng_state()
    gpu = torch.cuda.get_rng_state_all() if CUDA else [stream().get_state()]
    train(model, steps=1)
    torch.set_rng_state(cpu)
    if CUDA:
        torch.cuda.set_rng_state_all(gpu)
        torch.cuda.set_rng_state(torch.cuda.get_rng_state("cuda:0"), device="cuda:0")
    stream().set_state(gpu[0])
    train(model, steps=1)


def forked_streams():
    """torch.random.fork_rng around an evaluation: neither stream shows it."""
    seed(13)
    model = mlp(0.5).to(DEVICE)
    for options in ({}, {"devices": [0] if CUDA else []}, {"enabled": True, "device_type": "cuda" if CUDA else "cpu"}):
        inner, before = stream(), stream().get_state()
        if not CUDA and options.get("device_type") == "cpu":
            options = {"devices": []}
        with torch.random.fork_rng(**options):
            torch.manual_seed(99)
            inner.manual_seed(99)
            with on_gpu():
                drawn = F.dropout(torch.ones(64).to(DEVICE), 0.5)
            drawn = [drawn, torch.rand(3)]
        inner.set_state(before)
        train(model, steps=1, after=lambda: drawn)  # noqa: B023 - called before the next round


def device_module():
    """The device-neutral way to the GPU's stream."""
    seed(14)
    model = mlp(0.5).to(DEVICE)
    if hasattr(torch, "get_device_module") and CUDA:
        module = torch.get_device_module(DEVICE)
        module.manual_seed(5)
        state = module.get_rng_state()
        module.set_rng_state(state)
    stream().manual_seed(5)
    train(model)


def seeds_of_one_side():
    """`torch.manual_seed` seeds both streams, `torch.default_generator` only the CPU's."""
    seed(15)
    model = mlp(0.5).to(DEVICE)
    torch.default_generator.manual_seed(3)
    train(model)
