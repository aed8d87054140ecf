"""DQN updates from a replay memory held on the device."""
import copy
import time
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Memory:
    def __init__(self, n, obs):
        self.s, self.s2 = torch.randn(n, obs, device=device), torch.randn(n, obs, device=device)
        self.a = torch.randint(0, 6, (n, 1), device=device)
        self.r, self.done = torch.randn(n, device=device), (torch.rand(n, device=device) < 0.05).float()
        self.n = n

    def sample(self, k):
        i = torch.randint(0, self.n, (k,), device=device)
        return self.s[i], self.a[i], self.r[i], self.s2[i], self.done[i]


torch.manual_seed(0)
q = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 6)).to(device)
target = copy.deepcopy(q).requires_grad_(False)
optimizer, memory = torch.optim.Adam(q.parameters(), lr=1e-4), Memory(8192, 128)
start = time.perf_counter()
for step in range(20):
    s, a, r, s2, done = memory.sample(512)
    with torch.no_grad():
        goal = r + 0.99 * (1 - done) * target(s2).amax(1)
    loss = nn.functional.smooth_l1_loss(q(s).gather(1, a).squeeze(1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        target.load_state_dict(q.state_dict())
print("td", loss.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
