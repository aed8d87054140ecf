"""Attention of one batch entry, forward and backward, and how batches lie in the layouts.

Formula: npu_fusion_attention.md: dropout(softmax(mask(scale * (q k^T + pse)))) v; a sink adds exp(sink - max) to the
sum.

Which scores of attention are masked, by sparse_mode. Source: npu_fusion_attention.md, parameter sparse_mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .numeric import as_wide

LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")


@dataclass(frozen=True)
class Entry:
    """One batch entry: q (N, Sq, D), k and v (N, Skv, D) in float32 or wider, heads of k and v repeated."""

    query: Tensor
    key: Tensor
    value: Tensor
    hidden: Tensor | None
    scale: float
    pse: Tensor | None = None
    sink: Tensor | None = None
    kept: Tensor | None = None  # (N, Sq, Skv)
    keep_prob: float = 1.0
    add_first: bool = False  # pse before the scale (pse_type 1) or after it (0)
    zero_rows: bool = False

    def compute_scores(self) -> Tensor:
        scores = self.query @ self.key.transpose(-1, -2)
        if self.pse is not None and self.add_first:
            scores = scores + self.pse
        scores = scores * self.scale
        if self.pse is not None and not self.add_first:
            scores = scores + self.pse
        return scores if self.hidden is None else scores.masked_fill(self.hidden, torch.finfo(scores.dtype).min)

    def compute_statistics(self) -> tuple[Tensor, Tensor]:
        """Return (max, sum of exp(score - max)), each (N, Sq)."""
        scores = self.compute_scores()
        largest = scores.amax(-1) if scores.shape[-1] else scores.new_zeros(scores.shape[:-1])
        if self.sink is not None:
            largest = torch.maximum(largest, self.sink[:, None])
        total = (scores - largest[..., None]).exp().sum(-1)
        if self.sink is not None:
            total = total + (self.sink[:, None] - largest).exp()
        return largest, total

    def compute_probabilities(self, largest: Tensor, total: Tensor) -> Tensor:
        probabilities = (self.compute_scores() - largest[..., None]).exp() / total[..., None]
        if self.zero_rows and self.hidden is not None:
            probabilities = probabilities.masked_fill(self.hidden.all(-1, keepdim=True), 0.0)
        return probabilities

    def apply_dropout(self, probabilities: Tensor) -> Tensor:
        return probabilities if self.kept is None else probabilities * self.kept / self.keep_prob

    def attend_forward(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return (out, max, sum)."""
        largest, total = self.compute_statistics()
        return self.apply_dropout(self.compute_probabilities(largest, total)) @ self.value, largest, total

    def attend_backward(self, grad: Tensor, out: Tensor, largest: Tensor, total: Tensor) -> dict[str, Tensor]:
        """Return gradients of query, key, value (heads still repeated), pse and sink from the forward's results."""
        probabilities = self.compute_probabilities(largest, total)
        delta = (grad * out).sum(-1, keepdim=True)
        dscores = probabilities * (self.apply_dropout(grad @ self.value.transpose(-1, -2)) - delta)
        inner = dscores * self.scale
        gradients = {
            "query": inner @ self.key,
            "key": inner.transpose(-1, -2) @ self.query,
            "value": self.apply_dropout(probabilities).transpose(-1, -2) @ grad,
            "pse": inner if self.add_first else dscores,
        }
        if self.sink is not None:
            gradients["sink"] = -((self.sink[:, None] - largest).exp() / total * delta[..., 0]).sum(-1)
        return gradients


def to_entries(tensor: Tensor, layout: str, heads: int, lengths: Sequence[int]) -> list[Tensor]:
    """Return per batch entry a tensor (heads, S, D). `lengths` are the lengths of TND's entries."""
    if layout == "TND":
        used = list(as_wide(tensor)[: sum(lengths)].split(list(lengths)))
        return [part.transpose(0, 1) for part in used]
    if layout in ("BSH", "SBH"):
        tensor = tensor.unflatten(-1, (heads, -1))
        layout = "BSND" if layout == "BSH" else "SBND"
    order = {"BSND": (0, 2, 1, 3), "SBND": (1, 2, 0, 3), "BNSD": (0, 1, 2, 3)}[layout]
    return list(as_wide(tensor).permute(order).unbind(0))


