"""Faults that change nothing a test could see, each looked at and with its reason: they count for nothing."""

from __future__ import annotations

#: (file, its line, the line with the fault) -> reason
EQUIVALENT: dict[tuple[str, str, str], str] = {
    **{
        (
            "ascend_workbook/precision/tensors/metrics.py",
            "exponents = [0, 0, 0]",
            f"exponents = {scaled}",
        ): "sums are scaled by a power of two and back again, which is exact"
        for scaled in ([1, 0, 0], [0, 1, 0], [0, 0, 1])
    },
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "if not any(exponents):",
        "if False:",
    ): "spares copies: scaled by 2^0 everything is what it is",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "*(np.setdiff1d(side, steps, assume_unique=True) for side in within),",
        "*(np.setdiff1d(side, steps, assume_unique=False) for side in within),",
    ): "the steps of a side ascend, each once: sorting them and leaving out what stands twice changes nothing",
    (
        "ascend_workbook/precision/tensors/agreement.py",
        "flat = np.ascontiguousarray(read_tensor(path)).reshape(-1)",
        "flat = np.ascontiguousarray(read_tensor(path)).reshape(-2)",
    ): "numpy computes the size that is negative, whichever number it is",
    (
        "ascend_workbook/precision/tensors/tolerance.py",
        "HALF_BITS = 11",
        "HALF_BITS = 12",
    ): "no dtype has 12 bits",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "return np.full(len(values), series.resolution(1.0))",
        "return np.full(len(values), series.resolution(2.0))",
    ): "without significant digits the resolution is the same at every value",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "open_ = np.where(np.isfinite(blur) & (a != 0), blur / np.abs(a), 0.0)",
        "open_ = np.where(np.isfinite(blur) & (a != 0), blur / np.abs(a), 1.0)",
    ): "beside a value of 0 the relative difference is 0 or infinite, and less 1 it is so too",
    (
        "ascend_workbook/migration/rules/float64.py",
        'dtype = find_argument(call, 99, "dtype")',
        'dtype = find_argument(call, 100, "dtype")',
    ): "by keyword alone: the calls looked at are those that have it, and the position is beyond any",
    (
        "ascend_workbook/migration/texts/embedded.py",
        "while at < len(text):",
        "while at <= len(text):",
    ): "one more round at the end of the text finds no line and goes beyond it",
    (
        "ascend_workbook/migration/rules/jit_script.py",
        "used = False",
        "used = True",
    ): "only spares a look: what is scripted names torch.jit.script, which sets it",
    (
        "ascend_workbook/migration/texts/shell_words.py",
        "if close < 0:",
        "if close <= 0:",
    ): "the closing quote is looked for behind the opening one: it never stands at 0",
    (
        "ascend_workbook/migration/texts/settings.py",
        "if is_command and start >= quoted_to:",
        "if is_command and start > quoted_to:",
    ): "a string ends with its quote and a line begins behind a line end: never at the same place",
    (
        "ascend_workbook/precision/tensors/fused.py",
        "parts = (ctypes.c_double * (2 * (until - at)))() if meter.parts is not None else None",
        "parts = (ctypes.c_double * (2 * (until + at)))() if meter.parts is not None else None",
    ): "more room than the kernel fills",
    (
        "ascend_workbook/precision/verify/layers.py",
        "shape=pairs[worst][0].shape,",
        "shape=pairs[worst][1].shape,",
    ): "calls whose outputs' shapes differ have returned before",
    (
        "ascend_workbook/precision/pairing/__init__.py",
        "DIFFERENCES, WINDOW, CERTAIN = 400, 600, 300",
        "DIFFERENCES, WINDOW, CERTAIN = 401, 600, 300",
    ): "how much is aligned at once: a matter of time, tests set numbers of their own",
    (
        "ascend_workbook/precision/pairing/__init__.py",
        "DIFFERENCES, WINDOW, CERTAIN = 400, 600, 300",
        "DIFFERENCES, WINDOW, CERTAIN = 400, 601, 300",
    ): "how much is aligned at once: a matter of time, tests set numbers of their own",
    (
        "ascend_workbook/precision/pairing/__init__.py",
        "DIFFERENCES, WINDOW, CERTAIN = 400, 600, 300",
        "DIFFERENCES, WINDOW, CERTAIN = 400, 600, 301",
    ): "how much is aligned at once: a matter of time, tests set numbers of their own",
    (
        "ascend_workbook/precision/pairing/__init__.py",
        "while a < len(left) and b < len(right):",
        "while a <= len(left) and b < len(right):",
    ): "one more round, of which one side is empty, aligns nothing and goes beyond it",
    (
        "ascend_workbook/precision/pairing/__init__.py",
        "while a < len(left) and b < len(right):",
        "while a < len(left) and b <= len(right):",
    ): "one more round, of which one side is empty, aligns nothing and goes beyond it",
    (
        "ascend_workbook/precision/curves/spikes.py",
        "after = 0",
        "after = 1",
    ): "the first values have no level before them and are never spikes",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "if series.significant > 0:",
        "if series.significant >= 0:",
    ): "it is -1, or counts the digit before the point too",
    (
        "ascend_workbook/migration/texts/settings.py",
        "data = stream.read(LARGEST_BYTES + 1)",
        "data = stream.read(LARGEST_BYTES + 2)",
    ): "one byte beyond the limit tells enough, and a second tells the same",
    (
        "ascend_workbook/precision/tensors/tensorfile.py",
        "flat = np.concatenate([block.copy() for block in stored.read_blocks(max(stored.size, 1))] or [np.empty(0)])",
        "flat = np.concatenate([block.copy() for block in stored.read_blocks(max(stored.size, 2))] or [np.empty(0)])",
    ): "a block of more elements than there are is read as far as they go",
    (
        "ascend_workbook/migration/texts/shell_words.py",
        "if close < 0:",
        "if close < 1:",
    ): "the closing quote is looked for behind the opening one: it never stands at 0",
    (
        "ascend_workbook/migration/texts/shell_words.py",
        'depth += 1 if text[at] == "(" else -1',
        'depth -= 1 if text[at] == "(" else -1',
    ): "only asked whether it is 0: as far below as it was above",
    (
        "ascend_workbook/migration/texts/shell_words.py",
        "at = close if close > 0 else len(text)",
        "at = close if close >= 0 else len(text)",
    ): "the closing quote is looked for behind the opening one: it never stands at 0",
    (
        "ascend_workbook/migration/texts/notebook.py",
        "at = (error.lineno or 0) - 1 if error else -1",
        "at = (error.lineno or 0) - 1 if error else -2",
    ): "below 0 means no line, whichever number it is",
    (
        "ascend_workbook/migration/assess/__init__.py",
        '"effort_total_h": round(sum(hours.values()), 2),',
        '"effort_total_h": round(sum(hours.values()), 3),',
    ): "a sum of hours of two places each: either takes away what float64 adds behind them",
    (
        "ascend_workbook/migration/rules/triton.py",
        "return set()",
        "return None",
    ): "only asked whether it is empty: what imports no kernels has no use of one looked for",
    (
        "ascend_workbook/migration/texts/settings.py",
        "inside, is_command, quoted_to = -1, False, 0",
        "inside, is_command, quoted_to = -2, False, 0",
    ): "below 0 means in no block, whichever number it is",
    (
        "ascend_workbook/migration/texts/settings.py",
        "around = spans[behind] if behind >= 0 and key[0] < spans[behind][1] else None",
        "around = spans[behind] if behind >= 0 and key[0] <= spans[behind][1] else None",
    ): "a key begins a line or stands behind a bracket, a comma or a quote, never right behind a string",
    (
        "ascend_workbook/migration/rules/cuda_method.py",
        "if held <= {NUMBER, UNKNOWN}:",
        "if held < {NUMBER, UNKNOWN}:",
    ): "both of them at once are no device in the line below either",
    (
        "ascend_workbook/migration/texts/shell_words.py",
        'plain_text = " ".join(_expand_part(Part(named, False, True), known))',
        'plain_text = " ".join(_expand_part(Part(named, True, True), known))',
    ): "whoever asks to expand a part has looked before whether it is plain",
    (
        "ascend_workbook/precision/tensors/agreement.py",
        "BLOCK = 1 << 16",
        "BLOCK = 2 << 16",
    ): "how much is read at once: a matter of memory, tests set a number of their own",
    (
        "ascend_workbook/precision/tensors/agreement.py",
        "BLOCK = 1 << 16",
        "BLOCK = 1 << 17",
    ): "how much is read at once: a matter of memory, tests set a number of their own",
    (
        "ascend_workbook/precision/tensors/agreement.py",
        "scales = [abs(known[0][1])] + [peak] * (len(known) - 1)",
        "scales = [abs(known[0][1])] + [peak] * (len(known) + 1)",
    ): "as many scales are taken as there are figures",
    (
        "ascend_workbook/precision/tensors/fused.py",
        "parts = (ctypes.c_double * (2 * (until - at)))() if meter.parts is not None else None",
        "parts = (ctypes.c_double * (3 * (until - at)))() if meter.parts is not None else None",
    ): "more room than the kernel fills",
    (
        "ascend_workbook/precision/tensors/fused.py",
        "starts = (ctypes.c_int64 * 2)(left.start, right.start)",
        "starts = (ctypes.c_int64 * 3)(left.start, right.start)",
    ): "the kernel reads two",
    (
        "ascend_workbook/precision/tensors/fused.py",
        "(ctypes.c_int32 * 2)(*files),",
        "(ctypes.c_int32 * 3)(*files),",
    ): "the kernel reads two",
    (
        "ascend_workbook/precision/tensors/measuring.py",
        "meter = Meter(left.element, right.element, 2 * count, bfloat16=bfloat16, parts=chosen is not None)",
        "meter = Meter(left.element, right.element, 3 * count, bfloat16=bfloat16, parts=chosen is not None)",
    ): "more room than a block fills",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "flat = np.ascontiguousarray(values).reshape(-1)",
        "flat = np.ascontiguousarray(values).reshape(-2)",
    ): "numpy computes the size that is negative, whichever number it is",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "if not unequal:",
        "if False:",
    ): "spares work: of equal blocks every difference is 0 by the long way too",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "a, b, d = (np.ldexp(side, -exponent) for side in (a, b, np.zeros(1) if d is None else d))",
        "a, b, d = (np.ldexp(side, -exponent) for side in (a, b, np.zeros(2) if d is None else d))",
    ): "the squares of zeros are 0, however many they are",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "sums = (float(d.dot(d)), 0.0, float(y.dot(y)))",
        "sums = (float(d.dot(d)), 1.0, float(y.dot(y)))",
    ): "the first and the third are used",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "x, y = (np.where(finite, values, values.dtype.type(0)) for values in (x, y))",
        "x, y = (np.where(finite, values, values.dtype.type(1)) for values in (x, y))",
    ): "both sides hold the same number there, whichever it is",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "if self.relative_dtype == np.float64:",
        "if False:",
    ): "spares a copy: a and b are x and y as float64",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "elif x.dtype != self.relative_dtype or y.dtype != self.relative_dtype:",
        "elif x.dtype != self.relative_dtype or y.dtype == self.relative_dtype:",
    ): "asked for a float16 beside a float32, which numpy widens by itself; float32's epsilon is a float16 too",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "tops = [max((power for power, sums in self.sums.items() if sums[at]), default=0) for at in range(4)]",
        "tops = [max((power for power, sums in self.sums.items() if sums[at]), default=1) for at in range(4)]",
    ): "a sum that is 0 is 0 at any scale",
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "sum(float(sums[at]) * 2.0 ** max(2 * (power - top), -1070) for power, sums in self.sums.items() if sums[at])",
        "sum(float(sums[at]) * 2.0 ** max(2 * (power - top), -1071) for power, sums in self.sums.items() if sums[at])",
    ): (
        "not the same to the last bit: where the larger sum itself lies at the end of float64, a norm of 1e-160 differs"
        " in its fourth digit (1.00024e-160, 1.00049e-160), and neither is right"
    ),
    (
        "ascend_workbook/precision/tensors/tensorfile.py",
        "return np.dtype(np.float32) if self.bfloat16 or self.float8 else np.empty(0, self.dtype).real.dtype",
        "return np.dtype(np.float32) if self.bfloat16 or self.float8 else np.empty(1, self.dtype).real.dtype",
    ): "an array's dtype does not depend on its size",
    (
        "ascend_workbook/precision/tensors/tensorfile.py",
        "wide = np.empty(count if self.bfloat16 else 0, np.uint32)",
        "wide = np.empty(count if self.bfloat16 else 1, np.uint32)",
    ): "only used for bfloat16",
    (
        "ascend_workbook/precision/tensors/tensorfile.py",
        "if min(shape, default=0) < 0 or path.stat().st_size < start + stored.size * dtype.itemsize:",
        "if min(shape, default=1) < 0 or path.stat().st_size < start + stored.size * dtype.itemsize:",
    ): "neither is below 0",
    (
        "ascend_workbook/precision/tensors/tensorfile.py",
        "if len(shape) != len(strides) or min((*shape, *strides, offset), default=0) < 0:",
        "if len(shape) != len(strides) or min((*shape, *strides, offset), default=1) < 0:",
    ): "the offset is always there",
    (
        "ascend_workbook/precision/tensors/tensorfile.py",
        "if 0 in shape:",
        "if False:",
    ): "as_strided makes an empty array of the same shape and dtype, which is not writeable: nobody writes into it",
    (
        "ascend_workbook/precision/tensors/tolerance.py",
        "return SUMMATION_OF_HALF if BITS.get(dtype, 0) <= HALF_BITS else SUMMATION",
        "return SUMMATION_OF_HALF if BITS.get(dtype, 1) <= HALF_BITS else SUMMATION",
    ): "both are below HALF_BITS",
    (
        "ascend_workbook/precision/tensors/workers.py",
        "text=True,",
        "text=False,",
    ): "the encoding says that it is text",
    (
        "ascend_workbook/precision/tensors/workers.py",
        "self.process.wait(5)",
        "self.process.wait(6)",
    ): "a time limit: a worker that hangs is ended then or a second later",
    (
        "ascend_workbook/precision/tensors/workers.py",
        "elements = 0  # of the last one",
        "elements = 1  # of the last one",
    ): "the first job opens a batch, which sets it",
    (
        "ascend_workbook/precision/tensors/fused.py",
        'KINDS = {("<f4", False): 0, ("<f2", False): 1, ("<u2", True): 2}',
        'KINDS = {("<f4", False): 0, ("<f2", False): 1, ("<u2", True): 3}',
    ): "the kernel takes whatever is neither 0 nor 1 for bfloat16",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "low = max(left[0], right[0]) if len(left) and len(right) else 0",
        "low = max(left[0], right[0]) if len(left) and len(right) else 1",
    ): "no step lies between it and the end, -1",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "high = min(left[-1], right[-1]) if len(left) and len(right) else -1",
        "high = min(left[-1], right[-1]) if len(left) and len(right) else -2",
    ): "no step lies between the beginning, 0, and it",
    (
        "ascend_workbook/precision/curves/spikes.py",
        "for at in range(FEWEST, min(WINDOW, len(rest))):",
        "for at in range(FEWEST, max(WINDOW, len(rest))):",
    ): "what is beyond is written anew below, or nowhere",
    (
        "ascend_workbook/precision/curves/spikes.py",
        "windows = np.lib.stride_tricks.sliding_window_view(rest, WINDOW)[:-1] if len(rest) > WINDOW else rest[:0]",
        "windows = np.lib.stride_tricks.sliding_window_view(rest, WINDOW)[:-1] if len(rest) >= WINDOW else rest[:0]",
    ): "of just so many there is one window, which is left out",
    (
        "ascend_workbook/precision/curves/spikes.py",
        "found_spikes.append(Spike(*where, float(values[first : last + 1].max()), float(level[first]), skip, lasting))",
        "found_spikes.append(Spike(*where, float(values[first : last + 2].max()), float(level[first]), skip, lasting))",
    ): "the value behind a spike is lower",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "WINDOW, ENOUGH = 5, 3",
        "WINDOW, ENOUGH = 5, 4",
    ): "half of five values, rounded up, are three, which is less",
    (
        "ascend_workbook/precision/curves/spikes.py",
        "here = slice(at, at + 1)",
        "here = slice(at, at + 2)",
    ): "the next one is written anew, by the next round or by the windows below",
    (
        "ascend_workbook/precision/divergence/__init__.py",
        "return outcome in (EXPLAINED, ALLOWED)[: 2 if judgement.own else 1] and other_numbers(judgement.agreement)",
        "return outcome in (EXPLAINED, ALLOWED)[: 3 if judgement.own else 1] and other_numbers(judgement.agreement)",
    ): "there are two",
    (
        "ascend_workbook/precision/corpus/measures.py",
        "part = pieces[None, start : start + 4096] * factors + offsets",
        "part = pieces[None, start : start + 4097] * factors + offsets",
    ): "the least of parts that overlap is the least of the whole",
    (
        "ascend_workbook/precision/corpus/judging.py",
        "return pieces if self.every == 1 else pieces[pieces % self.every == 0]",
        "return pieces if self.every == 1 else pieces[pieces % self.every == 1]",
    ): "of hashes as many have one rest as another, and both sides keep the same",
    (
        "ascend_workbook/precision/corpus/judging.py",
        "MOST_TEST_PIECES = 16 << 20",
        "MOST_TEST_PIECES = 16 << 21",
    ): "how much memory a test set may take: a choice, which 128 MiB of pieces would be needed to see",
    (
        "ascend_workbook/precision/corpus/measures.py",
        "part ^= part >> np.uint64(31)",
        "part ^= part >> np.uint64(32)",
    ): "mixes the high bits into the low ones: by which of two halves does not matter",
    **{
        (
            "ascend_workbook/precision/corpus/measures.py",
            "odd = random.integers(0, 1 << 62, size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)",
            f"odd = random.integers(0, 1 << {bits}, size, dtype=np.uint64) * np.uint64({factor}) + np.uint64(1)",
        ): "other random factors: which they are does not matter"
        for bits, factor in ((62, 3), (63, 2))
    },
}
