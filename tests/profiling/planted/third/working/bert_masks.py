"""Fine-tune a BERT made from a small configuration on sentence pairs of different lengths."""
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

LONGEST = 64


class Pairs(Dataset):
    def __init__(self, count):
        chance = torch.Generator().manual_seed(5)
        self.ids = torch.randint(5, 900, (count, LONGEST), generator=chance)
        self.lengths = torch.randint(20, LONGEST, (count,), generator=chance)
        self.second = self.lengths // 2
        self.labels = torch.randint(0, 2, (count,), generator=chance)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return self.ids[index], self.lengths[index], self.second[index], self.labels[index]


def build_masks(ids, lengths, second):
    attention, segments = torch.zeros_like(ids), torch.zeros_like(ids)
    for row in range(ids.size(0)):
        for column in range(int(lengths[row])):
            attention[row, column] = 1
            if column >= int(second[row]):
                segments[row, column] = 1
    return attention, segments


def main():
    torch.manual_seed(2)
    device = torch.device("cuda:0")
    config = BertConfig(
        vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=LONGEST, num_labels=2,
    )
    model = BertForSequenceClassification(config).to(device).train()
    loader = DataLoader(Pairs(16 * 40), batch_size=16, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    schedule = get_linear_schedule_with_warmup(optimizer, 4, len(loader))
    for batch in loader:
        ids, lengths, second, labels = (part.to(device, non_blocking=True) for part in batch)
        attention, segments = build_masks(ids, lengths, second)
        out = model(input_ids=ids, attention_mask=attention, token_type_ids=segments, labels=labels)
        out.loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    print("final loss", out.loss.item())


if __name__ == "__main__":
    main()
