# Solutions of the capstone, for teachers and tests: the piece of each stage stands in place of the notebook's stub.
# A student's package does not hold this file.

# %% environment
def where():
    return {"device": "npu-simulated", "dtype": "bfloat16"}


# %% migration
def script_changes():
    capability = """    major, _ = torch.cuda.get_device_capability(card)
    return torch.bfloat16 if major >= 8 else torch.float16"""
    return [
        (capability, "    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16"),
        ('if "cuda" in str(tensor.device) else', 'if tensor.device.type != "cpu" else'),
    ]


# %% precision
def experiment():
    return {"arguments": ["--seed", "0", "--precision", "fp32"], "dump_steps": [0, 1, 2], "aligned": True}


# %% profiling
def loop_changes():
    taken = """        counts = self.raw[index]
        values = [(value / 255) ** 0.5 for value in counts]
        mean = sum(values) / len(values)
        smooth = [sum(values[max(0, at - 8) : at + 9]) / len(values[max(0, at - 8) : at + 9]) for at in range(LENGTH)]
        return torch.tensor([value - mean for value in smooth]).unsqueeze(0), self.labels[index]"""
    kept = """        self.raw = [bytes(spectrum.tolist()) for spectrum in lines]"""
    once = """        values = (lines.float().unsqueeze(1) / 255) ** 0.5
        smooth = F.avg_pool1d(values, 17, stride=1, padding=8, count_include_pad=False)
        self.raw = smooth - values.mean(dim=2, keepdim=True)"""
    return [
        (taken, "        return self.raw[index], self.labels[index]"),
        (kept, once),
        ("seen = watch(model)", "seen = watch(model) if step % 100 == 0 else {}"),
        ("max(seen.values())", "max(seen.values(), default=0.0)"),
    ]
