"""Lists of requirements: requirements.txt, setup.py, setup.cfg, pyproject.toml, environment.yml.

A distribution is looked up in the table of third-party libraries under the name it is imported by. NVIDIA's own
wheels and CUDA builds of torch have no place on an Ascend machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.repair import MANUAL, found_at
from helpers.migration.source import Source

CODE = "MIG128"
KNOWN = Known(DOCUMENTED, "https://www.hiascend.com/document", versions="as the entry says")
NAMES = ("setup.py", "setup.cfg", "pyproject.toml", "environment.yml", "environment.yaml", "conda.yml", "conda.yaml")
#: A name at the start of a line, of a YAML item or of a quoted string, up to its version.
REQUIREMENT = re.compile(r"(?:^\s*(?:-\s+)?|['\"])([A-Za-z][A-Za-z0-9._-]*)(\[[\w, -]*\])?\s*(?=$|[=<>!~;@#'\"\s])")
CUDA_BUILD = re.compile(r"\+cu\d+|=cuda|cu1[0-9]{2}\b")
#: Distribution -> import name, where `-` for `_` is not enough; a trailing `*` stands for any ending.
IMPORTED = {
    "flash-attention": "flash_attn", "nvidia-dali*": "nvidia.dali", "cupy-cuda*": "cupy", "nvidia-ml-py*": "pynvml",
    "mmcv-full": "mmcv", "pytorch-triton": "triton", "megatron-core": "megatron", "megatron-lm": "megatron",
    "nvidia-modelopt": "modelopt", "transformer-engine*": "transformer_engine", "autoawq": "awq",
    "auto-gptq": "auto_gptq", "detectron2": "detectron2", "mamba-ssm": "mamba_ssm", "nvidia-apex": "apex",
    "dgl-cu*": "dgl", "spconv-cu*": "spconv", "pytorch-quantization": "pytorch_quantization",
}  # fmt: skip
#: Parts of the CUDA toolkit and libraries built for it.
TOOLKIT = re.compile(
    r"(?:nvidia-[\w-]+-cu\d+|cudatoolkit|cuda-toolkit|pytorch-cuda|cudnn|nccl|cuda-nvcc|cuda-python|onnxruntime-gpu"
    r"|tensorflow-gpu|faiss-gpu[\w-]*|paddlepaddle-gpu|jax\[cuda)"
)
EXAMPLES = (
    ("flash-attn==2.5.8  # 注意力\n", "unsupported", None),
    ("torch==2.1.0+cu118\n", "manual", None),
    ("dependencies:\n  - cudatoolkit=11.3\n", "manual", None),
    ('install_requires=["torch", "xformers>=0.0.20"]\n', "unsupported", None),
    ("nvidia-dali-cuda120\n", "unsupported", None),
    ("bitsandbytes\n", "manual", None),
    ("nvidia-cublas-cu12==12.1.3.1\n", "manual", None),
    ("onnxruntime-gpu\n", "manual", None),
)
NEAR_MISSES = (
    "# flash-attn 可选\n",
    "torch==2.1.0\n",
    "numpy\n",
    "transformers>=4.32  # 支持\n",
    "apexpy\n",
    "flash-attn-npu\n",
    "name: my-apex-tool\n",
    "-r requirements-gpu.txt\n",
)


def is_requirements(name: str) -> bool:
    return name in NAMES or bool(re.fullmatch(r"(.*[-_.])?(requirements?|reqs?)([-_.].*)?\.(txt|in)", name))


def check(source: Source) -> Iterable[Finding]:
    for number, start in enumerate(source.line_starts, 1):
        line = re.split(r"(?:^|\s)#", source.line(number), maxsplit=1)[0]
        for match in REQUIREMENT.finditer(line):
            finding = _judge(source, start + match.start(1), match.group(1), line[match.end() :])
            if finding:
                yield finding


def _judge(source: Source, at: int, name: str, rest: str) -> Finding | None:
    library = _import_name(name.lower())
    said = api_map.entry("third_party", library)
    if said is not None and said["class"] != "advice":
        return found_at(source, at, "MIG128.library", said["class"], library=name, use=said["use"])
    if TOOLKIT.match(name.lower()):
        return found_at(source, at, "MIG128.toolkit", MANUAL, library=name)
    if name.lower() in ("torch", "pytorch", "torchvision", "torchaudio") and CUDA_BUILD.search(rest.split(",")[0]):
        return found_at(source, at, "MIG128.cuda_build", MANUAL, library=name)
    return None


def _import_name(name: str) -> str:
    for written, imported in IMPORTED.items():
        if name == written or (written.endswith("*") and name.startswith(written[:-1])):
            return imported
    return name.replace("-", "_")
