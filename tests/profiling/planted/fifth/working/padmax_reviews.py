"""A small BERT classifies the sentiment of short reviews with the Trainer of transformers."""
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

MAX_LENGTH = 128


class Reviews(Dataset):
    """Reviews that are tokenised already, of 10 to 30 tokens."""

    def __init__(self, count, vocabulary=2000):
        torch.manual_seed(1)
        lengths = torch.randint(10, 31, (count,)).tolist()
        self.ids = [torch.randint(5, vocabulary, (length,)) for length in lengths]
        self.labels = torch.randint(0, 2, (count,)).tolist()

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index][:MAX_LENGTH], "label": self.labels[index]}


def collate(samples):
    ids = torch.zeros(len(samples), MAX_LENGTH, dtype=torch.long)
    for row, sample in enumerate(samples):
        ids[row, : len(sample["input_ids"])] = sample["input_ids"]
    labels = torch.tensor([sample["label"] for sample in samples])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": labels}


def main():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=2000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=MAX_LENGTH,
    )
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=16,
        max_steps=40,
        learning_rate=3e-4,
        logging_steps=20,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    model = BertForSequenceClassification(config)
    trainer = Trainer(model=model, args=arguments, train_dataset=Reviews(640), data_collator=collate)
    trainer.train()


if __name__ == "__main__":
    main()
