"""`set_up`: which commands make this machine ready. pip only, and never one that could replace an installed torch.

What is installed is held by a constraints file, and torch_npu comes without its dependencies (its wheel requires one
exact torch, which pip would fetch). Where the installed torch fits nothing, a new environment is proposed beside it.
Versions, Python tags and glibc: ascend_workbook/machine/compatibility.json.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.environment.installing import kernel
from ascend_workbook.environment.installing.kernel import IMAGE_WORK, choose_place
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.readiness import STAGE, probe
from ascend_workbook.environment.system import PROJECT, Args, Untold, shorten_path
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import kernelspec, simulator, versions
from ascend_workbook.machine.packages import read_requirements

#: As tools/bootstrap.py and requirements-torch.txt have them; a test holds them together. The index has torch's
#: dependencies too: with PyPI beside it pip would take PyPI's CUDA build wherever this one cannot be reached.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SIMULATED = "2.13.0"
HELD = "held.txt"
#: The environment proposed beside an installed torch that fits nothing.
BESIDE = ".venv-npu"
KEPT = ("torch", "torch_npu", "torchvision", "torchaudio")
#: Notes that keep the machine from being made ready by pip.
BLOCKING = ("unsupported", "no_cann", "no_wheel", "not_listed", "simulator_wheel")
FITS = ("recommended", "compatible")


@dataclass(frozen=True)
class Step:
    """A command and why; `key` ends the sentence `installing.step.…`. An empty command is a step by hand."""

    command: str
    key: str
    args: Args


@dataclass(frozen=True)
class Plan:
    """`situation` is modelarts, server, gpu, laptop or unsupported; `held` what is kept as it is; `notes` are
    endings of `ENV131.…` sentences."""

    situation: str
    steps: tuple[Step, ...]
    held: tuple[str, ...]
    notes: tuple[tuple[str, Args], ...]


@dataclass
class _Draft:
    """`python` is the interpreter the commands are for, `packages` what it has, `held` what it must keep."""

    machine: Machine
    python: str
    packages: dict[str, str]
    held: list[str]
    steps: list[Step]
    notes: list[tuple[str, Args]]
    anywhere: bool = False

    def add_step(self, command: list[str] | str, key: str, **args: str) -> None:
        if self.anywhere and isinstance(command, list):  # the project's own files by their whole paths
            entry, wanted = PROJECT / "ascend_workbook", PROJECT / "requirements.txt"
            if entry.is_dir() and command[1:3] == ["-m", "ascend_workbook"]:
                command = [command[0], str(entry), *command[3:]]
            command = [str(wanted) if word == wanted.name and wanted.is_file() else word for word in command]
        self.steps.append(Step(command if isinstance(command, str) else shlex.join(command), key, {**args}))

    def add_pip(self, *what: str, key: str, **args: str) -> None:
        self.add_step([self.python, "-m", "pip", "install", *what], key, **args)

    def add_constrained(self, *what: str, key: str, **args: str) -> None:
        """Add an installation that may bring dependencies: under the constraints, written before the first of them."""
        if self.held and not any(step.key == "hold" for step in self.steps):
            self.add_step(f"printf '%s\\n' {shlex.join(self.held)} > {HELD}", "hold")
        self.add_pip(*(["-c", HELD] if self.held else []), *what, key=key, **args)


def make_plan(machine: Machine, *, anywhere: bool = False) -> Plan:
    """Make the plan for what was found; `anywhere`: for a shell in any folder, else for one in the project's."""
    where = classify_situation(machine)
    executable, packages = machine.python.executable, dict(machine.python.packages)
    python = executable
    if not anywhere:  # as a shell in the project's folder calls it: `python` if activated, else its path
        activated = shutil.which("python")
        beside = activated and Path(activated).parent == Path(executable).parent
        python = "python" if beside else shorten_path(executable)
    held = [f"{name}=={packages[name]}" for name in KEPT if packages.get(name)]
    draft = _Draft(machine, python, packages, list(held), [], [], anywhere)
    if where == "unsupported":
        draft.notes.append(("unsupported", {"system": machine.host.system, "arch": machine.host.arch}))
        return Plan(where, (), tuple(held), tuple(draft.notes))
    if held:
        draft.notes.append(("kept", {"held": list(held)}))
    if where == "gpu":
        draft.notes.append(("gpu", {"torch": machine.torch}))
    else:
        {"modelarts": _plan_modelarts, "server": _plan_server, "laptop": _plan_laptop}[where](draft)
    if any(key in BLOCKING for key, _ in draft.notes):
        return Plan(where, (), tuple(held), tuple(draft.notes))
    if missing_packages(machine) or draft.steps:
        draft.add_constrained("-r", "requirements.txt", key="workbook")
    if where != "gpu":
        draft.add_step([draft.python, "-m", "ascend_workbook", "setup", "--kernelspec", "ascend-npu"], "kernel")
    return Plan(where, tuple(draft.steps), tuple(held), tuple(draft.notes))


