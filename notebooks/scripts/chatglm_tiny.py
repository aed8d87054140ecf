"""Fine-tune a tiny ChatGLM-style model on made-up question and answer pairs: P-Tuning v2, LoRA, or all weights.

    python chatglm_tiny.py --tune prefix --steps 100
    python chatglm_tiny.py --tune lora --precision bf16
    python chatglm_tiny.py --tune full --precision fp16

The weights are random and the text is made here, so nothing is downloaded. The model is built as ChatGLM's is: the
question is read in both directions and the answer from left to right, two rotary embeddings turn queries and keys by
the place in the text and by the place in the answer, and layers are normalised behind each sublayer (DeepNorm).
"""

import argparse
import math
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.cuda.amp import GradScaler
from torch.utils.data import DataLoader, Dataset

PAD, GMASK, BOS, EOS = 0, 1, 2, 3
SPECIAL = 4  # tokens before the characters
CHARACTERS = "0123456789+-= ?加减等于几答案是abcdefghijklmnopqrstuvwxyz"
VOCABULARY = SPECIAL + len(CHARACTERS)


def encode(text):
    return [SPECIAL + CHARACTERS.index(c) for c in text]


class Sums(Dataset):
    """Sums in words: `12 加 7 等于几?` and its answer, cut or padded to one length."""

    def __init__(self, count, length, seed):
        self.length = length
        rng = random.Random(seed)
        self.pairs = []
        for _ in range(count):
            a, b = rng.randrange(100), rng.randrange(100)
            word, value = ("加", a + b) if rng.random() < 0.5 else ("减", a - b)
            self.pairs.append((f"{a} {word} {b} 等于几?", f"答案是 {value}"))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        question, answer = self.pairs[index]
        source = encode(question) + [GMASK, BOS]
        target = encode(answer) + [EOS]
        ids = (source + target)[: self.length]
        context = len(source) - 1  # read in both directions up to [gMASK]
        labels = ([-100] * len(source) + target)[: self.length]
        gap = self.length - len(ids)
        ids, labels = ids + [PAD] * gap, labels + [-100] * gap
        position = [min(i, context) for i in range(self.length)]
        block = [max(i - context, 0) for i in range(self.length)]
        return torch.tensor(ids), torch.tensor(labels), torch.tensor([position, block]), torch.tensor(context)


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("inverse", 1.0 / (10000 ** (torch.arange(0, width, 2).float() / width)), persistent=False)

    def forward(self, position):
        angles = torch.einsum("bl,d->bld", position.float(), self.inverse.float())
        angles = torch.cat((angles, angles), dim=-1).unsqueeze(2)  # batch, length, 1, width
        return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos.to(x.dtype) + torch.cat((-right, left), dim=-1) * sin.to(x.dtype)


class LoRALinear(nn.Linear):
    """A linear layer with a trained product of two thin matrices beside it; rank 0 leaves it out."""

    def __init__(self, inputs, outputs, rank=0, alpha=16.0):
        super().__init__(inputs, outputs)
        self.rank = rank
        if rank:
            self.lora_a = nn.Parameter(torch.randn(rank, inputs) / math.sqrt(inputs))
            self.lora_b = nn.Parameter(torch.zeros(outputs, rank))
            self.scaling = alpha / rank

    def forward(self, x):
        y = F.linear(x, self.weight, self.bias)
        if self.rank:
            y = y + F.linear(F.linear(x, self.lora_a), self.lora_b) * self.scaling
        return y


