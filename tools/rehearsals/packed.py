"""Writes tiny samples of data, in the formats that scripts' READMEs document, to where their arguments point.

Every value is drawn by a seed: nothing is fetched. As many examples are made as a step of the documented command takes,
so that what is allocated has the size of the real training."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

SEED = 20261201
WORDS = ("the cat sat on a mat while two dogs ran past our old house and nobody saw it happen " * 4).split()


def write_picture(path: Path, width: int, height: int, random: np.random.Generator, mode: str = "RGB") -> None:
    """Write a picture of random blocks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    channels = len(mode)
    blocks = random.integers(0, 256, (8, 8, channels), dtype=np.uint8)
    Image.fromarray(blocks, mode).resize((width, height)).save(path)


def write_classes(folder: Path, splits: tuple[str, ...], classes: int, each: int, width: int, height: int) -> None:
    """Write SPLIT/CLASS/NUMBER.jpg, as torchvision's ImageFolder reads them."""
    random = np.random.default_rng(SEED)
    for split in splits:
        for name in range(classes):
            for number in range(each):
                write_picture(folder / split / f"class{name}" / f"{number}.jpg", width, height, random)


def write_hours(path: Path) -> None:
    """Write ETTh1.csv: two years of hours, seven columns."""
    random = np.random.default_rng(SEED)
    start, hours = np.datetime64("2016-07-01T00:00"), 17420
    columns = ["date", "HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"]
    values = random.normal(size=(hours, 7)).cumsum(axis=0) / 20
    lines = [",".join(columns)]
    for hour, row in enumerate(values):
        date = str(start + np.timedelta64(hour, "h")).replace("T", " ") + ":00"
        lines.append(",".join([date, *(f"{value:.4f}" for value in row)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_bytes_corpus(path: Path) -> None:
    """Write 95 million bytes of text, packed by gzip: enwik8's size as the script cuts it."""
    random = np.random.default_rng(SEED)
    block = " ".join(random.choice(WORDS, 20000)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wb", compresslevel=1) as file:
        written = 0
        while written < 95_000_000:
            written += file.write(block)


def write_yolo(folder: Path, names: tuple[str, ...], each: int, polygons: bool) -> None:
    """Write images/NAME and labels/NAME: a line a thing, its class, then box or outline in shares of the picture."""
    random = np.random.default_rng(SEED)
    for name in names:
        for number in range(each):
            write_picture(folder / "images" / name / f"{number:06}.jpg", 640, 480, random)
            lines = []
            for _ in range(3):
                x, y = random.uniform(0.2, 0.8, 2)
                w, h = random.uniform(0.1, 0.3, 2)
                box = (x, y, w, h)
                outline = (x - w / 2, y - h / 2, x + w / 2, y - h / 2, x + w / 2, y + h / 2, x - w / 2, y + h / 2)
                thing = outline if polygons else box
                lines.append(f"{random.integers(80)} " + " ".join(f"{value:.5f}" for value in thing))
            label = folder / "labels" / name / f"{number:06}.txt"
            label.parent.mkdir(parents=True, exist_ok=True)
            label.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_coco(folder: Path, each: int) -> None:
    """Write train2017, val2017 and their instances, as COCO has them."""
    random = np.random.default_rng(SEED)
    for split in ("train", "val"):
        images, annotations = [], []
        for number in range(1, each + 1):
            write_picture(folder / f"{split}2017" / f"{number:012}.jpg", 640, 480, random)
            images.append({"id": number, "file_name": f"{number:012}.jpg", "width": 640, "height": 480})
            for thing in range(3):
                x, y, w, h = (float(value) for value in random.uniform(50, 200, 4))
                annotation: dict[str, object] = {
                    "id": number * 10 + thing,
                    "image_id": number,
                    "category_id": int(random.integers(1, 91)),
                }
                annotation |= {"bbox": [x, y, w, h], "area": w * h, "iscrowd": 0}
                annotations.append(annotation | {"segmentation": [[x, y, x + w, y, x + w, y + h, x, y + h]]})
        categories = [{"id": number, "name": f"thing{number}"} for number in range(1, 91)]
        content = {"images": images, "annotations": annotations, "categories": categories}
        target = folder / "annotations" / f"instances_{split}2017.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(content), encoding="utf-8")


def pack_yolov7(root: Path) -> None:
    """Write the folder that data/coco.yaml names, with its lists of files."""
    write_yolo(root / "coco", ("train2017", "val2017"), 40, polygons=False)
    for name in ("train2017", "val2017"):
        lines = [f"./images/{name}/{number:06}.jpg" for number in range(40)]
        (root / "coco" / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def pack_yolov5(root: Path) -> None:
    """Write imagenette160's layout, and a dataset of outlines with the file that names it."""
    write_classes(root / "data" / "imagenette160", ("train", "val"), 10, 14, 160, 160)
    write_yolo(root / "data" / "outlines", ("train2017",), 20, polygons=True)
    names = "".join(f"  {number}: thing{number}\n" for number in range(80))
    where = f"path: {root / 'data' / 'outlines'}\ntrain: images/train2017\nval: images/train2017\n"
    (root / "data" / "outlines.yaml").write_text(where + "names:\n" + names, encoding="utf-8")


def pack_biggan(root: Path) -> None:
    """Write the Inception moments of CIFAR-10 that the README has made by another script."""
    mean, covariance = np.zeros(2048, np.float32), np.eye(2048, dtype=np.float32)
    np.savez_compressed(root / "C10_inception_moments.npz", mu=mean, sigma=covariance)


def pack_lora(root: Path) -> None:
    """Write tokens of contexts and completions, a JSON object a line."""
    random = np.random.default_rng(SEED)
    for name, count in (("train", 64), ("valid", 16)):
        path = root / "examples/NLG/data/e2e" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"context": random.integers(0, 50000, 40).tolist(), "completion": random.integers(0, 50000, 30).tolist()}
            for _ in range(count)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def pack_cityscapes(root: Path) -> None:
    """Write pictures and labels of Cityscapes' layout."""
    random = np.random.default_rng(SEED)
    base = root / "data/cityscapes"
    for split in ("train", "val"):
        for number in range(16):
            stem = f"aachen_{number:06}_000019"
            image = base / "leftImg8bit_trainvaltest/leftImg8bit" / split / "aachen" / f"{stem}_leftImg8bit.png"
            write_picture(image, 2048, 1024, random)
            label = base / "gtFine_trainvaltest/gtFine" / split / "aachen" / f"{stem}_gtFine_labelIds.png"
            label.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 34, (8, 16), dtype=np.uint8), "L").resize((2048, 1024), 0).save(label)


def pack_pets(root: Path) -> None:
    """Write pictures named by their class, as the Oxford pets are."""
    random = np.random.default_rng(SEED)
    for breed in ("Abyssinian", "Bengal", "beagle", "pug"):
        for number in range(1, 61):
            write_picture(root / "examples/images" / f"{breed}_{number}.jpg", 300, 260, random)


def pack_preferences(root: Path) -> None:
    """Write chosen and rejected conversations, a JSON object a line."""
    random = np.random.default_rng(SEED)

    def talk() -> list[dict[str, str]]:
        question, answer = (" ".join(random.choice(WORDS, 40)) for _ in range(2))
        return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]

    rows = ({"chosen": talk(), "rejected": talk()} for _ in range(64))
    path = root / "dataset/dpo.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def pack_scene(root: Path) -> None:
    """Write a scene of Blender's layout: pictures of 800 x 800 and the camera of each."""
    random = np.random.default_rng(SEED)
    base = root / "cache/nerf_synthetic/lego"
    for split, count in (("train", 6), ("val", 2), ("test", 2)):
        frames = []
        for number in range(count):
            write_picture(base / split / f"r_{number}.png", 800, 800, random, "RGBA")
            pose = np.eye(4)
            pose[:3, 3] = random.normal(size=3)
            frames.append({"file_path": f"./{split}/r_{number}", "rotation": 0.01, "transform_matrix": pose.tolist()})
        content = {"camera_angle_x": 0.69, "frames": frames}
        (base / f"transforms_{split}.json").write_text(json.dumps(content), encoding="utf-8")


def pack_names(root: Path) -> None:
    """Write names by language, a file each."""
    random = np.random.default_rng(SEED)
    folder = root / "data/names"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(18):
        names = ["".join(random.choice(list("abcdefghijklmnop"), random.integers(3, 12))) for _ in range(120)]
        (folder / f"Language{number}.txt").write_text("\n".join(names) + "\n", encoding="utf-8")


def pack_graph_pairs(root: Path) -> None:
    """Write pairs of graphs with their edit distance, a JSON file each."""
    random = np.random.default_rng(SEED)
    for split, count in (("train", 140), ("test", 10)):
        for number in range(count):
            pair: dict[str, object] = {"ged": int(random.integers(1, 10))}
            for side in ("1", "2"):
                nodes = int(random.integers(6, 12))
                pair[f"graph_{side}"] = [[node, (node + 1) % nodes] for node in range(nodes)]
                pair[f"labels_{side}"] = [str(label) for label in random.integers(0, 5, nodes)]
            path = root / "dataset" / split / f"{number}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(pair), encoding="utf-8")


PACKS: dict[str, Callable[[Path], None]] = {
    "WongKinYiu/yolov7": pack_yolov7,
    "ajbrock/BigGAN-PyTorch": pack_biggan,
    "benedekrozemberczki/SimGNN": pack_graph_pairs,
    "cure-lab/LTSF-Linear": lambda root: write_hours(root / "dataset/ETTh1.csv"),
    "facebookresearch/detr": lambda root: write_coco(root / "coco", 16),
    "facebookresearch/vicreg": lambda root: write_classes(root / "imagenet", ("train",), 8, 130, 128, 96),
    "huggingface/accelerate": pack_pets,
    "jingyaogong/minimind": pack_preferences,
    "krrish94/nerf-pytorch": pack_scene,
    "lucidrains/MEGABYTE-pytorch": lambda root: write_bytes_corpus(root / "data/enwik8.gz"),
    "lukemelas/EfficientNet-PyTorch": lambda root: write_classes(
        root / "examples/imagenet/data", ("train", "val"), 8, 34, 256, 224
    ),
    "microsoft/LoRA": pack_lora,
    "openai/improved-diffusion": lambda root: write_classes(root / "images", ("all",), 4, 70, 96, 80),
    "pytorch/opacus": pack_names,
    "thuml/iTransformer": lambda root: write_hours(root / "dataset/ETT-small/ETTh1.csv"),
    "ultralytics/yolov5": pack_yolov5,
    "yassouali/pytorch-segmentation": pack_cityscapes,
}


def pack_sample(repository: str, root: Path) -> None:
    """Write the sample of a repository below its clone, once."""
    done = root / ".packed"
    if repository in PACKS and not done.exists():
        PACKS[repository](root)
        done.touch()