def missing_packages(machine: Machine) -> list[str]:
    """Return the packages of requirements.txt that are not installed; none where the file is not beside the package."""
    return [name for name in read_requirements() if name not in machine.python.packages]


def classify_situation(machine: Machine) -> str:
    """Return modelarts or server (with CANN, or in need of one), gpu (a baseline), laptop (simulated), unsupported."""
    if any(name.startswith(("MA_", "VC_")) for name in machine.environ) and (machine.real_cann or machine.needs_npu):
        return "modelarts"
    if machine.real_cann or machine.hardware.chips > 0 or machine.chosen.wanted == "npu":
        return "server" if machine.host.system == "Linux" else "unsupported"
    if machine.chosen.tier == "cuda":
        return "gpu"
    fits = machine.host.system == "Linux" and machine.host.arch in ("x86_64", "AMD64")
    return "laptop" if fits else "unsupported"


def fitting_versions(machine: Machine, cann: str, torch: str = "") -> tuple[list[str], list[str]]:
    """Return the torch_npu versions for this CANN (and this torch) whose wheels this Python and C library take, best
    first; and those that only the wheel rules out. Raises versions.NotAVersion."""
    ranked = []
    for pair in versions.load_compatibility()["pairs"]:
        fit = versions.pair_cann(pair["torch_npu"], cann)
        if fit in FITS and (not torch or versions.base_version(pair["torch"]) == versions.base_version(torch)):
            ranked.append((FITS.index(fit), pair["torch_npu"]))
    ranked.sort(key=lambda entry: versions.parse_version(entry[1]), reverse=True)
    ranked.sort(key=lambda entry: entry[0])
    names = [name for _, name in ranked]
    installable = [name for name in names if wheel_fits(machine, name)]
    return installable, [name for name in names if name not in installable]


def wheel_fits(machine: Machine, torch_npu: str) -> bool:
    """Return whether PyPI lists a wheel for this Python, architecture and C library (unknown: rules none out)."""
    wheel = versions.find_wheel(torch_npu, machine.host.arch)
    if wheel is None or ".".join(machine.python.version.split(".")[:2]) not in wheel["python"]:
        return False
    glibc = machine.host.glibc
    return isinstance(glibc, Untold) or versions.parse_version(glibc) >= versions.parse_version(wheel["glibc"])


def _plan_modelarts(draft: _Draft) -> None:
    """Plan as for a server, in an environment that sees the image's packages and outlives it."""
    needs = missing_packages(draft.machine)
    folder = f"{IMAGE_WORK}/.venv"
    inside = draft.python
    draft.python = f"{folder}/bin/python"
    _plan_server(draft)
    if needs or any("pip" in step.command for step in draft.steps):
        draft.steps.insert(0, Step(shlex.join([inside, "-m", "venv", "--system-site-packages", folder]), "image", {}))
        draft.notes.append(("image", {"folder": IMAGE_WORK}))
    else:
        draft.python = inside


def _plan_server(draft: _Draft) -> None:
    """Plan a server of one's own with NPUs."""
    cann = draft.machine.real_cann
    if cann is None:
        wanted = versions.load_compatibility()["recommended"]["cann"]
        draft.notes.append(("no_cann", {"cann": wanted}))
        return
    if not cann.sourced and cann.script:
        draft.add_step(f"source {shlex.quote(cann.script)}", "source")
    if not cann.version:
        draft.notes.append(("cann_unknown", {"path": cann.path}))
        return
    try:
        _plan_pair(draft, cann.version)
    except versions.NotAVersion as error:
        draft.notes.append(("version", {"text": str(error)}))
        return
    installed = draft.packages
    below = versions.numpy_below(cann.version)
    modules = versions.load_compatibility()["python_modules"]
    absent = [name for name in modules if name.replace("-", "_") not in installed]
    numpy = installed.get("numpy", "")
    if below and numpy and versions.parse_version(numpy) >= versions.parse_version(below):
        absent.append("numpy")
    requirements = [f"numpy<{below}" if name == "numpy" and below else name for name in dict.fromkeys(absent)]
    if requirements:
        draft.add_constrained(*requirements, key="modules", cann=cann.version)


