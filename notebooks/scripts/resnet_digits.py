"""Train a residual network on the handwritten digits that ship with scikit-learn.

    python resnet_digits.py --epochs 5 --amp
    python resnet_digits.py --depth 50 --resume checkpoints/last.pt

The network has the shape of a ResNet (stem, four stages of bottleneck blocks, global pooling); width and
strides are scaled down so that it fits 8x8 images. `--depth 50` is the 3-4-6-3 layout of ResNet-50.
"""

import argparse
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

LAYOUTS = {14: (1, 1, 1, 1), 26: (2, 2, 2, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


class Bottleneck(nn.Module):
    """1x1 reduce, 3x3, 1x1 expand, and a shortcut around them."""

    expansion = 4

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        outplanes = planes * self.expansion
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, outplanes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outplanes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inplanes != outplanes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, outplanes, 1, stride=stride, bias=False), nn.BatchNorm2d(outplanes)
            )

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + shortcut)


class ResNet(nn.Module):
    def __init__(self, layout, width=16, num_classes=10):
        super().__init__()
        self.inplanes = width
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.layer1 = self._stage(width, layout[0], stride=1)
        self.layer2 = self._stage(width * 2, layout[1], stride=2)
        self.layer3 = self._stage(width * 4, layout[2], stride=2)
        self.layer4 = self._stage(width * 8, layout[3], stride=1)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width * 8 * Bottleneck.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _stage(self, planes, blocks, stride):
        layers = [Bottleneck(self.inplanes, planes, stride)]
        self.inplanes = planes * Bottleneck.expansion
        layers += [Bottleneck(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    cudnn.deterministic = True
    cudnn.benchmark = False


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def make_loaders(args):
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(digits.target, dtype=torch.long)
    train, test = train_test_split(np.arange(len(labels)), test_size=0.2, random_state=args.seed, stratify=labels)
    generator = torch.Generator()
    generator.manual_seed(args.seed)
    train_loader = DataLoader(
        TensorDataset(images[train], labels[train]),
        batch_size=args.batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=args.workers,
        pin_memory=True,
        worker_init_fn=seed_worker,
        generator=generator,
    )
    test_loader = DataLoader(TensorDataset(images[test], labels[test]), batch_size=256, pin_memory=True)
    return train_loader, test_loader


def train_one_epoch(model, loader, criterion, optimizer, scaler, epoch, args):
    model.train()
    total, seen, started = 0.0, 0, time.time()
    for step, (images, labels) in enumerate(loader):
        images = images.cuda(non_blocking=True)
        labels = labels.cuda(non_blocking=True)
        with torch.cuda.amp.autocast(enabled=args.amp):
            loss = criterion(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.item() * labels.size(0)
        seen += labels.size(0)
        if step % args.log_interval == 0:
            lr = optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch} step {step}/{len(loader)} loss {loss.item():.6f} lr {lr:.5f}", flush=True)
    torch.cuda.synchronize()
    print(f"epoch {epoch} train loss {total / seen:.6f} ({seen / (time.time() - started):.0f} images/s)", flush=True)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = torch.zeros((), dtype=torch.long, device="cuda")
    for images, labels in loader:
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        correct += (model(images).argmax(dim=1) == labels).sum()
    return correct.item() / len(loader.dataset)


def save_checkpoint(state, is_best, folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(state, folder / "last.pt")
    if is_best:
        torch.save(state, folder / "best.pt")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=26, choices=sorted(LAYOUTS))
    parser.add_argument("--width", type=int, default=16, help="channels of the stem")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    parser.add_argument("--lr-step", type=int, default=4, help="epochs between two reductions of the learning rate")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--amp", action="store_true", help="mixed precision: autocast and GradScaler")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--log-interval", type=int, default=1)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"), help="folder for last.pt and best.pt")
    parser.add_argument("--resume", default="", help="checkpoint to continue from")
    return parser.parse_args()


def main():
    args = parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this script needs a GPU")
    set_seed(args.seed)
    print(f"device: {torch.cuda.get_device_name(0)}")

    train_loader, test_loader = make_loaders(args)
    model = ResNet(LAYOUTS[args.depth], args.width).cuda()
    criterion = nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay
    )
    scheduler = StepLR(optimizer, step_size=args.lr_step, gamma=0.1)
    scaler = torch.cuda.amp.GradScaler(enabled=args.amp)

    start_epoch, best = 0, 0.0
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cuda:0", weights_only=True)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler.load_state_dict(checkpoint["scheduler"])
        scaler.load_state_dict(checkpoint["scaler"])
        start_epoch, best = checkpoint["epoch"], checkpoint["best"]
        print(f"resumed from {args.resume} at epoch {start_epoch}")

    for epoch in range(start_epoch, args.epochs):
        train_one_epoch(model, train_loader, criterion, optimizer, scaler, epoch, args)
        accuracy = evaluate(model, test_loader)
        scheduler.step()
        is_best = accuracy > best
        best = max(best, accuracy)
        print(f"epoch {epoch} accuracy {accuracy:.4f} best {best:.4f}", flush=True)
        state = {
            "epoch": epoch + 1,
            "best": best,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "scaler": scaler.state_dict(),
        }
        save_checkpoint(state, is_best, args.checkpoints)
    print(f"peak memory {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
