"""PPO with continuous actions on stored rollouts."""
import torch
import torch.nn as nn
from torch.distributions import Independent, Normal


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim, action_std=0.6):
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(state_dim, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, action_dim), nn.Tanh()
        )
        self.critic = nn.Sequential(nn.Linear(state_dim, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.register_buffer("action_var", torch.full((action_dim,), action_std**2))

    def distribution(self, state):
        mean = self.actor(state)
        return Independent(Normal(mean, self.action_var.sqrt().expand_as(mean)), 1)

    def evaluate(self, state, action):
        dist = self.distribution(state)
        return dist.log_prob(action), self.critic(state).squeeze(-1), dist.entropy()


class PPO:
    def __init__(self, state_dim, action_dim, device, eps_clip=0.2, K_epochs=12):
        self.policy = ActorCritic(state_dim, action_dim).to(device)
        self.optimizer = torch.optim.Adam(
            [
                {"params": self.policy.actor.parameters(), "lr": 3e-4},
                {"params": self.policy.critic.parameters(), "lr": 1e-3},
            ]
        )
        self.eps_clip, self.K_epochs = eps_clip, K_epochs

    def update(self, states, actions, old_logprobs, rewards):
        for _ in range(self.K_epochs):
            logprobs, values, entropy = self.policy.evaluate(states, actions)
            ratios = torch.exp(logprobs - old_logprobs)
            advantages = rewards - values.detach()
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * (values - rewards).pow(2) - 0.01 * entropy
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
        return loss.mean()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    agent = PPO(24, 17, device)
    for update in range(4):
        states, rewards = torch.randn(256, 24, device=device), torch.randn(256, device=device)
        with torch.no_grad():
            dist = agent.policy.distribution(states)
            actions = dist.sample()
            old = dist.log_prob(actions)
        loss = agent.update(states, actions, old, rewards)
    print("loss", loss.item())


if __name__ == "__main__":
    main()