def _plan_pair(draft: _Draft, cann: str) -> None:
    """Plan torch and torch_npu: kept where they fit, completed where one is missing, beside where they do not fit."""
    machine = draft.machine
    torch, torch_npu = machine.torch, machine.torch_npu
    if torch and torch_npu and versions.pair_torch(torch, torch_npu) == "matches":
        if versions.pair_cann(torch_npu, cann) != "outside":
            return
        draft.notes.append(("pair_outside", {"torch_npu": torch_npu, "cann": cann}))
    elif torch:
        fit, _ = fitting_versions(machine, cann, torch)
        if fit and not torch_npu:
            draft.add_pip("--no-deps", f"torch_npu=={fit[0]}", key="torch_npu", version=fit[0], cann=cann)
            return
        if fit:  # the installed torch_npu is of another torch: only torch_npu is exchanged
            draft.held = [requirement for requirement in draft.held if not requirement.startswith("torch_npu==")]
            draft.add_pip("--no-deps", f"torch_npu=={fit[0]}", key="exchange", version=fit[0], found=torch_npu)
            return
        draft.notes.append(("no_pair", {"torch": torch, "cann": cann}))
    _plan_new_pair(draft, cann, beside=bool(torch))


def _plan_new_pair(draft: _Draft, cann: str, *, beside: bool) -> None:
    machine = draft.machine
    fit, ruled_out = fitting_versions(machine, cann)
    if not fit:
        key = "no_wheel" if ruled_out else "not_listed"
        glibc = machine.host.glibc if isinstance(machine.host.glibc, str) else "?"
        pythons, needs = _wheel_tags(ruled_out[0] if ruled_out else "", machine)
        here: Args = {"cann": cann, "python": machine.python.version, "glibc": glibc}
        draft.notes.append((key, {**here, "wanted": ruled_out[:3], "pythons": pythons, "needs": needs}))
        return
    if beside:
        draft.add_step([draft.python, "-m", "venv", BESIDE], "venv")
        draft.python, draft.packages = f"{BESIDE}/bin/python", {}
    torch = versions.base_version(fit[0])
    draft.add_pip(f"torch=={torch}", "--index-url", CPU_INDEX, key="torch", version=torch)
    draft.add_pip("--no-deps", f"torch_npu=={fit[0]}", key="torch_npu", version=fit[0], cann=cann)
    draft.held = [f"torch=={torch}", f"torch_npu=={fit[0]}"]


def _wheel_tags(torch_npu: str, machine: Machine) -> tuple[list[Scalar], str]:
    """Return the Python versions and glibc that the wheels of this torch_npu are for."""
    wheel = (versions.find_wheel(torch_npu, machine.host.arch) if torch_npu else None) or {}
    return list(wheel.get("python", [])), str(wheel.get("glibc", "?"))


def _plan_laptop(draft: _Draft) -> None:
    """Plan torch of the CPU's build, torch_npu beside the simulator, and the simulator."""
    machine = draft.machine
    torch = machine.python.packages.get("torch", "")
    if machine.simulator and machine.chosen.tier == "npu-simulated":
        return
    if not torch:
        draft.add_pip(f"torch=={SIMULATED}", "--index-url", CPU_INDEX, key="torch", version=SIMULATED)
        draft.held = [f"torch=={SIMULATED}"]
    try:
        wanted = versions.base_version(torch) if torch else SIMULATED
    except versions.NotAVersion as error:
        draft.notes.append(("version", {"text": str(error)}))
        return
    tried = simulator.tried_pairs()
    torch_npu = tried.get(wanted, wanted)
    if not wheel_fits(machine, torch_npu):
        pythons, _ = _wheel_tags(SIMULATED, machine)
        here: Args = {"wanted": torch_npu, "python": machine.python.version, "pythons": pythons}
        draft.notes.append(("simulator_wheel", here))
        return
    if wanted not in tried:
        draft.notes.append(("simulator_torch", {"torch": torch, "tested": list(tried) or [SIMULATED]}))
    beside = Path(machine.python.executable).parent.parent / "share" / "ascend-workbook" / "simulator"
    target = str(Path(machine.simulator or beside) / "python")
    if not machine.torch_npu:
        draft.add_pip("--no-deps", "--target", target, f"torch_npu=={torch_npu}", key="beside", version=torch_npu)
    draft.add_step([machine.python.executable, "-m", "ascend_workbook", "simulator", "build"], "simulator")


COLUMNS = (Column("installing_step"), Column("installing_command"), Column("installing_why"))
WEIGHT = 100.0
#: What a kernel can be for: the others need no environment of their own.
KERNELS = ("auto", "npu", "npu-simulated")
WARNING = ("pair_outside", "no_pair", "cann_unknown", "version", "simulator_torch")


