"""A launch plugin: what a stage of torch.distributed.pipelining that runs alone is told by the stages beside it.

Stages tell each other the shapes of what they will send. A gradient has the shape of the stage's own result. What comes
in is known to the stage before alone: each stage leaves what it tells in a folder, which is handed from one rank of a
rehearsal to the next; one reads there what the nearest stage before it told. Of equal layers all tell the same.

Configuration: folder. A stage that finds nothing there leaves a file `wanted` in it and ends. Runs in the user's
process by path and imports nothing of the workbook."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

MODULE = "torch.distributed.pipelining.stage"


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Change pipeline stages when the script imports them, which takes a second that other scripts are spared."""
    if observer.world_size > 1:
        peers = Peers(Path(config["folder"]))
        if MODULE in sys.modules:
            peers.change_stages(sys.modules[MODULE])
        else:
            sys.meta_path.insert(0, Finder(peers))


class Finder:
    """Finds the module once, and changes it when it has run."""

    def __init__(self, peers: Peers) -> None:
        self.peers = peers

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_change(module: Any) -> None:
            run(module)
            self.peers.change_stages(module)

        spec.loader.exec_module = run_and_change  # type: ignore[method-assign]
        return spec


class Peers:
    """The stages beside the one that runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def change_stages(self, module: Any) -> None:
        """Let stages of this PyTorch ask and tell here; one that has other methods stays as it is."""
        kind = module.PipelineStage
        if not (hasattr(kind, "_recv_meta") and hasattr(kind, "_send_meta")):
            return

        def tell(stage: Any, meta: Any, to: int) -> None:
            if to > stage.stage_index:
                self.leave(stage.stage_index, meta)

        def ask(stage: Any, of: int) -> Any:
            if of < stage.stage_index:
                return self.find(of)
            outputs = tuple(replace(each, requires_grad=False) for each in stage._stage_meta.outputs)
            return module._StageBackwardMeta(backward_metas=outputs)

        def vote(stage: Any, has_backward: bool, received_acc: Any = None) -> Any:
            stage.own_vote = module.torch.tensor(
                [0 if module.InferenceMode.needs_dynamic(stage._user_meta, has_backward) else 1],
                dtype=module.torch.int32,
                device=stage.device,
            )
            return stage.own_vote

        kind._send_meta, kind._recv_meta = tell, ask
        kind._warmup_forward_vote = vote
        kind._warmup_backward_result = lambda stage, received_result=None: stage.own_vote

    def leave(self, stage: int, meta: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"stage{stage}.told").write_bytes(pickle.dumps(meta))

    def find(self, stage: int) -> Any:
        """Return what the nearest stage up to this one told."""
        for before in range(stage, -1, -1):
            path = self.folder / f"stage{before}.told"
            if path.is_file():
                return pickle.loads(path.read_bytes())  # written by another rank of this rehearsal
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "wanted").touch()
        raise RuntimeError(f"nothing told stage {stage + 1} the shapes that stage {stage} sends: rehearse rank 0 too")
