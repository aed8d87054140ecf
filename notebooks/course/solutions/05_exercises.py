# Solutions of the exercises, for teachers and tests: the piece of each task stands in place of the notebook's stub.
# A student's package does not hold this file.

# %% env
def pair():
    torch = machine.python.packages["torch"]
    fits = {"2.8.0": "2.8.0.post2", "2.7.1": "2.7.1.post2", "2.6.0": "2.6.0.post5"}
    command = f"pip install --no-deps torch_npu=={fits[torch]}"
    return {"torch": torch, "torch_npu": fits[torch], "command": command}


# %% script
def script_changes():
    capability = """    major, _ = torch.cuda.get_device_capability(card)
    return BATCH if major >= 7 else BATCH // 4"""
    return [
        (capability, "    return BATCH"),
        ('logits.device.type == "cuda"', 'logits.device.type != "cpu"'),
        ('if "cuda" in str(one.device)', 'if one.device.type != "cpu"'),
        ('"CUDA out of memory" not in', '"out of memory" not in'),
    ]


# %% fault
def culprit():
    from helpers import compare

    found = compare(baseline, target, replaying=False)
    first = found.headline.args
    return {"operator": found.facts["first_divergence"], "step": first["step"] + 1, "rank": first["rank"]}


# %% loop
def loop_changes():
    counting = """    counts = [0.0] * len(vocabulary)
    for word in text.split():
        counts[vocabulary.index(word)] += 1.0
    return counts"""
    looked_up = "torch.tensor([vocabulary[word] for word in text.split()])"
    return [
        (counting, f"    return torch.bincount({looked_up}, minlength=WORDS).float()"),
        (
            "torch.tensor([encode(text, vocabulary) for text, _ in batch])",
            "torch.stack([encode(text, places) for text, _ in batch])",
        ),
        (
            "    model = nn.Seq",
            "    places = {word: place for place, word in enumerate(vocabulary)}\n    model = nn.Seq",
        ),
        ("max(abs(one) for one in p.grad.flatten().tolist())", "p.grad.abs().max().item()"),
    ]


# %% ranks
def ranks_changes():
    alone = """        if rank == 0:
            mean = loss.detach().clone()
            if world > 1:
                dist.all_reduce(mean)
"""
    together = """        mean = loss.detach().clone()
        if world > 1:
            dist.all_reduce(mean)
        if rank == 0:
"""
    sampler = "torch.utils.data.DistributedSampler(samples, world, rank, shuffle=False)"
    return [
        ('"gloo", init_method="tcp://127.0.0.1:29555", rank=rank, world_size=world', '"nccl"'),
        ("manual_seed(seed + rank)", "manual_seed(seed)"),
        ("batch_size=BATCH // world, shuffle=False", f"batch_size=BATCH // world, sampler={sampler}"),
        (alone, together),
    ]


# %% half
def half_changes():
    return [
        (".cuda().half()\n    optimizer", ".cuda()\n    scaler = torch.cuda.amp.GradScaler()\n    optimizer"),
        (
            ".cuda().half()\n        logits = model(images)",
            ".cuda()\n        with torch.autocast('cuda', torch.float16):\n            logits = model(images)",
        ),
        (
            "(SHARE * loss).backward()\n        optimizer.step()",
            "scaler.scale(SHARE * loss).backward()\n        scaler.step(optimizer)\n        scaler.update()",
        ),
    ]
