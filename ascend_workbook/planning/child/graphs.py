"""A launch plugin: stand-ins for data sets of PyTorch Geometric that are not here and cannot be downloaded.

    graphs  a set that is known by name: as many graphs, nodes, edges, features and classes as it has; where a set has
            many graphs all of them have the mean size, which is guessed

Only what failed is replaced, and each is written down (stand_ins.jsonl). Runs in the user's process by path and imports
nothing of the workbook.
"""

from __future__ import annotations

import functools
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch

#: This file's frames stand between the program and the library; whose line it is must not change by that.
PASSES_THROUGH = True


class Graphs(NamedTuple):
    """A set: graphs, and of each nodes, edges (both directions counted), features of a node; classes."""

    number: int
    nodes: int
    edges: int
    features: int
    classes: int


#: Sets of one graph, and of many, as PyTorch Geometric's documentation counts them.
PLANETOID = {
    "cora": Graphs(1, 2_708, 10_556, 1_433, 7),
    "citeseer": Graphs(1, 3_327, 9_104, 3_703, 6),
    "pubmed": Graphs(1, 19_717, 88_648, 500, 3),
}
TU = {
    "mutag": Graphs(188, 18, 40, 7, 2),
    "enzymes": Graphs(600, 33, 124, 3, 6),
    "proteins": Graphs(1_113, 39, 146, 3, 2),
    "nci1": Graphs(4_110, 30, 64, 37, 2),
    "dd": Graphs(1_178, 284, 1_432, 89, 2),
    "collab": Graphs(5_000, 74, 4_914, 0, 3),
    "imdb-binary": Graphs(1_000, 20, 194, 0, 2),
    "reddit-binary": Graphs(2_000, 430, 996, 0, 2),
}
PPI = Graphs(20, 2_372, 68_508, 50, 121)
#: Graphs of a part of PPI: to train on, to judge by, to test.
PPI_PARTS = (20, 2, 2)
#: Nodes of a class to train on, nodes to judge by and to test, as Planetoid's public split has them.
TRAINED, JUDGED, TESTED = 20, 500, 1_000


#: Sets that were made up.
_made_up: list[str] = []


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for sets of graphs from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    folders = (Path(observer.out).resolve(), Path.cwd().resolve())
    observer.after_import(
        {
            "torch_geometric.io.fs": functools.partial(save_aside, folders),
            "torch_geometric.datasets.planetoid": functools.partial(patch_planetoid, notes),
            "torch_geometric.datasets.tu_dataset": functools.partial(patch_tu, notes),
            "torch_geometric.datasets.ppi": functools.partial(patch_ppi, notes),
        }
    )


def patch_planetoid(notes: Any, module: ModuleType) -> None:
    """Let Planetoid read a graph of the right size where it has none."""
    pass_over_downloads(module.Planetoid, PLANETOID)
    ordinary = module.read_planetoid_data

    @functools.wraps(ordinary)
    def read_planetoid_data(folder: str, prefix: str) -> Any:
        try:
            return ordinary(folder, prefix)
        except OSError:
            graphs = PLANETOID[prefix.lower()]
            tell(notes, prefix, graphs, guessed=False)
            return make_split_graph(graphs)

    module.read_planetoid_data = read_planetoid_data  # type: ignore[attr-defined]


def patch_tu(notes: Any, module: ModuleType) -> None:
    """Let TUDataset read graphs of the mean size where it has none."""
    pass_over_downloads(module.TUDataset, TU)
    ordinary = module.read_tu_data

    @functools.wraps(ordinary)
    def read_tu_data(folder: str, prefix: str) -> Any:
        try:
            return ordinary(folder, prefix)
        except OSError:
            graphs = TU[prefix.lower()]
            tell(notes, prefix, graphs, guessed=True)
            each = [make_graph(graphs, torch.tensor([number % graphs.classes])) for number in range(graphs.number)]
            data, slices, *_ = module.TUDataset.collate(each)
            names = ("num_node_attributes", "num_edge_labels", "num_edge_attributes")
            return data, slices, {**dict.fromkeys(names, 0), "num_node_labels": graphs.features}

    module.read_tu_data = read_tu_data  # type: ignore[attr-defined]


