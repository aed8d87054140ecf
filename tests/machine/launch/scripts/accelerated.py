"""accelerate: its own wrappers around model, optimiser and loader, with accumulation."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
print("DEVICE", accelerator.device)
for (x,) in loader:
    with accelerator.accumulate(model):
        loss = model(x).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
