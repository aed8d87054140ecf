"""Mean teacher on tabular data; own optimiser."""
import time
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Adam:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params, self.lr, self.betas, self.eps, self.t = list(params), lr, betas, eps, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        for i, p in enumerate(self.params):
            g = p.grad
            self.m[i] = b1 * self.m[i] + (1 - b1) * g
            self.v[i] = b2 * self.v[i] + (1 - b2) * g * g
            mhat = self.m[i] / (1 - b1 ** self.t)
            vhat = self.v[i] / (1 - b2 ** self.t)
            p.copy_(p - self.lr * mhat / (torch.sqrt(vhat) + self.eps))


class Residual(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))

    def forward(self, x):
        return x + self.f(x)


def network():
    return nn.Sequential(nn.Linear(40, 64), *[Residual(64) for _ in range(24)], nn.Linear(64, 6)).to(device)


def main():
    torch.manual_seed(0)
    student, teacher = network(), network().requires_grad_(False)
    teacher.load_state_dict(student.state_dict())
    optimizer = Adam(student.parameters())
    x, y = torch.randn(4096, 40, device=device), torch.randint(0, 6, (4096,), device=device)
    clock = time.perf_counter()
    for _ in range(20):
        i = torch.randint(0, 4096, (64,), device=device)
        j = torch.randint(0, 4096, (64,), device=device)
        out = student(torch.cat([x[i], x[j] + 0.1 * torch.randn_like(x[j])]))
        with torch.no_grad():
            target = teacher(x[j]).softmax(1)
        loss = nn.functional.cross_entropy(out[:64], y[i]) + nn.functional.mse_loss(out[64:].softmax(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(teacher.parameters()), list(student.parameters()), 0.01)
    print("loss", loss.item())
    print(f"steps_seconds={time.perf_counter() - clock:.4f}")


main()
