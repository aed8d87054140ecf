"""Deep Q-learning on a synthetic environment with a replay buffer."""
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

STATE, ACTIONS, BATCH = 32, 6, 128


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(STATE, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.value, self.advantage = nn.Linear(256, 1), nn.Linear(256, ACTIONS)

    def forward(self, s):
        h = self.body(s)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


class Replay:
    def __init__(self, size, device):
        self.rows, self.device = deque(maxlen=size), device

    def push(self, *row):
        self.rows.append(row)

    def sample(self, count):
        rows = random.sample(self.rows, count)
        states = torch.stack([torch.tensor(row[0], device=self.device) for row in rows])
        actions = torch.stack([torch.tensor(row[1], device=self.device) for row in rows])
        rewards = torch.stack([torch.tensor(row[2], device=self.device) for row in rows])
        later = torch.stack([torch.tensor(row[3], device=self.device) for row in rows])
        return states, actions, rewards.float(), later


def main():
    random.seed(0)
    torch.manual_seed(0)
    chance = np.random.default_rng(0)
    device = torch.device("cuda")
    online, target = QNet().to(device), QNet().to(device)
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    replay = Replay(5000, device)
    for _ in range(2000):
        replay.push(chance.standard_normal(STATE).astype(np.float32), int(chance.integers(ACTIONS)),
                    float(chance.standard_normal()), chance.standard_normal(STATE).astype(np.float32))
    for step in range(40):
        states, actions, rewards, later = replay.sample(BATCH)
        with torch.no_grad():
            best = online(later).argmax(-1, keepdim=True)
            goal = rewards + 0.99 * target(later).gather(1, best).squeeze(1)
        guess = online(states).gather(1, actions[:, None]).squeeze(1)
        loss = nn.functional.huber_loss(guess, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            target.load_state_dict(online.state_dict())
    print(loss.item())


if __name__ == "__main__":
    main()
