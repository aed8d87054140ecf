import time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import torch_npu
    device = torch.device("npu:0")
except ImportError:
    device = torch.device("cpu")


class Tagger(nn.Module):
    def __init__(self, words=5000, tags=17, d=96):
        super().__init__()
        self.embed = nn.Embedding(words, d)
        self.lstm = nn.LSTM(d, d, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * d, tags)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[0])


torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randint(0, 5000, (192, 32)), torch.randint(0, 17, (192, 32))), batch_size=16, shuffle=True)
model = Tagger().to(device)
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.CrossEntropyLoss()
total = torch.zeros((), device=device)
start = time.perf_counter()
for words, tags in loader:
    words, tags = words.to(device, non_blocking=True), tags.to(device, non_blocking=True)
    loss = criterion(model(words).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
print("mean loss", total.item() / len(loader))
print(f"steps_seconds={time.perf_counter() - start:.4f}")
