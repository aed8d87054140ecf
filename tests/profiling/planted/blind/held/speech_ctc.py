"""CTC acoustic model."""
import time
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from speech_ctc_data import Utterances, collate

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class Acoustic(nn.Module):
    def __init__(self, mel=40, hidden=96, symbols=29):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(mel, hidden, 5, 2, 2), nn.ReLU(), nn.Conv1d(hidden, hidden, 5, 1, 2), nn.ReLU())
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, symbols)

    def forward(self, x):
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        return self.out(self.rnn(x)[0]).log_softmax(-1)


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    loader = DataLoader(Utterances(160), batch_size=16, shuffle=True, collate_fn=collate, drop_last=True)
    net = Acoustic().to(device)
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    ctc = nn.CTCLoss(zero_infinity=True)
    begin = time.perf_counter()
    for x, y, nx, ny in loader:
        x, y = x.to(device), y.to(device)
        logp = net(x)
        loss = ctc(logp.transpose(0, 1), y, torch.div(nx + 1, 2, rounding_mode="floor"), ny)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
    print("ctc", loss.item())
    print(f"steps_seconds={time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