def patch_ppi(notes: Any, module: ModuleType) -> None:
    """Let PPI make graphs of the mean size where it has none."""
    pass_over_downloads(module.PPI, None)
    ordinary = module.PPI.process

    @functools.wraps(ordinary)
    def process(self: Any) -> None:
        try:
            ordinary(self)
        except OSError:
            tell(notes, "PPI", PPI, guessed=True)
            labels = torch.zeros(PPI.nodes, PPI.classes)
            for path, count in zip(self.processed_paths, PPI_PARTS):
                each = [make_graph(PPI, labels) for _ in range(count)]
                self.save(each if self.pre_transform is None else [*map(self.pre_transform, each)], path)

    module.PPI.process = process


def pass_over_downloads(cls: Any, known: dict[str, Graphs] | None) -> None:
    """Let a class go on where it cannot download a set that is known."""
    ordinary = cls.download

    @functools.wraps(ordinary)
    def download(self: Any) -> None:
        try:
            ordinary(self)
        except OSError:
            if known is not None and self.name.lower() not in known:
                raise

    cls.download = download


def save_aside(folders: tuple[Path, Path], module: ModuleType) -> None:
    """Keep what a set saves out of folders of the user's, once one was made up: its next run would take it for real."""
    moved: dict[str, str] = {}
    ordinary_save, ordinary_load = module.torch_save, module.torch_load

    @functools.wraps(ordinary_save)
    def torch_save(data: Any, path: str, *args: Any, **kwargs: Any) -> None:
        if _made_up and not any(folder in Path(path).resolve().parents for folder in folders):
            aside = folders[0] / "stand_ins"
            aside.mkdir(parents=True, exist_ok=True)
            path = moved.setdefault(str(path), str(aside / f"graphs{len(moved)}.pt"))
        ordinary_save(data, path, *args, **kwargs)

    @functools.wraps(ordinary_load)
    def torch_load(path: str, *args: Any, **kwargs: Any) -> Any:
        return ordinary_load(moved.get(str(path), path), *args, **kwargs)

    module.torch_save, module.torch_load = torch_save, torch_load  # type: ignore[attr-defined]


def tell(notes: Any, name: str, graphs: Graphs, *, guessed: bool) -> None:
    """Write down what stands in."""
    _made_up.append(name)
    sizes = {"nodes": graphs.nodes, "edges": graphs.edges, "features": graphs.features, "classes": graphs.classes}
    notes.add("graphs", name, guessed=guessed, examples=graphs.number, **sizes)


def make_graph(graphs: Graphs, labels: torch.Tensor) -> Any:
    """Return a graph in which every node has as many neighbours as the others, or one more."""
    library: Any = import_module("torch_geometric.data")
    data = library.Data(edge_index=draw_edges(graphs), y=labels)
    if graphs.features:
        data.x = torch.zeros(graphs.nodes, graphs.features)
        data.x[:, 0] = 1
    else:
        data.num_nodes = graphs.nodes
    return data


def draw_edges(graphs: Graphs) -> torch.Tensor:
    """Return each edge once in both directions: nodes in a ring, joined to those that follow."""
    pairs = torch.arange(graphs.edges // 2)
    first = pairs % graphs.nodes
    second = (first + 1 + pairs // graphs.nodes) % graphs.nodes
    return torch.stack((torch.cat((first, second)), torch.cat((second, first))))


def make_split_graph(graphs: Graphs) -> Any:
    """Return a graph with a class for each node, and which nodes are trained on, judged by and tested."""
    data = make_graph(graphs, torch.arange(graphs.nodes) % graphs.classes)
    trained = TRAINED * graphs.classes
    ends = {"train_mask": (0, trained), "val_mask": (trained, trained + JUDGED), "test_mask": (-TESTED, graphs.nodes)}
    for name, (start, end) in ends.items():
        data[name] = torch.zeros(graphs.nodes, dtype=torch.bool)
        data[name][start:end] = True
    return data
