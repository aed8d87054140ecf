"""Where facts come from: every address is of a declared place, and NOTICE names the places of facts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache

import pytest

from tests.conftest import ROOT

ADDRESS = re.compile(r"https?://([A-Za-z0-9.-]+)((?:/[\w.~%&+@=,:;!()-]*)*)")
#: CANN's repositories of 2025 and later: their licence allows use with Ascend processors only. Their names are put
#: together here, so that this file is none of those it looks for.
REFUSED = re.compile(
    r"(?:github|gitcode|gitee|atomgit)\.com/"
    + r"(?:hi"
    + r"cann|can"
    + r"n)\b|\bops"
    + r"-(?:nn|math|cv|transformer)\b",
    re.I,
)
CODE_HOSTS = ("github.com", "gitcode.com", "gitee.com")
THREAD = re.compile(r"/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)\b")
#: Places that are addressed, but from which no fact about Ascend was taken: what a user installs from or reads on, and
#: papers and documentation of PyTorch, Python and NVIDIA, each named where it is used.
PLACES = re.split(
    r"\s+",
    "arxiv.org authoring-modelarts-cnnorth4.huaweicloud.com chromium.googlesource.com docs.docker.com docs.google.com "
    "docs.jupyter.org docs.nvidia.com docs.python.org docs.pytorch.org doi.org download.pytorch.org "
    "git-lfs.github.com hiascend.com hta.readthedocs.io huggingface.co json-schema.org keepachangelog.com "
    "learn.microsoft.com lightning.ai mirrors.aliyun.com mirrors.ustc.edu.cn numpy.org nvidia.github.io "
    "onnxruntime.ai papermill.readthedocs.io prng.di.unimi.it proceedings.mlr.press protobuf.dev "
    "proxy-notebook.modelarts.com "
    "pypi.tuna.tsinghua.edu.cn pytorch.org raw.githubusercontent.com repo.huaweicloud.com semver.org "
    "slurm.schedmd.com ui.perfetto.dev www.apache.org www.deepspeed.ai www.dgl.ai www.isthe.com www.speedscope.app "
    "www.tensorflow.org www.w3.org",
)
#: Sources of others and what is built of them: NOTICE names their makers, and no fact is taken from them.
VENDORED = ("tools/bundle/vendor/", "tools/bundle/package-lock.json", "ascend_workbook/page/bundle.")
#: Names that stand for a user's own.
EXAMPLE = re.compile(r"|127\.0\.0\.1|(?:.*\.)?example\.\w+|HOST|modelarts|obs(?:\.REGION.*)?")


@cache
def texts() -> dict[str, str]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {}
    for name in filter(None, names.split("\0")):
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b"\0"
        if b"\0" not in content:
            found[name] = content.decode("utf-8", "replace")
    return found


def addresses() -> Iterator[tuple[str, str, str]]:
    """Yield (file, host, path) of each address outside of tests and of NOTICE itself."""
    for name, text in texts().items():
        if not name.startswith(("tests/", *VENDORED)) and name != "NOTICE":
            for match in ADDRESS.finditer(text):
                yield name, match.group(1).rstrip("."), match.group(2).rstrip(".,;:)")


def noted() -> list[str]:
    rows = [line.split(" | ") for line in texts()["NOTICE"].splitlines() if line.startswith("https://")]
    assert all(len(row) == 4 and all(row) for row in rows)
    return [row[0] for row in rows]


def test_nothing_rests_on_what_may_not_be_used_elsewhere() -> None:
    found = [(name, match.group()) for name, text in texts().items() for match in REFUSED.finditer(text)]
    assert found == []


@pytest.mark.parametrize("host", ["github.com/hi" + "cann/x", "gitcode.com/can" + "n/ops", "ops" + "-nn/aclnnMm.md"])
def test_such_an_address_is_seen(host: str) -> None:
    assert REFUSED.search(f"see https://{host}") and not REFUSED.search("https://gitcode.com/Ascend/op-plugin, canny")


def test_every_address_is_of_a_declared_place() -> None:
    hosts = {address.split("/")[2] for address in noted()} | {*PLACES}
    unknown = {(host, name) for name, host, _ in addresses() if host not in hosts and not EXAMPLE.fullmatch(host)}
    assert unknown == set()
    assert {host for _, host, _ in addresses()} >= {*PLACES}, "a place that nothing addresses any more"


def test_notice_names_every_repository_and_no_other() -> None:
    repositories = set()
    for _, host, path in addresses():
        if host in CODE_HOSTS and not THREAD.match(path) and len(path.split("/")) > 2:
            repositories.add("https://" + host + "/".join(path.split("/")[:3]))
    rows = [address for address in noted() if address.split("/")[2] in CODE_HOSTS]
    assert sorted(repositories) == sorted(rows)


def test_notice_names_no_place_that_is_not_addressed() -> None:
    hosts = {host for _, host, _ in addresses()}
    assert [address for address in noted() if address.split("/")[2] not in hosts] == []
