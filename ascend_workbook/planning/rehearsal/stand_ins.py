"""What was not on this machine and was made up for a rehearsal, with the line that asked for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.machine.launch.result import ChildError

#: Files that are made up: texts, lists of tokens of 16 bits, packed texts. What others hold cannot be guessed.
MADE_UP = (".txt", ".text", ".tokens", ".raw", ".bin", ".gz", ".jpg", ".jpeg", ".png", ".bmp", ".ppm")
#: Files of weights: a model keeps those it was built with.
WEIGHTS = (".pth", ".pt", ".ckpt", ".th", ".pth.tar")
MOST_FILES = 8
#: A question for a file and the assertion that fails for it stand so many lines apart at most.
NEAR = 2
#: Models by name, with their configurations.
MODELS = Path(__file__).parents[1] / "strategy" / "models.json"
PIPELINES = Path(__file__).with_name("pipelines.json")
#: Kinds that are told in the words of another one.
KINDS = {"pictures": "folder", "download": "file"}
#: Kinds that a training may fail for where they are not like the real ones.
CONTENT = frozenset(
    {
        *("dataset", "folder", "pictures", "picture", "file", "download", "archive", "graphs"),
        *("model", "documented", "tokenizer", "texts"),
    }
)
#: What torch says of a data set without an example; and what is made up then: pictures where a pattern finds none.
EMPTY = "num_samples should be a positive integer value, but got num_samples=0"
PICTURES = "pictures"
#: A shorter name of a file stands in many a message.
SHORT = 3
FOR_FILES = ("FileNotFoundError", "NotADirectoryError")
#: What a program says that found no files, or fails with where its list of them is empty.
NOTHING_THERE = re.compile(
    r"no such file|not a directory|(?<!\.)\bempty\b|\blist index out of range|division by zero|modulo by zero"
    r"|at least one|n_samples=0|num_samples"
    r"|\b(?:no|0|zero) (?:\w+ )?(?:files?|images?|pictures?|photos?|samples?|examples?|data)\b"
    r"|found (?:0|no)\b|\b(?:files?|images?|pictures?|samples?|data\w*|folder|directory|path)\b.{0,200}"
    r"(?:not found|not exist|n't exist|(?:is|are) missing|not find|n't find)"
    r"|(?:not|n't) find.{0,200}(?:files?|images?|pictures?|samples?|data\w*|folder|directory|path)\b",
    re.IGNORECASE | re.DOTALL,
)
#: What is missing of rows that stood in: a column, or more rows; of a folder that stood in: classes. Before a name
#: each. And what the launcher sets.
COLUMN, MORE_ROWS, CLASSES, LAUNCHER = "column ", "rows ", "classes ", "launcher"
#: What torch's formulas of forward-mode gradients fail with where torch.jit.script is switched off.
FORWARD, NO_SCRIPT = "forward", "'function' object has no attribute 'graph'"
MARKS = (PICTURES, LAUNCHER, FORWARD)
NO_COLUMN = re.compile(
    r"^Column '?(\w+)'? doesn't exist|^'(\w+)'$|olumn (?:name )?\[?'(\w+)'\]? not in the dataset"
    r"|column'? value '(\w+)' needs to be one of"
)
NO_ROW = re.compile(r"Index (\d+) out of range for dataset of size")
#: Rows that a program may set aside to judge by before it chooses those to train on; and what is made at most.
SET_ASIDE = 10_000
MOST_TEXT_ROWS = 2_000_000
NO_LAUNCHER = re.compile(r"environment variable (RANK|WORLD_SIZE|MASTER_ADDR)|^'(RANK|WORLD_SIZE|LOCAL_RANK)'$")
MISSING = re.compile(r"No such file or directory: '(.+)'|^(\S+) not found\.$")
#: What Python, requests and the Hugging Face hub say where a name or a host is not to be reached, and which it is.
UNREACHED = re.compile(
    r"[Nn]ame resolution|NameResolutionError|Name or service not known|Network is unreachable|urlopen"
    r"|[Cc]ouldn't connect to 'http|to locate the file on the Hub|OfflineModeIsEnabled|HF_HUB_OFFLINE"
)
UNKNOWN = "-"
ADDRESS = re.compile(r"host='([^']+)'|(https?://[^\s,'\")]+)")


@dataclass(frozen=True)
class StandIn:
    """kind: dataset, folder, pictures, weights, values, file, download, logger, model, documented, tokenizer, texts or
    graphs.

    guessed: its sizes are not known to be those of the real one."""

    kind: str
    name: str
    guessed: bool
    file: str
    line: int
    facts: Mapping[str, Any]

    @property
    def sentence(self) -> Sentence:
        """Return what it is, in words."""
        args: dict[str, Scalar] = {"name": self.name}
        if self.kind == "picture":
            args["size"] = " x ".join(str(number) for number in self.facts["size"])
        if self.kind in ("dataset", "folder", "pictures"):
            size = " x ".join(str(number) for number in self.facts["size"])
            args |= {"examples": int(self.facts["examples"]), "size": size, "classes": int(self.facts["classes"])}
        if self.kind == "graphs":
            args |= {name: int(self.facts[name]) for name in ("examples", "nodes", "edges", "features", "classes")}
        for fact in ("parameters", "tokens", "rows"):
            if self.kind in ("model", "documented", "tokenizer", "texts") and fact in self.facts:
                args[fact] = int(self.facts[fact])
        if self.kind == "older":
            args["now"] = str(self.facts["now"])
        if self.kind == "file" and "tokens" in self.facts:
            return Sentence("rehearsal.stand_in.tokens", **args, tokens=int(self.facts["tokens"]))
        if self.kind in ("file", "download"):
            args |= {"words": int(self.facts["words"]), "different": int(self.facts["different"])}
        return Sentence(f"rehearsal.stand_in.{KINDS.get(self.kind, self.kind)}", **args)


def load_stand_ins(path: Path) -> list[StandIn]:
    """Read the list that a run left; a line that a killed run left half is passed over."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    stand_ins = []
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            values = [entry.pop(name) for name in ("kind", "name", "guessed", "file", "line")]
        except (ValueError, KeyError, AttributeError, TypeError):
            continue
        stand_ins.append(
            StandIn(str(values[0]), str(values[1]), bool(values[2]), str(values[3]), int(values[4]), entry)
        )
    return stand_ins


