"""Who names the fault: `check` and the tools there are, on the same recorded machines with one fault each.

    python benchmarks/environment.py [--every 8] [--site FOLDER] [--json FILE] [--write docs/environment-machines.md]

The peers are torch.utils.collect_env, `accelerate env` and msprechecker's `precheck`; one that is not installed (here,
or in FOLDER, the site-packages of an environment of its own) is "not run". They read fixed paths, so each machine's
tree is laid over `/` in a mount namespace of its own (Linux, `unshare`) with its variables and package metadata. What
only a process can say (the C library, CPU affinity, what torch's import answers) is this machine's for them.

A tool *names* a fault where its output has a line that the healthy machine's lacks and that line complains; it *shows*
it where such a line does not complain. --every N asks the peers about every Nth machine only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ascend_workbook.environment.readiness import check  # noqa: E402
from ascend_workbook.findings.finding import Status  # noqa: E402
from tests.environment.recorded.faults import FAULTS  # noqa: E402
from tests.environment.recorded.machines import HEALTHY  # noqa: E402
from tests.environment.recorded.made import Made  # noqa: E402

PEERS = {
    "collect_env": ("torch", ["-m", "torch.utils.collect_env"]),
    "accelerate env": ("accelerate", ["-m", "accelerate.commands.accelerate_cli", "env"]),
    "msprechecker": ("msprechecker", ["-c", "from msprechecker.cli import main; raise SystemExit(main())", "precheck"]),
}
COMPLAINT = re.compile(
    r"(?i)error|fail|warn|missing|not found|cannot|mismatch|incompatib|invalid|should|recommend|expected|lower|"
    r"错误|失败|警告|缺少|不存在|建议|异常|低于|未"
)
#: Changes from run to run: colours, addresses, sizes in use, times.
NOISE = re.compile(
    r"\x1b\[[0-9;]*m|0x[0-9a-f]+|\b\d+(?:\.\d+)?(?:e-?\d+)?\s?(?:MHz|GB|GiB|MiB|kB|s|ms|%)|\d{2}:\d{2}:\d{2}"
)
MOUNTS = """\
set -e
cd {work}; mkdir own; mount -t tmpfs own own; cp -a {tree} own/tree; cd own; mkdir merged
mount -t overlay overlay -o lowerdir={work}/own/tree:/ merged
for d in {places}; do mkdir -p merged$d 2>/dev/null || true; mount --rbind $d merged$d; done
for f in null zero urandom; do mount --bind /dev/$f merged/dev/$f; done
mount --rbind /proc merged/proc
for f in {proc}; do mount --bind tree/proc/$f merged/proc/$f 2>/dev/null || true; done
ulimit -n {files}
exec chroot merged /usr/bin/env -i {variables} sh -c 'cd /project && exec "$0" "$@"' {command}
"""


def ours(made: Made) -> tuple[dict[str, str], str]:
    """Key -> status of what warns or fails, and the report's verdict."""
    with tempfile.TemporaryDirectory() as folder:
        found = check(made.wanted, work_folder=Path(folder) / "project", system=made.system(Path(folder)))
    bad = {one.key: one.status.json for one in found.findings[1:] if one.status > Status.NOT_LOOKED}
    return bad, found.verdict("en")


