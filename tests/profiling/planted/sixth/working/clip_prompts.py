"""An adapter on pictures learns to meet the texts of their classes; the text encoder stays as it is."""
import torch
from torch import nn
from torch.nn import functional as F

CLASSES, LENGTH = 24, 12


class TextEncoder(nn.Module):
    def __init__(self, vocab=500, width=64, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.pos = nn.Parameter(0.01 * torch.randn(LENGTH, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, tokens):
        return F.normalize(self.body(self.embed(tokens) + self.pos)[:, -1], dim=-1)


class PictureAdapter(nn.Module):
    def __init__(self, inside=256, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inside, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, width))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class Classifier(nn.Module):
    def __init__(self, prompts):
        super().__init__()
        self.text = TextEncoder().requires_grad_(False).eval()
        self.adapter = PictureAdapter()
        self.register_buffer("prompts", prompts)

    def class_vectors(self):
        with torch.no_grad():
            return self.text(self.prompts)

    def forward(self, features):
        return self.adapter.scale.exp() * self.adapter(features) @ self.class_vectors().t()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Classifier(torch.randint(0, 500, (CLASSES, LENGTH))).to(device)
    optimizer = torch.optim.AdamW(model.adapter.parameters(), lr=1e-3)
    features, labels = torch.randn(16, 64, 256, device=device), torch.randint(0, CLASSES, (16, 64), device=device)
    for step in range(48):
        loss = F.cross_entropy(model(features[step % 16]), labels[step % 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print(step, loss.item())


if __name__ == "__main__":
    main()
