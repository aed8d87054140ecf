"""Train a frame classifier for speech: an LSTM over stacked filter banks kept in memory."""
import random

import numpy as np
import torch
import torch.nn as nn

FRAMES, BANKS, PHONES, STACK = 60, 80, 39, 4


class Utterances:
    def __init__(self, count):
        chance = np.random.RandomState(0)
        self.banks = [chance.randn(FRAMES, BANKS).astype(np.float32).tolist() for _ in range(count)]
        self.phones = [chance.randint(0, PHONES, FRAMES // STACK).tolist() for _ in range(count)]

    def batch(self, size):
        chosen = random.sample(range(len(self.banks)), size)
        banks = [[[value for value in frame] for frame in self.banks[k]] for k in chosen]
        phones = [self.phones[k] for k in chosen]
        return torch.tensor(banks), torch.tensor(phones)


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(BANKS * STACK, 64), nn.ReLU())
        self.rnn = nn.LSTM(64, 48, batch_first=True)
        self.out = nn.Linear(48, PHONES)

    def forward(self, x):
        return self.out(self.rnn(self.front(x.unflatten(1, (-1, STACK)).flatten(2)))[0])


def main():
    torch.manual_seed(0)
    random.seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data, model = Utterances(200), Recogniser().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(40):
        banks, phones = data.batch(32)
        banks, phones = banks.to(device), phones.to(device)
        optimizer.zero_grad()
        loss = criterion(model(banks).reshape(-1, PHONES), phones.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
