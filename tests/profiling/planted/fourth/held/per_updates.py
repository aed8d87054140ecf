"""Deep Q-learning with prioritised replay."""
import torch
import torch.nn as nn


class Replay:
    def __init__(self, size, device):
        self.priorities = torch.ones(size, device=device)
        self.states = torch.randn(size, 48, device=device)
        self.nexts = torch.randn(size, 48, device=device)
        self.actions = torch.randint(6, (size, 1), device=device)
        self.rewards = torch.randn(size, device=device)

    def sample(self, count):
        rows = torch.multinomial(self.priorities, count, replacement=True)
        weights = (self.priorities[rows] / self.priorities.mean()) ** -0.4
        return rows, weights, self.states[rows], self.actions[rows], self.rewards[rows], self.nexts[rows]

    def update(self, rows, errors):
        for row, error in zip(rows, errors):
            self.priorities[row] = (abs(error.item()) + 1e-6) ** 0.6


class Dueling(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(48, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.value, self.advantage = nn.Linear(width, 1), nn.Linear(width, 6)

    def forward(self, x):
        x = self.body(x)
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(1, keepdim=True)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    online, target = Dueling().to(device), Dueling().to(device)
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-4)
    replay = Replay(4096, device)
    for step in range(48):
        rows, weights, state, action, reward, after = replay.sample(128)
        with torch.no_grad():
            best = online(after).argmax(1, keepdim=True)
            wanted = reward + 0.99 * target(after).gather(1, best).squeeze(1)
        errors = wanted - online(state).gather(1, action).squeeze(1)
        loss = (weights * errors**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        replay.update(rows, errors.detach())
    print("loss", loss.item(), "largest", replay.priorities.max().item())


if __name__ == "__main__":
    main()
