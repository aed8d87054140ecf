"""Advantage actor-critic on a batch of pendulums; advantages are generalised (GAE)."""
import torch
import torch.nn as nn

ENVS, HORIZON, GAMMA, LAMBDA = 16, 64, 0.99, 0.95


class Policy(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.action, self.value = nn.Linear(width, 5), nn.Linear(width, 1)

    def forward(self, x):
        x = self.body(x)
        return self.action(x), self.value(x).squeeze(-1)


def advantages(rewards, values):
    result = torch.zeros_like(rewards)
    running = torch.zeros(rewards.shape[1], device=rewards.device)
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + GAMMA * values[t + 1] - values[t]
        running = delta + GAMMA * LAMBDA * running
        result[t] = running
    return result


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Policy().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    states = torch.randn(48, HORIZON + 1, ENVS, 24, device=device)
    rewards = torch.randn(48, HORIZON, ENVS, device=device)
    actions = torch.randint(5, (48, HORIZON, ENVS), device=device)
    for step in range(48):
        logits, values = model(states[step])
        found = advantages(rewards[step], values.detach())
        chosen = logits[:-1].log_softmax(-1).gather(-1, actions[step][..., None]).squeeze(-1)
        policy_loss = -(chosen * (found - found.mean()) / (found.std() + 1e-6)).mean()
        value_loss = nn.functional.mse_loss(values[:-1], found + values[:-1].detach())
        entropy = torch.distributions.Categorical(logits=logits, validate_args=False).entropy().mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
