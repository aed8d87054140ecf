"""A one-stage detector's head on feature maps: boxes and scores per cell."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 48, 3, 2, 1), nn.ReLU(),
        )
        self.boxes, self.scores = nn.Conv2d(48, 4, 3, padding=1), nn.Conv2d(48, classes, 3, padding=1)

    def forward(self, x):
        f = self.body(x)
        return self.boxes(f).flatten(2).transpose(1, 2), self.scores(f).flatten(2).transpose(1, 2)


def to_corners(boxes):
    centre, size = boxes[..., :2].sigmoid(), boxes[..., 2:].exp().clamp(max=4) * 0.1
    return torch.cat([centre - size, centre + size], -1)


def overlap(a, b):
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    area_a, area_b = (a[..., 2:] - a[..., :2]).prod(-1), (b[..., 2:] - b[..., :2]).prod(-1)
    return inner / (area_a + area_b - inner).clamp(min=1e-6)


def suppress(boxes, scores, limit=0.5, most=12):
    order, kept = scores.argsort(descending=True), []
    while order.numel() and len(kept) < most:
        kept.append(order[0].item())
        if order.numel() == 1:
            break
        close = overlap(boxes[order[0]], boxes[order[1:]]) > limit
        order = order[1:][~close]
    return kept


def count_detections(scores):
    return (scores.max(-1).values > 0).sum()


def main():
    torch.manual_seed(0)
    device = "cuda"
    model = Head().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    pictures = torch.rand(64, 3, 96, 96, device=device)
    goals, kinds = torch.rand(64, 144, 4, device=device), torch.randint(0, 5, (64, 144), device=device)
    detections = torch.zeros((), dtype=torch.long, device=device)
    for step in range(40):
        at = step % 8 * 8
        boxes, scores = model(pictures[at : at + 8])
        loss = F.l1_loss(to_corners(boxes), goals[at : at + 8]) + F.cross_entropy(scores.flatten(0, 1), kinds[at : at + 8].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        detections += count_detections(scores.detach())
    kept = [len(suppress(*pair)) for pair in zip(to_corners(boxes.detach()), scores.detach().max(-1).values)]
    print("loss", loss.item(), "above zero", detections.item(), "kept in the last batch", sum(kept))


if __name__ == "__main__":
    main()