def from_entries(entries: Sequence[Tensor], layout: str, like: Tensor) -> Tensor:
    """Reverse to_entries, in the dtype of `like`; TND's tokens beyond the last entry are zero."""
    if layout == "TND":
        parts = torch.cat([part.transpose(0, 1) for part in entries])
        rest = parts.new_zeros(like.shape[0] - parts.shape[0], *parts.shape[1:])
        return torch.cat([parts, rest]).to(like.dtype)
    whole = torch.stack(list(entries))
    if layout in ("BSH", "SBH"):
        return whole.permute((0, 2, 1, 3) if layout == "BSH" else (2, 0, 1, 3)).flatten(2).to(like.dtype)
    return (whole.permute(0, 2, 1, 3) if layout == "BSND" else whole).to(like.dtype).contiguous()


def repeat_heads(entry: Tensor, heads: int) -> Tensor:
    """Return keys or values of grouped heads, once per query head."""
    return entry.repeat_interleave(heads // entry.shape[0], 0)


def sum_heads(entry: Tensor, heads: int) -> Tensor:
    """Return the gradient of `repeat_heads`."""
    return entry.unflatten(0, (heads, -1)).sum(1)


def lengths_of(cumulative: Sequence[int] | None) -> list[int]:
    """Return lengths from cumulative lengths; zeros at the end name entries that take no part."""
    ends = list(cumulative or ())
    while len(ends) > 1 and ends[-1] == 0:
        ends.pop()
    return [end - start for start, end in zip([0, *ends[:-1]], ends)]


COMPRESSED = {2: (2048, 2048), 3: (2048, 2048), 4: (2048, 2048), 6: (3072, 2048), 7: (2048, 2048), 8: (2048, 2048)}


@dataclass(frozen=True)
class Masking:
    """How scores are masked; True in `mask` hides. Without a mask nothing is hidden, whatever the mode."""

    mode: int
    mask: Tensor | None
    pre_tokens: int
    next_tokens: int
    prefix: list[int]

    def check_mode(self) -> None:
        expected = COMPRESSED.get(self.mode)
        if self.mask is not None and expected and tuple(self.mask.shape[-2:]) != expected:
            raise RuntimeError(
                f"sparse_mode {self.mode} takes a compressed atten_mask of shape {list(expected)}, "
                f"but got {list(self.mask.shape)}"
            )

    def hidden_scores(self, batch: int, batches: int, rows: int, columns: int, device: torch.device) -> Tensor | None:
        """Return a bool tensor that broadcasts to (N, rows, columns), for one batch entry."""
        if self.mask is None:
            return None
        i = torch.arange(rows, device=device)[:, None]
        j = torch.arange(columns, device=device)[None, :]
        corner = columns - rows
        if self.mode in (0, 1, 5):
            mask_rows = self._mask_part(batch, rows, columns)
            return mask_rows | self._outside_band(i, j, 0) if self.mode == 0 else mask_rows
        if self.mode == 4 or (self.mode == 7 and batch == batches - 1) or (self.mode == 8 and batch == 0):
            return self._outside_band(i, j, corner)
        if self.mode in (2, 8):
            return j > i
        causal = j > i + corner
        return causal & (j >= self.prefix[batch]) if self.mode == 6 else causal

    def _outside_band(self, i: Tensor, j: Tensor, corner: int) -> Tensor:
        return (j > i + corner + self.next_tokens) | (j < i + corner - self.pre_tokens)

    def _mask_part(self, batch: int, rows: int, columns: int) -> Tensor:
        assert self.mask is not None
        mask = self.mask.bool()
        if mask.dim() == 4:
            mask = mask[batch if mask.shape[0] > 1 else 0]
        mask = mask[..., :rows, :columns]
        if mask.shape[-2:] != (rows, columns):
            shape = list(self.mask.shape)
            raise RuntimeError(f"atten_mask of shape {shape} is smaller than the scores {rows}x{columns}")
        return mask

    def zero_rows(self, rows: int, columns: int, inner_precise: int) -> bool:
        """Whether a row with every score hidden gives zero; else it gives the mean of the values."""
        return inner_precise == 2 or (self.mode == 3 and rows > columns)
