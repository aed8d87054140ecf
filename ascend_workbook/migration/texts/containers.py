"""Dockerfiles: the base image, variables of NVIDIA's container runtime, and the commands that build the image."""

from __future__ import annotations

import re

from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import DOCUMENTED, IMAGES, MANUAL, Findings, Known, found_at
from ascend_workbook.migration.rules.environment import of_nccl
from ascend_workbook.migration.texts import shell
from ascend_workbook.migration.texts.settings import CONTAINER_VARIABLE, IMAGE

CODE = "MIG153"
KNOWN = Known(DOCUMENTED, IMAGES, hours={"image": 2.0, "variable": 0.1, "nccl": 0.25})
NAME = re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:[._-].*)?|.*\.dockerfile", re.IGNORECASE)
INSTRUCTION = re.compile(r"^\s*(?P<name>[A-Za-z]+)\s+")
#: `ENV NCCL_DEBUG INFO`: the form without `=`.
PLAIN_ENV = re.compile(r"^\s*ENV\s+(?P<name>(?:TORCH_)?NCCL_[A-Z0-9_]+)\s+(?!=)", re.IGNORECASE)


def is_container(name: str) -> bool:
    return NAME.fullmatch(name) is not None


def check(source: Source) -> Findings:
    for start, line in shell.split_commands(source):
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