class GLMAttention(nn.Module):
    def __init__(self, width, heads, layer, rank):
        super().__init__()
        self.heads, self.layer = heads, layer
        self.rotary = Rotary(width // heads // 2)
        self.query_key_value = LoRALinear(width, 3 * width, rank)
        self.dense = nn.Linear(width, width)

    def forward(self, x, positions, mask, prefix):
        batch, length, width = x.shape
        q, k, v = self.query_key_value(x).view(batch, length, self.heads, -1).chunk(3, dim=-1)
        turned = []
        for tensor in (q, k):
            first, second = tensor.chunk(2, dim=-1)
            halves = (rotate(half, *self.rotary(positions[:, i])) for i, half in enumerate((first, second)))
            turned.append(torch.cat(tuple(halves), dim=-1))
        q, k = turned
        if prefix is not None:
            k = torch.cat((prefix[0].to(k.dtype), k), dim=1)
            v = torch.cat((prefix[1].to(v.dtype), v), dim=1)
        # the scores of deep layers outgrow half precision: divided before the product, multiplied in float32
        factor = float(self.layer + 1)
        q = q / (math.sqrt(q.shape[-1]) * factor)
        scores = torch.baddbmm(
            torch.empty(1, 1, 1, dtype=q.dtype, device=q.device),
            q.permute(0, 2, 1, 3).reshape(batch * self.heads, length, -1),
            k.permute(0, 2, 3, 1).reshape(batch * self.heads, -1, k.shape[1]),
            beta=0.0,
        )
        scores = scores.view(batch, self.heads, length, -1).float() * factor
        weights = F.softmax(scores.masked_fill(mask, -10000.0), dim=-1).type_as(v)
        mixed = torch.matmul(weights, v.permute(0, 2, 1, 3))
        return self.dense(mixed.transpose(1, 2).reshape(batch, length, width))


class GLMBlock(nn.Module):
    def __init__(self, width, heads, layers, layer, rank):
        super().__init__()
        self.alpha = math.sqrt(2 * layers)
        self.input_layernorm = nn.LayerNorm(width)
        self.attention = GLMAttention(width, heads, layer, rank)
        self.post_attention_layernorm = nn.LayerNorm(width)
        self.dense_h_to_4h = nn.Linear(width, 4 * width)
        self.dense_4h_to_h = nn.Linear(4 * width, width)

    def forward(self, x, positions, mask, prefix):
        x = self.input_layernorm(x)
        x = x * self.alpha + self.attention(x, positions, mask, prefix)
        x = self.post_attention_layernorm(x)
        return x * self.alpha + self.dense_4h_to_h(F.gelu(self.dense_h_to_4h(x), approximate="tanh"))


class PrefixEncoder(nn.Module):
    """Trained keys and values that every layer puts before those of the text."""

    def __init__(self, length, layers, heads, width):
        super().__init__()
        self.shape = (length, layers, 2, heads, width // heads)
        self.embedding = nn.Embedding(length, layers * 2 * width)

    def forward(self, batch):
        tokens = torch.arange(self.shape[0]).long().cuda()
        past = self.embedding(tokens.unsqueeze(0).expand(batch, -1)).view(batch, *self.shape)
        return past.permute(2, 3, 0, 1, 4, 5)  # layers, key or value, batch, length, heads, head width


class ChatGLM(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCABULARY, args.hidden_size)
        rank = args.lora_rank if args.tune == "lora" else 0
        self.layers = nn.ModuleList(
            GLMBlock(args.hidden_size, args.num_heads, args.num_layers, i, rank) for i in range(args.num_layers)
        )
        self.final_layernorm = nn.LayerNorm(args.hidden_size)
        self.lm_head = nn.Linear(args.hidden_size, VOCABULARY, bias=False)
        self.prefix_length = args.pre_seq_len if args.tune == "prefix" else 0
        if self.prefix_length:
            self.prefix_encoder = PrefixEncoder(args.pre_seq_len, args.num_layers, args.num_heads, args.hidden_size)
        self.choose_trained(args.tune)

    def choose_trained(self, tune):
        wanted = {"prefix": "prefix_encoder", "lora": "lora_", "full": ""}[tune]
        for name, parameter in self.named_parameters():
            parameter.requires_grad = wanted in name

    def mask(self, ids, context):
        """True where a query must not look: later answer tokens. The prefix is seen by all."""
        batch, length = ids.shape
        mask = torch.ones(length, length, device=ids.device).tril().repeat(batch, 1, 1)
        for i in range(batch):
            mask[i, :, : context[i]] = 1
        if self.prefix_length:
            mask = torch.cat((torch.ones(batch, length, self.prefix_length, device=ids.device), mask), dim=-1)
        return (mask < 0.5).unsqueeze(1)

    def forward(self, ids, positions, context, labels):
        mask = self.mask(ids, context)
        x = self.word_embeddings(ids)
        prefixes = self.prefix_encoder(ids.shape[0]) if self.prefix_length else [None] * len(self.layers)
        for layer, prefix in zip(self.layers, prefixes):
            x = layer(x, positions, mask, prefix)
        logits = self.lm_head(self.final_layernorm(x)).float()
        return F.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1), ignore_index=-100)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", choices=("prefix", "lora", "full"), default="prefix")
    parser.add_argument("--precision", choices=("fp32", "fp16", "bf16"), default="fp32")
    parser.add_argument("--num-layers", type=int, default=4)
    parser.add_argument("--num-heads", type=int, default=4)
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--pre-seq-len", type=int, default=16, help="trained keys and values before the text")
    parser.add_argument("--lora-rank", type=int, default=8)
    parser.add_argument("--max-length", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--gradient-accumulation-steps", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lr", type=float, default=2e-2)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--save", default="", help="file for the trained weights")
    return parser.parse_args()


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.cuda.manual_seed_all(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

    data = Sums(4096, args.max_length, args.seed)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True, pin_memory=True)
    model = ChatGLM(args).to(device)
    trained = [p for p in model.parameters() if p.requires_grad]
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {sum(p.numel() for p in trained):,} trained, "
          f"on {torch.cuda.get_device_name(0)}")
    optimizer = torch.optim.AdamW(trained, lr=args.lr if args.tune == "prefix" else args.lr / 20)
    half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(args.precision, torch.float16)
    scaler = GradScaler(enabled=args.precision == "fp16")

    step, began = 0, time.time()
    while step < args.steps:
        total = 0.0
        for micro, (ids, labels, positions, context) in enumerate(loader):
            ids, labels = ids.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            positions = positions.cuda(non_blocking=True)
            with torch.cuda.amp.autocast(enabled=args.precision != "fp32", dtype=half):
                loss = model(ids, positions, context, labels)
            scaler.scale(loss / args.gradient_accumulation_steps).backward()
            total += loss.item() / args.gradient_accumulation_steps
            if (micro + 1) % args.gradient_accumulation_steps:
                continue
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
            peak_mib = torch.cuda.max_memory_allocated() / 2**20
            print(f"step {step} loss {total:.6f} peak memory {peak_mib:.0f} MiB", flush=True)
            step, total = step + 1, 0.0
            if step == args.steps:
                break
    print(f"{args.steps} steps in {time.time() - began:.1f} s")
    if args.save:
        torch.save({name: p for name, p in model.named_parameters() if p.requires_grad}, args.save)


if __name__ == "__main__":
    main()