def lines_of(made: Made, command: list[str], site: str) -> set[str] | None:
    """A peer's output on this machine, line by line without noise; None where it could not be run."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        system = made.system(tree)
        for name in ("null", "zero", "urandom"):
            (tree / "dev").mkdir(exist_ok=True)
            (tree / "dev" / name).touch()
        told = {name: version for name, version in made.process.installed.items() if version != "1.0"}
        for name, version in told.items():
            info = tree / "recorded-site" / f"{name}-{version}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        for tool in (tree / "recorded-tools").iterdir():
            tool.write_text(tool.read_text().replace(str(tree.resolve()), ""))
        environ = {name: value.replace(str(tree.resolve()), "") for name, value in system.environ.items()}
        environ["PYTHONPATH"] = ":".join(filter(None, ("/recorded-site", environ.get("PYTHONPATH", ""), site)))
        environ["PATH"] += f":{Path(sys.executable).parent}"
        places = {str(Path(place).resolve()) for place in (sys.prefix, sys.base_prefix, site or sys.prefix)}
        text = MOUNTS.format(
            work=shlex.quote(folder),
            tree=shlex.quote(str(tree.resolve())),
            places=" ".join(map(shlex.quote, places)),
            proc=" ".join(name.split("/proc/", 1)[1] for name in made.files if name.startswith("/proc/")),
            files=min(made.process.limits["NOFILE"], 4096),
            variables=" ".join(shlex.quote(f"{name}={value}") for name, value in environ.items()),
            command=" ".join(map(shlex.quote, [sys.executable, *command])),
        )
        start = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        try:
            done = subprocess.run([*start, "sh", "-c", text], capture_output=True, text=True, timeout=180)
        except (OSError, subprocess.TimeoutExpired):
            return None
    output = done.stdout + done.stderr
    if not output.strip() or "mount:" in done.stderr:
        return None
    ended = {f"exit code {done.returncode}"} if done.returncode else set()
    return ended | {NOISE.sub("#", line).strip() for line in output.splitlines() if line.strip()}


def mark(broken: set[str] | None, well: set[str] | None) -> tuple[str, str]:
    """names, shows, - or not run; and the line that decides."""
    if broken is None or well is None or any(line.startswith("exit code") for line in well):
        return "not run", ""
    new = sorted(broken - well)
    loud = [line for line in new if COMPLAINT.search(line)]
    return ("names", loud[0]) if loud else ("shows", new[0]) if new else ("-", "")


def peers(site: str) -> dict[str, list[str]]:
    """Those that can be imported here or from `site`."""
    found = {}
    for name, (module, command) in PEERS.items():
        code = f"import sys, importlib.util as u; sys.path.append({site!r}); sys.exit(u.find_spec({module!r}) is None)"
        if subprocess.run([sys.executable, "-c", code]).returncode == 0:
            found[name] = command
    return found


def measure(every: int, site: str) -> dict[str, Any]:
    """A row a machine."""
    commands = peers(site)
    rows, well = [], {}
    for number, (name, fault) in enumerate(FAULTS.items()):
        bad, _ = ours(fault.made())
        also = {rule: status.name for rule, status in fault.besides.items()}
        right = bad.get(fault.key) == fault.status.json and {key.split(".")[0] for key in bad} == {
            fault.key.split(".")[0],
            *also,
        }
        row = {
            "fault": name,
            "expected": fault.key,
            "status": fault.status.json,
            "found": bad,
            "right": right,
            "fix": fault.fix,
        }
        asked = commands if number % every == 0 else {}
        with ThreadPoolExecutor(3) as pool:
            base = fault.base.__name__
            for peer, command in asked.items():
                if (base, peer) not in well:
                    well[base, peer] = pool.submit(lines_of, fault.base(), command, site)
            got = {peer: pool.submit(lines_of, fault.made(), command, site) for peer, command in asked.items()}
        row["peers"] = {
            peer: mark(got[peer].result(), well[base, peer].result()) if peer in got else None for peer in PEERS
        }
        rows.append(row)
        print(
            f"{name:<45} {fault.key:<22} {'yes' if right else 'NO':<4}",
            *(_cell(row, peer) for peer in PEERS),
            flush=True,
        )
    healthy = {name: ours(make())[0] for name, make in HEALTHY.items()}
    return {"machines": rows, "healthy": healthy, "peers_installed": sorted(commands), "peers_every": every}


def _cell(row: dict[str, Any], peer: str) -> str:
    return f"{row['peers'][peer][0] if row['peers'][peer] else 'not asked':<9}"


def page(found: dict[str, Any]) -> str:
    """The document: fault, expected rule, found; then the machines that are well."""
    head = "| fault | expected | as | found | right | " + " | ".join(PEERS) + " |"
    lines = [
        "# Recorded machines",
        "",
        f"Made by `python benchmarks/environment.py --every {found['peers_every']} --write "
        "docs/environment-machines.md`: file trees, tool outputs and "
        "variables of machines with one fault each (tests/environment/recorded). *names*: the tool's output complains "
        "of something it does not complain of on the machine without the fault; *shows*: a line differs; *not run*: "
        f"the tool does not run there; *not asked*: they were asked about one machine in {found['peers_every']}. "
        "*right*: the expected rule, and besides it only what that fault brings with it.",
        "",
        head,
        "|" + "---|" * (5 + len(PEERS)),
    ]
    for row in found["machines"]:
        others = " | ".join(_cell(row, peer).strip() for peer in PEERS)
        seen = ", ".join(f"{key} {status}" for key, status in row["found"].items())
        right = "yes" if row["right"] else "**no**"
        lines.append(f"| {row['fault']} | {row['expected']} | {row['status']} | {seen} | {right} | {others} |")
    lines += ["", "| a machine that is well | warnings and failures |", "|---|---|"]
    lines += [f"| {name} | {', '.join(bad) or 'none'} |" for name, bad in found["healthy"].items()]
    return "\n".join([*lines, "", summary(found), ""])


def summary(found: dict[str, Any]) -> str:
    rows = found["machines"]
    right = sum(row["right"] for row in rows)
    parts = [f"check: {right} of {len(rows)} faults named, each with nothing besides but its consequences"]
    for peer in PEERS:
        asked = [row["peers"][peer][0] for row in rows if row["peers"][peer] and row["peers"][peer][0] != "not run"]
        parts.append(f"{peer}: names {asked.count('names')}, shows {asked.count('shows')} of {len(asked)} asked")
    return (
        "; ".join(parts) + f"; warnings on {len(found['healthy'])} healthy: {sum(map(len, found['healthy'].values()))}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=8, help="ask the peers about every Nth machine (default: 8)")
    parser.add_argument("--site", default="", help="site-packages that hold accelerate and msprechecker")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", type=Path, help="the table as Markdown")
    args = parser.parse_args()
    found = measure(max(1, args.every), args.site)
    print(summary(found))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if args.write:
        args.write.write_text(page(found), encoding="utf-8")
    return 0 if all(row["right"] for row in found["machines"]) and not any(found["healthy"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
