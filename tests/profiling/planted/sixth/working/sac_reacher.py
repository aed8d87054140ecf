"""Soft actor-critic for a two-joint arm, from a replay buffer that was filled before."""
import copy

import numpy as np
import torch
from torch import nn


class ReplayBuffer:
    def __init__(self, capacity, obs_dim, act_dim, device):
        self.obs = np.zeros((capacity, obs_dim), np.float32)
        self.next_obs = np.zeros((capacity, obs_dim), np.float32)
        self.act = np.zeros((capacity, act_dim), np.float32)
        self.rew = np.zeros((capacity, 1), np.float32)
        self.done = np.zeros((capacity, 1), np.float32)
        self.size, self.capacity, self.device = 0, capacity, device

    def fill(self, count):
        rng = np.random.default_rng(0)
        self.obs[:count] = rng.standard_normal((count, self.obs.shape[1]), dtype=np.float32)
        self.next_obs[:count] = self.obs[:count] + 0.1
        self.act[:count] = rng.uniform(-1, 1, (count, self.act.shape[1]))
        self.rew[:count, 0] = -np.abs(self.obs[:count]).sum(1)
        self.size = count

    def sample(self, batch_size):
        idx = np.random.choice(self.size, batch_size, replace=False)
        parts = (self.obs[idx], self.act[idx], self.rew[idx], self.next_obs[idx], self.done[idx])
        return tuple(torch.from_numpy(part).to(self.device) for part in parts)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = mlp(obs_dim, 128, 128, 2 * act_dim)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, -1)
        log_std = log_std.clamp(-5, 2)
        noise = torch.randn_like(mean)
        u = mean + log_std.exp() * noise
        action = torch.tanh(u)
        logp = (-0.5 * noise.pow(2) - log_std - 0.919).sum(-1, keepdim=True)
        return action, logp - torch.log(1 - action.pow(2) + 1e-6).sum(-1, keepdim=True)


class SAC:
    def __init__(self, obs_dim, act_dim, device, gamma=0.99, tau=0.005, alpha=0.2):
        self.actor = Actor(obs_dim, act_dim).to(device)
        self.q = nn.ModuleList([mlp(obs_dim + act_dim, 128, 128, 1) for _ in range(2)]).to(device)
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=3e-4)
        self.gamma, self.tau, self.alpha = gamma, tau, alpha

    def update(self, batch):
        obs, act, rew, next_obs, done = batch
        with torch.no_grad():
            next_act, logp = self.actor(next_obs)
            x = torch.cat([next_obs, next_act], 1)
            target = torch.min(self.q_target[0](x), self.q_target[1](x)) - self.alpha * logp
            target = rew + self.gamma * (1 - done) * target
        x = torch.cat([obs, act], 1)
        q_loss = sum(nn.functional.mse_loss(q(x), target) for q in self.q)
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()
        new_act, logp = self.actor(obs)
        x = torch.cat([obs, new_act], 1)
        loss = (self.alpha * logp - torch.min(self.q[0](x), self.q[1](x))).mean()
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.q_target.parameters()), list(self.q.parameters()), self.tau)
        return q_loss


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    device = torch.device("cuda")
    buffer = ReplayBuffer(600_000, 11, 2, device)
    buffer.fill(600_000)
    agent = SAC(11, 2, device)
    for step in range(48):
        q_loss = agent.update(buffer.sample(128))
        if (step + 1) % 24 == 0:
            print(step, q_loss.item())


if __name__ == "__main__":
    main()