def set_up(device: str = "auto", *, work_folder: str | os.PathLike[str] = ".", anywhere: bool = False) -> Report:
    """Look at this machine as `check` does and say which commands make it ready; none of them is run.

    `anywhere`: commands by absolute paths. Fix where pip cannot make it ready.

    Raises WorkbookError `device.unknown` for a word that names no device.
    """
    return report_on(probe(device, work_folder=work_folder), anywhere=anywhere)


def report_on(machine: Machine, *, anywhere: bool = False) -> Report:
    """Report on facts already gathered."""
    drafted = make_plan(machine, anywhere=anywhere)
    statuses = {**dict.fromkeys(BLOCKING, Status.FIX), **dict.fromkeys(WARNING, Status.LOOK), "kept": Status.GOOD}
    statuses["gpu"] = Status.GOOD
    notes = tuple(
        Finding("ENV131", statuses.get(key, Status.NOTE), f"ENV131.{key}", args, weight=10)
        for key, args in drafted.notes
    )
    commands = [step.command for step in drafted.steps]
    reasons = (Sentence(f"installing.step.{step.key}", **step.args) for step in drafted.steps)
    table = Table(COLUMNS, tuple(zip(range(1, len(commands) + 1), commands, reasons)))
    listing = Listing("installing_commands", "\n".join(commands) + "\n", "bash") if commands else None
    facts: dict[str, object] = {"situation": drafted.situation, "commands": commands, "held": list(drafted.held)}
    findings = (_make_verdict(drafted, notes), *notes)
    return Report(STAGE, "set_up", findings, table, listing=listing, facts=facts, tier=machine.chosen.tier)


def _make_verdict(drafted: Plan, notes: tuple[Finding, ...]) -> Finding:
    worst = max((note.status for note in notes), default=Status.GOOD)
    args: Args = {
        "where": Sentence(f"installing.situation.{drafted.situation}"),
        "count": len(drafted.steps),
        "held": list(drafted.held) or "-",
    }
    if worst is Status.FIX:
        first = next(note for note in notes if note.status is Status.FIX)
        args["first"] = Sentence(first.key, **first.args)
        return Finding("ENV130", worst, "ENV130.blocked", args, weight=WEIGHT)
    if all(step.key == "kernel" for step in drafted.steps):
        return Finding("ENV130", worst, "ENV130.ready", args, weight=WEIGHT)
    return Finding("ENV130", max(worst, Status.NOTE), "ENV130.steps", args, weight=WEIGHT)


def write_kernel(
    name: str, *, device: str = "auto", display_name: str = "", prefix: Path | None = None, replace: bool = False
) -> Report:
    """Write the Jupyter kernel `name` with absolute values and ask a process of that environment what it sees.

    Without a `prefix` into this Python's environment, or where the server does not look there, the user's folder.

    `device` npu: of a real NPU or not at all, Fix where the kernel sees none. Raises WorkbookError `kernelspec.name`,
    `kernelspec.exists` (and not `replace`), `kernelspec.no_cann`, `kernelspec.sourcing`, `kernelspec.device`,
    `device.absent`.
    """
    if device not in KERNELS:
        raise WorkbookError("kernelspec.device", device=device)
    environment, simulated = kernel.kernel_environment(device=device)
    shown = display_name or ("Ascend NPU (simulated)" if simulated else "Ascend NPU")
    where = choose_place(prefix)
    folder = kernelspec.write_kernelspec(name, shown, environment, data=where.data, replace=replace)
    npus = kernel.count_visible_npus(environment)
    args: Args = {"name": name, "path": str(folder), "seen": npus, "variables": len(environment)}
    if not isinstance(npus, int):
        status, key = Status.LOOK, "ENV132.blind"
    else:
        status, key = (Status.GOOD, "ENV132.written") if npus else (Status.LOOK, "ENV132.none")
    status = Status.FIX if device == "npu" and status is Status.LOOK else status
    findings = [Finding("ENV132", status, key, args, weight=WEIGHT)]
    if where.seen is False:
        findings.append(Finding("ENV132", Status.LOOK, "ENV132.unseen", {"path": str(where.data)}))
    if not where.kept:
        findings.append(Finding("ENV132", Status.NOTE, "ENV132.instance", {"path": str(where.data), "name": name}))
    if importlib.util.find_spec("ipykernel") is None:
        findings.append(Finding("ENV132", Status.LOOK, "ENV132.no_ipykernel", {}))
    table = Table((Column("installing_variable"), Column("value")), tuple(sorted(environment.items())))
    facts: dict[str, object] = {"folder": str(folder), "environment": environment, "npus": npus}
    tier = "npu-simulated" if simulated else ""
    return Report(STAGE, "set_up_kernel", tuple(findings), table, facts=facts, tier=tier)
