"""A transformers Trainer on a tiny GPT-2 made from scratch."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=32, n_positions=8))
data = [{"input_ids": torch.arange(8) + i % 8, "labels": torch.arange(8) + i % 8} for i in range(64)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        max_steps=5,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    print("DEVICE", arguments.device)
    Trainer(model, arguments, train_dataset=data).train()
