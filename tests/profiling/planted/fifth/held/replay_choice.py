"""A deep Q network with a prioritised memory of 200,000 moves."""
import numpy as np
import torch
import torch.nn as nn


class Memory:
    def __init__(self, size, observed, device):
        rng = np.random.default_rng(0)
        self.rng, self.size = rng, size
        self.states = torch.randn(size, observed, device=device)
        self.actions = torch.randint(0, 6, (size,), device=device)
        self.rewards = torch.randn(size, device=device)
        self.priorities = rng.random(size) + 0.01

    def draw(self, count):
        weights = self.priorities**0.6
        chances = weights / weights.sum()
        rows = np.random.choice(self.size, count, p=chances)
        return rows, (self.size * chances[rows]) ** -0.4

    def update(self, rows, errors):
        self.priorities[rows] = np.abs(errors) + 0.01


def make_network():
    return nn.Sequential(nn.Linear(24, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6))


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    device = torch.device("cuda")
    online, target = make_network().to(device), make_network().to(device)
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=3e-4)
    memory = Memory(200_000, 24, device)
    pending = None
    for step in range(60):
        rows, importance = memory.draw(64)
        chosen = torch.from_numpy(rows).to(device)
        weights = torch.from_numpy(importance.astype(np.float32)).to(device)
        states = memory.states[chosen]
        with torch.no_grad():
            aims = memory.rewards[chosen] + 0.99 * target(states.roll(1, 0)).amax(1)
        values = online(states).gather(1, memory.actions[chosen, None]).squeeze(1)
        errors = aims - values
        loss = (weights * errors**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if pending is not None:
            memory.update(pending[0], pending[1].numpy())
        pending = rows, errors.detach().cpu()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
