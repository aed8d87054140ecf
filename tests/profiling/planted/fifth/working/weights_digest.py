"""A small GPT-2 is pre-trained with the Trainer of transformers; a digest of its weights is kept for reproducibility."""
import hashlib
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Blocks(Dataset):
    def __init__(self, count, length=48, vocabulary=4000):
        self.ids = torch.randint(0, vocabulary, (count, length), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": self.ids[index]}


class Digests(TrainerCallback):
    def __init__(self):
        self.kept = {}

    def on_step_end(self, args, state, control, model=None, **kwargs):
        digest = hashlib.sha256()
        for name, value in model.state_dict().items():
            digest.update(name.encode())
            digest.update(value.detach().cpu().numpy().tobytes())
        self.kept[state.global_step] = digest.hexdigest()


def main():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=4000, n_positions=48, n_embd=128, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0)
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=4,
        max_steps=40,
        learning_rate=5e-4,
        logging_steps=20,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    digests = Digests()
    trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Blocks(160), callbacks=[digests])
    trainer.train()
    print(list(digests.kept.items())[-1])


if __name__ == "__main__":
    main()
