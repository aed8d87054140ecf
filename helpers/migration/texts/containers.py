"""Dockerfiles: the base image, variables of NVIDIA's container runtime, and the commands that build the image."""

from __future__ import annotations

import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, IMAGES, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, found_at
from helpers.migration.rules.environment import of_nccl
from helpers.migration.texts import shell
from helpers.migration.texts.settings import CONTAINER_VARIABLE, IMAGE

CODE = "MIG153"
KNOWN = Known(DOCUMENTED, IMAGES, hours={"image": 2.0, "variable": 0.1, "nccl": 0.25})
NAME = re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:[._-].*)?|.*\.dockerfile", re.IGNORECASE)
INSTRUCTION = re.compile(r"^\s*(?P<name>[A-Za-z]+)\s+")
#: `ENV NCCL_DEBUG INFO`: the form without `=`.
PLAIN_ENV = re.compile(r"^\s*ENV\s+(?P<name>(?:TORCH_)?NCCL_[A-Z0-9_]+)\s+(?!=)", re.IGNORECASE)
EXAMPLES = (
    ("FROM nvidia/cuda:12.1.0-devel-ubuntu22.04  \n", "manual", None),
    ("FROM --platform=linux/amd64 nvcr.io/nvidia/pytorch:23.10-py3 AS base\n", "manual", None),
    ("ARG BASE=pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel\nFROM $BASE\n", "manual", None),
    ("FROM ubuntu:22.04\nENV CUDA_VISIBLE_DEVICES=0 说明=1\n", "rewrite",
     "FROM ubuntu:22.04\nENV ASCEND_RT_VISIBLE_DEVICES=0 说明=1\n"),
    ("ENV NVIDIA_VISIBLE_DEVICES all\n", "manual", None),
    ("ENV NCCL_DEBUG INFO\n", "advice", None),
    ("ENV NCCL_SOCKET_IFNAME 网卡\n", "manual", None),
    ("RUN pip install 'flash-attn>=2' \\\n    && echo 完成\n", "unsupported", None),
    ("RUN pip install torch --index-url https://download.pytorch.org/whl/cu121\n", "manual", None),
)  # fmt: skip
NEAR_MISSES = (
    "# FROM nvidia/cuda:12.1.0 旧镜像\nFROM ubuntu:22.04\n",
    "FROM python:3.11-slim\n",
    "FROM quay.io/ascend/torch-npu:2.9.0.post2-910b-ubuntu22.04-py3.11\n",
    "RUN pip install numpy transformers\n",
    "ENV PATH=/opt/bin:$PATH\n",
    'LABEL 说明="原为 nvidia 镜像"\n',
)


def is_container(name: str) -> bool:
    return NAME.fullmatch(name) is not None


def check(source: Source) -> Iterable[Finding]:
    for start, line in shell.commands(source):
        instruction = INSTRUCTION.match(line)
        kind = instruction.group("name").upper() if instruction else ""
        if kind in ("FROM", "ARG"):
            for image in IMAGE.finditer(line):
                yield found_at(source, start + image.start(), "MIG153.image", MANUAL, value=image.group())
        elif kind not in ("LABEL", "MAINTAINER"):
            yield from shell.judge_line(source, start, line)
            for variable in CONTAINER_VARIABLE.finditer(line):
                yield found_at(source, start + variable.start(), "MIG153.variable", MANUAL, name=variable.group())
            plain = PLAIN_ENV.match(line)
            if plain:
                name = plain.group("name")
                yield found_at(source, start + plain.start("name"), "MIG153.nccl", of_nccl(name), name=name)
