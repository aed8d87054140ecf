"""AlexNet over the cards of a node as in a public profile: batch 32, float32, SGD with momentum."""

import os

import torch
import torch_npu  # noqa: F401
from torch import nn

local = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(local)
torch.distributed.init_process_group("hccl")
features = [nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2)]
features += [nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2)]
features += [nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(True)]
features += [nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(6)]
classifier = [nn.Flatten(), nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout()]
classifier += [nn.Linear(4096, 4096), nn.ReLU(True), nn.Linear(4096, 1000)]
model = nn.parallel.DistributedDataParallel(nn.Sequential(*features, *classifier).npu(), device_ids=[local])
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
for _ in range(3):
    images, labels = torch.randn(32, 3, 224, 224).npu(), torch.randint(0, 1000, (32,)).npu()
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
