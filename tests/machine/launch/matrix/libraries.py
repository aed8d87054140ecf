"""Idioms of libraries that are installed here: accelerate and transformers."""

import os
import tempfile

import torch
from telling import DEVICE, mlp, on_gpu, seed, tell, train
from torch.utils.data import DataLoader, TensorDataset

os.environ["HF_HUB_OFFLINE"] = "1"


def _accelerated(dropout=0.0, **options):
    from accelerate import Accelerator

    seed(71)
    accelerator = Accelerator(**options)
    model = mlp(dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(torch.randn(24, 16)), batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for (batch,) in loader:
        with accelerator.accumulate(model), on_gpu():
            loss = model(batch).float().pow(2).mean()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        tell(loss, accelerator.unwrap_model(model), more=batch)


def accelerated():
    _accelerated()


def accelerated_with_dropout():
    _accelerated(0.3)


def accelerated_in_parts():
    _accelerated(gradient_accumulation_steps=2)


def _bert(dropout, **options):
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, max_position_embeddings=32, **options,
    )  # fmt: skip
    return BertForSequenceClassification(config)


def _fine_tune(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        words = torch.randint(0, 50, (4, 8)).to(DEVICE)
        labels = (words[:, 0] % 2).to(DEVICE)
        with on_gpu():
            loss = model(input_ids=words, attention_mask=torch.ones_like(words), labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        tell(loss, model)


def bert():
    seed(72)
    _fine_tune(_bert(0.0).to(DEVICE).train())


def bert_with_dropout():
    seed(72)
    _fine_tune(_bert(0.1).to(DEVICE).train())


def bert_checkpointed():
    from telling import TOLD

    seed(72)
    model = _bert(0.1).to(DEVICE).train()
    if not TOLD:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    _fine_tune(model)


def gpt2_with_dropout():
    from transformers import GPT2Config, GPT2LMHeadModel

    seed(73)
    config = GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=2, n_positions=32)
    model = GPT2LMHeadModel(config).to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        words = torch.randint(0, 50, (4, 8)).to(DEVICE)
        with on_gpu():
            loss = model(input_ids=words, labels=words).loss
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        tell(loss, model)


def trainer():
    """transformers.Trainer with its own loaders, seeds and device choice."""
    from transformers import Trainer, TrainingArguments

    seed(74)
    model = _bert(0.0)
    rows = [{"input_ids": torch.arange(8) + n, "labels": torch.tensor(n % 2)} for n in range(16)]
    with tempfile.TemporaryDirectory() as out:
        arguments = TrainingArguments(
            out, max_steps=3, per_device_train_batch_size=4, report_to=[], save_strategy="no", disable_tqdm=True,
            logging_steps=1, seed=3, dataloader_pin_memory=False,
        )  # fmt: skip
        whole = Trainer(model, arguments, train_dataset=rows)
        whole.train()
    losses = [row["loss"] for row in whole.state.log_history if "loss" in row]
    tell(losses, model)


def hidden_layers():
    """A small network trained last, so that the loop itself is told after an import of both libraries."""
    import accelerate  # noqa: F401
    import transformers  # noqa: F401

    seed(75)
    train(mlp().to(DEVICE))
