"""DQN in a world of cells; a film of what the agent does is kept."""
import collections
import random

import numpy as np
import torch
import torch.nn as nn


class GridWorld:
    def __init__(self, size=12, seed=0):
        self.size, self.rng = size, random.Random(seed)
        self.reset()

    def reset(self):
        self.agent, self.goal = [0, 0], [self.rng.randrange(self.size), self.rng.randrange(self.size)]
        self.walls = {(self.rng.randrange(1, self.size), self.rng.randrange(self.size)) for _ in range(20)}
        return self.observe()

    def observe(self):
        return np.array(self.agent + self.goal, np.float32) / self.size

    def step(self, action):
        dy, dx = ((0, 1), (1, 0), (0, -1), (-1, 0))[action]
        y, x = self.agent[0] + dy, self.agent[1] + dx
        if 0 <= y < self.size and 0 <= x < self.size and (y, x) not in self.walls:
            self.agent = [y, x]
        done = self.agent == self.goal
        return self.observe(), float(done) - 0.01, done

    def render(self, scale=16):
        frame = np.full((self.size * scale, self.size * scale, 3), 255, np.uint8)
        for y in range(self.size):
            for x in range(self.size):
                cell = frame[y * scale : (y + 1) * scale, x * scale : (x + 1) * scale]
                if (y, x) in self.walls:
                    cell[:] = 60
                if [y, x] == self.goal:
                    cell[:] = (40, 180, 40)
                if [y, x] == self.agent:
                    cell[:] = (200, 40, 40)
                cell[0, :] = cell[:, 0] = 200
        return frame


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, x):
        return self.net(x)


class Agent:
    def __init__(self, device):
        self.device = device
        self.q, self.target = QNet().to(device), QNet().to(device)
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = collections.deque(maxlen=2000)

    def act(self, state, eps=0.9):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return int(self.q(torch.from_numpy(state).to(self.device)).argmax())

    def learn(self, size=64):
        s, a, r, s2, d = map(np.array, zip(*random.sample(self.memory, size)))
        s, s2 = torch.from_numpy(s).to(self.device), torch.from_numpy(s2).to(self.device)
        a = torch.from_numpy(a).to(self.device)
        r, d = (torch.from_numpy(v.astype(np.float32)).to(self.device) for v in (r, d))
        with torch.no_grad():
            y = r + 0.97 * (1 - d) * self.target(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(self.q(s).gather(1, a[:, None]).squeeze(1), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


def play(env, agent, steps, film, learn):
    state = env.reset()
    for step in range(steps):
        action = agent.act(state)
        after, reward, done = env.step(action)
        agent.memory.append((state, action, reward, after, done))
        state = env.reset() if done else after
        if film is not None:
            film.append(env.render())
        if learn and step % 4 == 3:
            loss = agent.learn()
    return loss if learn else None


def main():
    torch.manual_seed(0)
    random.seed(0)
    env, agent, film = GridWorld(), Agent(torch.device("cuda")), collections.deque(maxlen=200)
    play(env, agent, 200, None, learn=False)
    loss = play(env, agent, 240, film, learn=True)
    print("loss", loss.item(), "frames", len(film))


if __name__ == "__main__":
    main()
