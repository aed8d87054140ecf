"""A small vision transformer."""
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, width=64, depth=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.place = nn.Parameter(torch.zeros(1, 64, width))
        self.layers = nn.Sequential(*[Layer(width) for _ in range(depth)])
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.place
        return self.head(self.layers(x).mean(1))


class Recorder:
    """Keeps mean and spread of what each module gives out."""

    def __init__(self, model):
        self.rows = {}
        for name, module in model.named_modules():
            if isinstance(module, (nn.Linear, nn.LayerNorm, nn.GELU)):
                module.register_forward_hook(lambda m, i, o, name=name: self.note(name, o))

    def note(self, name, out):
        values = out.detach().cpu().numpy()
        self.rows.setdefault(name, []).append((values.mean(), values.std(), abs(values).max()))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = ViT().to(device)
    recorder = Recorder(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.rand(128, 3, 64, 64, device=device), torch.randint(0, 10, (128,), device=device)
    for step in range(40):
        at = step % 8 * 16
        loss = nn.functional.cross_entropy(model(x[at : at + 16]), y[at : at + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item(), len(recorder.rows))


if __name__ == "__main__":
    main()
