"""Super-resolution with a perceptual loss: features of some layers of a fixed network are compared."""
import torch
import torch.nn as nn
from torch.fx import symbolic_trace

LAYERS = ("stages.0.net.2", "stages.1.net.2", "stages.2.net.2")


class Stage(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(),
            nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(),
        )

    def forward(self, x):
        return nn.functional.avg_pool2d(self.net(x), 2)


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.Sequential(Stage(3, 8), Stage(8, 16), Stage(16, 16))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.stages(x).mean((2, 3)))


def tap(network, layers):
    """Return a network that gives what these layers give."""
    traced = symbolic_trace(network)
    nodes = {str(node.target): node for node in traced.graph.nodes}
    end = next(node for node in traced.graph.nodes if node.op == "output")
    end.args = (tuple(nodes[layer] for layer in layers),)
    traced.graph.eliminate_dead_code()
    traced.recompile()
    return traced


class Upscaler(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.enter, self.leave = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 12, 3, padding=1)
        self.middle = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])

    def forward(self, x):
        x = self.enter(x)
        for conv in self.middle:
            x = x + torch.relu(conv(x))
        return nn.functional.pixel_shuffle(self.leave(x), 2)


def perceptual_loss(judge, made, wanted):
    taps = tap(judge, LAYERS)
    with torch.no_grad():
        aims = taps(wanted)
    return sum(nn.functional.l1_loss(ours, aim) for ours, aim in zip(taps(made), aims))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    judge = Judge().to(device).eval().requires_grad_(False)
    model = Upscaler().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    small = torch.rand(8, 4, 3, 16, 16, device=device)
    large = nn.functional.interpolate(small.flatten(0, 1), scale_factor=2).unflatten(0, (8, 4))
    for step in range(48):
        made = model(small[step % 8])
        loss = nn.functional.l1_loss(made, large[step % 8]) + 0.1 * perceptual_loss(judge, made, large[step % 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
