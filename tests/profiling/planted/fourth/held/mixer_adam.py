"""An MLP-Mixer, trained with an optimizer written after a paper."""
import torch
import torch.nn as nn


class AdamBound(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), decay=0.01):
        super().__init__(params, {"lr": lr, "betas": betas, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["step"], state["mean"], state["square"] = 0, torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                state["mean"] = beta1 * state["mean"] + (1 - beta1) * p.grad
                state["square"] = beta2 * state["square"] + (1 - beta2) * p.grad * p.grad
                mean = state["mean"] / (1 - beta1 ** state["step"])
                square = state["square"] / (1 - beta2 ** state["step"])
                p.data = p.data - group["lr"] * (mean / (torch.sqrt(square) + 1e-8) + group["decay"] * p.data)


class Mixer(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.over_width = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.over_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_width(self.norm2(x))


class Net(nn.Module):
    def __init__(self, width=64, depth=5):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, stride=8)
        self.blocks = nn.Sequential(*[Mixer(64, width) for _ in range(depth)])
        self.head = nn.Linear(width, 20)

    def forward(self, x):
        return self.head(self.blocks(self.patch(x).flatten(2).transpose(1, 2)).mean(1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = AdamBound(model.parameters(), lr=1e-3)
    images = torch.randn(48, 8, 3, 64, 64, device=device)
    labels = torch.randint(20, (48, 8), device=device)
    for step in range(48):
        loss = nn.functional.cross_entropy(model(images[step]), labels[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
