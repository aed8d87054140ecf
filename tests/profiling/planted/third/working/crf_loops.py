"""Sequence labelling with a linear-chain CRF on top of a convolution encoder."""
import torch
import torch.nn as nn

TAGS, LENGTH = 9, 12


class CRF(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.tags = tags
        self.transitions = nn.Parameter(torch.randn(tags, tags) * 0.1)

    def log_partition(self, scores):
        alpha = scores[:, 0]
        for t in range(1, scores.size(1)):
            columns = []
            for tag in range(self.tags):
                arriving = alpha + self.transitions[:, tag]
                columns.append(torch.logsumexp(arriving, dim=1) + scores[:, t, tag])
            alpha = torch.stack(columns, dim=1)
        return torch.logsumexp(alpha, dim=1)

    def forward(self, scores, tags):
        gold = scores.gather(2, tags.unsqueeze(2)).squeeze(2).sum(1)
        gold = gold + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        return (self.log_partition(scores) - gold).mean()


class Tagger(nn.Module):
    def __init__(self, words=2000, width=64):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.conv1, self.conv2 = nn.Conv1d(width, width, 3, padding=1), nn.Conv1d(width, width, 3, padding=1)
        self.out, self.crf = nn.Linear(width, TAGS), CRF(TAGS)

    def forward(self, words, tags):
        x = self.embed(words).transpose(1, 2)
        x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
        return self.crf(self.out(x.transpose(1, 2)), tags)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Tagger().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    words, tags = torch.randint(0, 2000, (256, LENGTH), device=device), torch.randint(0, TAGS, (256, LENGTH), device=device)
    for step in range(40):
        at = step % 4 * 64
        loss = model(words[at : at + 64], tags[at : at + 64])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
