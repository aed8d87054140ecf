"""PPO minibatch updates, continuous actions."""
import time
import torch
from torch import nn
from torch.distributions import Normal

try:
    import torch_npu
    DEVICE = torch.device("npu:0")
except ImportError:
    DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def synchronize():
    if DEVICE.type != "cpu":
        getattr(torch, DEVICE.type).synchronize()


class ActorCritic(nn.Module):
    def __init__(self, obs=48, act=12, width=256):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, width), nn.ELU(), nn.Linear(width, width), nn.ELU(), nn.Linear(width, act))
        self.critic = nn.Sequential(nn.Linear(obs, width), nn.ELU(), nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))
        self.log_std = nn.Parameter(torch.zeros(act))

    def evaluate(self, obs, action):
        dist = Normal(self.actor(obs), self.log_std.exp())
        return dist.log_prob(action).sum(-1), dist.entropy().sum(-1), self.critic(obs).squeeze(-1)


class PPO:
    def __init__(self):
        self.net = ActorCritic().to(DEVICE)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-4)
        self.stats = {}

    def minibatch(self, obs, act, old, adv, ret):
        logp, entropy, value = self.net.evaluate(obs, act)
        ratio = (logp - old).exp()
        policy = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        critic = (value - ret).pow(2).mean()
        loss = policy + 0.5 * critic - 0.01 * entropy.mean()
        self.opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
        self.opt.step()
        self.stats = dict(policy=policy.detach(), critic=critic.detach(), norm=norm)


def main():
    torch.manual_seed(0)
    agent, n = PPO(), 2048
    obs, act = torch.randn(n, 48, device=DEVICE), torch.randn(n, 12, device=DEVICE)
    adv, ret, old = torch.randn(n, device=DEVICE), torch.randn(n, device=DEVICE), torch.randn(n, device=DEVICE) - 17
    start = time.perf_counter()
    for epoch in range(15):
        order = torch.randperm(n, device=DEVICE)
        for k in range(0, n, 256):
            i = order[k:k + 256]
            agent.minibatch(obs[i], act[i], old[i], adv[i], ret[i])
    print({k: float(v) for k, v in agent.stats.items()})
    print(f"steps_seconds={time.perf_counter() - start:.4f}")


main()
