"""Policy gradient for a robot of twelve joints: one distribution a joint."""
import torch
import torch.nn as nn
from torch.distributions import Categorical, Normal


class Policy(nn.Module):
    def __init__(self, observed=32, joints=12, grips=5, width=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observed, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.means = nn.Linear(width, joints)
        self.spreads = nn.Parameter(torch.zeros(joints))
        self.grips = nn.Linear(width, joints * grips)
        self.joints = joints

    def forward(self, x):
        h = self.body(x)
        return self.means(h), self.spreads.exp(), self.grips(h).unflatten(1, (self.joints, -1))


def evaluate(policy, observations, moves, grips):
    means, spreads, logits = policy(observations)
    motion = Normal(means, spreads.expand_as(means), validate_args=False)
    grip = Categorical(logits=logits, validate_args=False)
    likelihood = motion.log_prob(moves).sum(1) + grip.log_prob(grips).sum(1)
    return likelihood, motion.entropy().sum(1) + grip.entropy().sum(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    policy = Policy().to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    observations = torch.randn(8, 256, 32, device=device)
    moves = torch.randn(8, 256, 12, device=device)
    grips = torch.randint(0, 5, (8, 256, 12), device=device)
    advantages = torch.randn(8, 256, device=device)
    for step in range(48):
        part = step % 8
        likelihood, entropy = evaluate(policy, observations[part], moves[part], grips[part])
        loss = -(likelihood * advantages[part]).mean() - 0.01 * entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