def find_missing(result: LaunchResult, folder: Path | None = None) -> str | None:
    """Return what a run failed for and may be made up: a file, a folder or its classes, PICTURES, a column or rows of a
    set that stood in, what a launcher sets, formulas of forward-mode gradients; None where it failed otherwise.

    `folder` is where the run left what it asked for and did not find: an assertion that fails says no name."""
    error = result.error
    if error is None or not error.type.endswith(("Error", "SystemExit")):
        return None
    if folder is not None and (flat := _find_flat(error, folder)):
        return flat
    if EMPTY in error.message:
        return PICTURES
    if NO_LAUNCHER.search(error.message):
        return LAUNCHER
    if NO_SCRIPT in error.message:
        return FORWARD
    if folder is not None and (rows := _find_rows(error.message, folder)):
        return rows
    match = MISSING.search(error.message)
    name = (match[1] or match[2]) if match else ""
    if not name and folder is not None:
        name = _find_asked(folder / "asked.jsonl", error)
    suffix = Path(name).suffix.lower()
    if name and (suffix in MADE_UP or not suffix or name.lower().endswith(WEIGHTS)):
        return name
    return PICTURES if folder is not None and _searched_in_vain(error, folder) else None


def _searched_in_vain(error: ChildError, folder: Path) -> bool:
    """Return whether a run failed for want of files after it looked through a folder that is not there, and no pictures
    stood in for it yet."""
    if any(stand_in.kind == "pictures" for stand_in in load_stand_ins(folder / "stand_ins.jsonl")):
        return False
    if error.type not in FOR_FILES and not NOTHING_THERE.search(error.message):
        return False
    return any(entry.get("searched") for entry in _load_questions(folder / "asked.jsonl"))


