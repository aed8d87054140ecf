"""REINFORCE on a batch of pole environments."""
import time
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class Poles:
    """Vectorised pole balancing, NumPy."""

    def __init__(self, n, seed=0):
        self.n, self.rng = n, np.random.default_rng(seed)

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, (self.n, 4)).astype(np.float32)
        return self.state.copy()

    def step(self, actions):
        x, v, a, w = self.state.T
        force = np.where(actions == 1, 10.0, -10.0)
        temp = (force + 0.05 * w ** 2 * np.sin(a)) / 1.1
        acc = (9.8 * np.sin(a) - np.cos(a) * temp) / (0.5 * (4 / 3 - 0.1 * np.cos(a) ** 2 / 1.1))
        lin = temp - 0.05 * acc * np.cos(a) / 1.1
        self.state = np.stack([x + 0.02 * v, v + 0.02 * lin, a + 0.02 * w, w + 0.02 * acc], 1).astype(np.float32)
        alive = (np.abs(self.state[:, 2]) < 0.2).astype(np.float32)
        return self.state.copy(), alive


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 2))

    def forward(self, s):
        return self.body(s)


class Agent:
    def __init__(self, device):
        self.device = device
        self.policy = Policy().to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-3)

    @torch.no_grad()
    def act(self, states):
        actions = []
        for state in states:
            logits = self.policy(torch.from_numpy(state).unsqueeze(0).to(self.device))
            actions.append(Categorical(logits=logits).sample().item())
        return np.array(actions)

    def update(self, states, actions, returns):
        s = torch.from_numpy(np.concatenate(states)).to(self.device)
        a = torch.from_numpy(np.concatenate(actions)).to(self.device)
        r = torch.from_numpy(np.concatenate(returns)).to(self.device)
        for _ in range(4):
            loss = -(Categorical(logits=self.policy(s)).log_prob(a) * r).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.detach()


def main(updates=10, envs=16, horizon=32, gamma=0.99):
    torch.manual_seed(0)
    env = Poles(envs)
    agent = Agent(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    begin = time.perf_counter()
    for _ in range(updates):
        state, states, actions, rewards = env.reset(), [], [], []
        for _ in range(horizon):
            action = agent.act(state)
            states.append(state)
            actions.append(action)
            state, reward = env.step(action)
            rewards.append(reward)
        running, returns = np.zeros(envs, np.float32), []
        for reward in reversed(rewards):
            running = reward + gamma * running
            returns.insert(0, running)
        loss = agent.update(states, actions, returns)
    print("loss", loss.item())
    print(f"steps_seconds={time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
