"""ENV058: packages that hold a compiled part of torch's and must be of its release: torchvision, torchaudio.

torchvision 0.N goes with torch 2.(N-15); torchaudio had torch's own number until 2.8.
Source: https://github.com/pytorch/vision#installation
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers import versions
from helpers.environment.machine import Machine
from helpers.environment.system import Args
from helpers.finding import Finding, Status

CODE, GROUP = "ENV058", "python"


def check(machine: Machine) -> Iterator[Finding]:
    packages, torch = machine.python.packages, machine.python.packages.get("torch", "")
    vision = packages.get("torchvision", "")
    if not torch or not vision:
        return
    try:
        wanted = versions.parse(torch)[0][1] + 15
        bad = versions.parse(torch)[0][0] == 2 and versions.parse(vision)[0][1] != wanted
    except versions.NotAVersion:
        return
    args: Args = {"torchvision": vision, "torch": torch, "wanted": f"0.{wanted}"}
    yield Finding(CODE, *((Status.WARN, "ENV058.other") if bad else (Status.OK, "ENV058.ok")), args)
