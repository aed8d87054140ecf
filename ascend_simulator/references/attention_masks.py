"""Which scores of attention are masked, by sparse_mode. Source: npu_fusion_attention.md, parameter sparse_mode."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

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