def _load_questions(path: Path) -> list[dict[str, Any]]:
    """Read what the program asked for and did not find."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return [json.loads(line) for line in text.splitlines()]


def _find_rows(message: str, folder: Path) -> str:
    """Return which column or how many rows a set that stood in lacks; empty where none did, or that is not it."""
    if not any(stand_in.kind == "texts" for stand_in in load_stand_ins(folder / "stand_ins.jsonl")):
        return ""
    if match := NO_ROW.search(message):
        return f"{MORE_ROWS}{int(match[1]) + 1 + SET_ASIDE}" if int(match[1]) < MOST_TEXT_ROWS else ""
    match = NO_COLUMN.search(message)
    return COLUMN + next(name for name in match.groups() if name) if match else ""


def _find_flat(error: ChildError, folder: Path) -> str:
    """Return of which folder of pictures that stood in a run wanted classes; empty where that is not it."""
    flat = [
        each.name
        for each in load_stand_ins(folder / "stand_ins.jsonl")
        if each.kind == "folder" and each.facts.get("classes") == 1
    ]
    wants = error.type in (*FOR_FILES, "AssertionError", "IsADirectoryError") or EMPTY in error.message
    return CLASSES + flat[-1] if flat and (wants or NOTHING_THERE.search(error.message)) else ""


def _find_asked(path: Path, error: ChildError) -> str:
    """Return what the program asked for, and did not find, where an assertion failed or what the error names; empty
    where nothing."""
    names = [""]
    for entry in _load_questions(path):
        name, file, line = str(entry["name"]), error.path or "", error.line or 0
        beside = bool(file) and str(entry["file"]).endswith(file) and 0 <= line - int(entry["line"]) <= NEAR
        named = len(name) > SHORT and name in error.message and NOTHING_THERE.search(error.message)
        if (
            not entry.get("address")
            and not entry.get("searched")
            and (named or error.type == "AssertionError" and beside)
        ):
            names.append(name)
    return names[-1]


def find_address(result: LaunchResult, stand_ins: Sequence[StandIn] = (), folder: Path | None = None) -> str:
    """Return what a run failed to reach over the network; UNKNOWN where its error names none and it left none in its
    `folder`, empty where not that.

    One that refuses what stood in for a download (its checksum is another) failed to reach that."""
    message = result.error.message if result.error is not None else ""
    refused = [each.name for each in stand_ins if each.kind in ("archive", "download", "picture")]
    if name := next((name for name in refused if "://" in name and name in message), ""):
        return name
    if not UNREACHED.search(message):
        return ""
    if match := ADDRESS.search(message):
        return match[1] or match[2]
    asked = (
        [str(entry["name"]) for entry in _load_questions(folder / "asked.jsonl") if entry.get("address")]
        if folder
        else []
    )
    return asked[-1] if asked else UNKNOWN


def configure_hub(network: bool, missing: Sequence[str] = ()) -> dict[str, object]:
    """Return what the plugin that stands in for the Hugging Face hub is told: models by name, whether it is asked, and
    what rows lacked in runs before."""
    models = json.loads(MODELS.read_text(encoding="utf-8"))["models"]
    known = [{"names": each["names"], "config": each["config"]} for each in models]
    pipelines = configure_pipelines()
    columns = [name.removeprefix(COLUMN) for name in missing if name.startswith(COLUMN)]
    rows = [int(name.removeprefix(MORE_ROWS)) for name in missing if name.startswith(MORE_ROWS)]
    plain = {"models": known, **pipelines, "offline": not network, "columns": columns}
    return {**plain, **({"rows": max(rows)} if rows else {})}


def configure_pipelines() -> dict[str, object]:
    """Return what the plugin that stands in for pipelines of diffusers is told."""
    return {"pipelines": json.loads(PIPELINES.read_text(encoding="utf-8"))["pipelines"]}


def configure(missing: Sequence[str], network: bool = False) -> dict[str, object]:
    """Return what the plugin that stands in for files is told: those that runs before did not find, and whether what
    downloads reaches anybody."""
    files = [name for name in missing if not name.startswith((COLUMN, MORE_ROWS, CLASSES)) and name not in MARKS]
    classes = [name.removeprefix(CLASSES) for name in missing if name.startswith(CLASSES)]
    weights = [name for name in files if name.lower().endswith(WEIGHTS)]
    facts: dict[str, object] = {"files": files, "classes": classes, "weights": weights}
    return {**facts, "pictures": PICTURES in missing, "offline": not network}
