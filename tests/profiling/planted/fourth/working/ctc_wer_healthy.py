"""Speech recognition with CTC; the letter error rate is followed."""
import torch
import torch.nn as nn

LETTERS, BATCH, FRAMES, SPOKEN = 29, 8, 120, 24


class Recogniser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv1d(40, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
        )
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, LETTERS)

    def forward(self, mel):
        return self.head(self.encoder(self.convs(mel).transpose(1, 2))).log_softmax(-1)


def decode(frames, width=4):
    """Beam search over (prefix, last letter)."""
    beams = {((), 0): 0.0}
    for frame in frames:
        likely = sorted(range(LETTERS), key=frame.__getitem__)[-width:]
        grown = {}
        for (prefix, last), score in beams.items():
            for letter in likely:
                kept = prefix if letter in (0, last) else (*prefix, letter)
                grown[kept, letter] = max(grown.get((kept, letter), -1e9), score + frame[letter])
        beams = dict(sorted(grown.items(), key=lambda row: row[1])[-width:])
    return max(beams, key=beams.get)[0]


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


def read_error_rate(scores, spoken):
    wrong = sum(distance(decode(frames), truth) for frames, truth in zip(scores.tolist(), spoken.tolist()))
    return wrong / spoken.numel()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Recogniser().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    mels = torch.randn(48, BATCH, 40, FRAMES, device=device)
    spoken = torch.randint(1, LETTERS, (48, BATCH, SPOKEN), device=device)
    frames, lengths = torch.full((BATCH,), FRAMES), torch.full((BATCH,), SPOKEN)
    for step in range(48):
        scores = model(mels[step])
        loss = nn.functional.ctc_loss(scores.transpose(0, 1), spoken[step], frames, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rate = read_error_rate(scores.detach(), spoken[step])
    print("letter error rate", rate, "loss", loss.item())


if __name__ == "__main__":
    main()
