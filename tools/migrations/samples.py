"""Writes tiny samples of data, in the formats that repositories' READMEs document, to where their arguments point.

Every value is drawn by a seed: nothing is fetched. What the rehearsals' samples have already is taken from there."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tools.rehearsals.packed import SEED, WORDS, pack_scene, write_classes, write_coco, write_hours, write_picture

#: Writes what a repository needs: its clone and its own folder of data.
Pack = Callable[[Path, Path], None]


def write_pictures(root: Path, data: Path) -> None:
    """Write train/CLASS/NUMBER.jpg and val/... of four classes."""
    write_classes(data, ("train", "val"), 4, 6, 96, 80)


def write_texts(root: Path, data: Path) -> None:
    """Write train.txt, valid.txt and test.txt of words."""
    random = np.random.default_rng(SEED)
    data.mkdir(parents=True, exist_ok=True)
    for name in ("train", "valid", "test"):
        lines = (" ".join(random.choice(WORDS, 12)) for _ in range(400))
        (data / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_series(root: Path, data: Path) -> None:
    """Write ETTh1.csv."""
    write_hours(data / "ETTh1.csv")


def write_things(root: Path, data: Path) -> None:
    """Write COCO's folders, for older programs with pictures in images/ too."""
    write_coco(data, 6)
    (data / "images").mkdir(exist_ok=True)
    for name in ("train2017", "val2017"):
        (data / "images" / name).symlink_to(data / name)


def write_small_ddim(root: Path, data: Path) -> None:
    """Write a configuration like cifar10.yml of less channels, pictures and workers."""
    text = (root / "configs/cifar10.yml").read_text(encoding="utf-8")
    smaller = {"ch: 128": "ch: 32", "batch_size: 128": "batch_size: 2", "num_workers: 4": "num_workers: 0"}
    for old, new in smaller.items():
        assert old in text
        text = text.replace(old, new)
    (root / "configs/small.yml").write_text(text, encoding="utf-8")


def write_preferences(root: Path, data: Path) -> None:
    """Write chosen and rejected conversations, a JSON object a line."""
    random = np.random.default_rng(SEED)

    def talk() -> list[dict[str, str]]:
        question, answer = (" ".join(random.choice(WORDS, 10)) for _ in range(2))
        return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]

    rows = ({"chosen": talk(), "rejected": talk()} for _ in range(16))
    data.mkdir(parents=True, exist_ok=True)
    (data / "dpo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_stories(root: Path, data: Path) -> None:
    """Write tokens of stories, two files of 16 bits a token."""
    random = np.random.default_rng(SEED)
    folder = root / "data/TinyStories_all_data"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("data00", "data01"):
        (folder / f"{name}.bin").write_bytes(random.integers(3, 32000, 4000).astype("<u2").tobytes())


def write_completions(root: Path, data: Path) -> None:
    """Write tokens of contexts and completions, a JSON object a line."""
    random = np.random.default_rng(SEED)
    data.mkdir(parents=True, exist_ok=True)
    for name in ("train", "valid"):
        rows = [
            {"context": random.integers(0, 50000, 20).tolist(), "completion": random.integers(0, 50000, 10).tolist()}
            for _ in range(16)
        ]
        (data / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_shapes(root: Path, data: Path) -> None:
    """Write ModelNet10's layout: a text of points and normals a shape."""
    random = np.random.default_rng(SEED)
    folder = root / "data/modelnet40_normal_resampled"
    folder.mkdir(parents=True, exist_ok=True)
    names = ("chair", "desk", "bed")
    (folder / "modelnet10_shape_names.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    for split, numbers in (("train", range(1, 5)), ("test", range(5, 7))):
        listed = [f"{name}_{number:04}" for name in names for number in numbers]
        (folder / f"modelnet10_{split}.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
        for name in listed:
            (folder / name[:-5]).mkdir(exist_ok=True)
            np.savetxt(folder / name[:-5] / f"{name}.txt", random.normal(size=(64, 6)), delimiter=",", fmt="%.4f")


def write_chairs(root: Path, data: Path) -> None:
    """Write FlyingChairs' layout: pairs of pictures and the flow from one to the other."""
    random = np.random.default_rng(SEED)
    folder = root / "datasets/FlyingChairs_release/data"
    width, height = 320, 240
    for number in range(1, 7):
        for side in (1, 2):
            write_picture(folder / f"{number:05}_img{side}.ppm", width, height, random)
        flow = random.normal(size=(height, width, 2)).astype("<f4").tobytes()
        header = struct.pack("<fii", 202021.25, width, height)
        (folder / f"{number:05}_flow.flo").write_bytes(header + flow)


def write_scene(root: Path, data: Path) -> None:
    """Write a scene of Blender's layout into the folder of data."""
    pack_scene(root)
    source = root / "cache/nerf_synthetic/lego"
    data.parent.mkdir(parents=True, exist_ok=True)
    if not data.exists():
        source.rename(data)


PACKS: dict[str, Pack] = {
    **dict.fromkeys(
        (
            *("facebookresearch/barlowtwins", "facebookresearch/dino", "facebookresearch/vicreg"),
            *("lukemelas/EfficientNet-PyTorch", "martinarjovsky/WassersteinGAN", "microsoft/Swin-Transformer"),
            *("openai/guided-diffusion", "openai/improved-diffusion", "rosinality/glow-pytorch"),
            *("rosinality/vq-vae-2-pytorch", "tczhangzhi/pytorch-distributed"),
        ),
        write_pictures,
    ),
    **dict.fromkeys(("kimiyoung/transformer-xl", "locuslab/deq", "salesforce/awd-lstm-lm"), write_texts),
    **dict.fromkeys(("cure-lab/LTSF-Linear", "thuml/iTransformer", "zhouhaoyi/Informer2020"), write_series),
    **dict.fromkeys(("facebookresearch/detr", "yhenon/pytorch-retinanet"), write_things),
    "ermongroup/ddim": write_small_ddim,
    "jingyaogong/minimind": write_preferences,
    "karpathy/llama2.c": write_stories,
    "microsoft/LoRA": write_completions,
    "princeton-vl/RAFT": write_chairs,
    "yanx27/Pointnet_Pointnet2_pytorch": write_shapes,
    "yenchenlin/nerf-pytorch": write_scene,
}


def write_sample(repository: str, root: Path, data: Path) -> None:
    """Write the sample of a repository, once."""
    done = root / ".sample-written"
    if repository in PACKS and not done.exists():
        PACKS[repository](root, data)
        done.touch()
