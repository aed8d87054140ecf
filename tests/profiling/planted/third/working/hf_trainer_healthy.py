"""Pre-train a tiny GPT-2 configuration with the Trainer of transformers."""
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Blocks(Dataset):
    def __init__(self, count, length=64, vocabulary=3000):
        self.ids = torch.randint(0, vocabulary, (count, length), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


def main():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=3000, n_positions=64, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=8,
        max_steps=40,
        learning_rate=5e-4,
        logging_steps=20,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Blocks(320))
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
