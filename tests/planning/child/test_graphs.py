"""Sets of graphs that are known by name have their size, are split as usual, and are written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.planning.child.graphs import PLANETOID, TU, Graphs, draw_edges
from ascend_workbook.planning.rehearsal.stand_ins import StandIn
from tests.planning.child import running

GRAPHS: tuple[str, dict[str, object]] = ("graphs.py", {})
#: As much of PyTorch Geometric as is asked for.
DATA = """
class Data(dict):
    def __init__(self, **values):
        super().__init__(values)
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
"""
PLANETOID_FILE = """
def read_planetoid_data(folder, prefix):
    return open(folder + "/x")
class Planetoid:
    def __init__(self, root, name):
        self.name = name
        self.download()
        self.data = read_planetoid_data(root, name)
    def download(self):
        raise OSError("no network")
"""


FS = """
def torch_save(data, path):
    open(path, "w").write(str(data))
def torch_load(path):
    return open(path).read()
"""


def run(folder: Path, code: str) -> tuple[object, list[StandIn], str]:
    library = folder / "site-packages" / "torch_geometric"
    (library / "datasets").mkdir(parents=True)
    (library / "io").mkdir()
    (library / "io" / "fs.py").write_text(FS)
    (library / "data.py").write_text(DATA)
    (library / "datasets" / "planetoid.py").write_text(PLANETOID_FILE)
    facts, stand_ins, errors = running.run(folder, code, GRAPHS, library="site-packages")
    return facts, stand_ins, errors


def test_a_graph_of_a_known_name(tmp_path: Path) -> None:
    code = """
from torch_geometric.datasets.planetoid import Planetoid
made = Planetoid("data", "Cora").data
try:
    Planetoid("data", "Nobody")
except OSError as problem:
    counts = [int(made[name].sum()) for name in ("train_mask", "val_mask", "test_mask")]
    print(json.dumps([list(made.x.shape), list(made.edge_index.shape), int(made.y.max()), counts, str(problem)]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [[2708, 1433], [2, 10556], 6, [140, 500, 1000], "no network"], errors
    told = [(each.kind, each.name, each.guessed, each.sentence.args["edges"]) for each in stand_ins]
    assert told == [("graphs", "Cora", False, 10556)]


def test_what_was_made_up_is_saved_in_no_folder_of_the_users(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = tmp_path_factory.mktemp("own")
    code = f"""
from torch_geometric.io import fs
from torch_geometric.datasets.planetoid import Planetoid
fs.torch_save("real", "{own}/before.pt")
Planetoid("{own}", "Cora")
fs.torch_save("made up", "{own}/data.pt")
fs.torch_save("here", "data.pt")
print(json.dumps([fs.torch_load("{own}/data.pt"), fs.torch_load("{own}/before.pt"), Path("data.pt").read_text()]))
"""
    facts, _, errors = run(tmp_path, code)
    assert facts == ["made up", "real", "here"], errors
    assert [path.name for path in own.iterdir()] == ["before.pt"]


@pytest.mark.parametrize("graphs", [*PLANETOID.values(), *TU.values()])
def test_each_edge_is_there_once_and_turned_around(graphs: Graphs) -> None:
    edges = draw_edges(graphs)
    assert int(edges.max()) < graphs.nodes
    pairs = {tuple(pair) for pair in edges.t().tolist()}
    assert len(pairs) == graphs.edges and all(first != second for first, second in pairs)
    assert {(second, first) for first, second in pairs} == pairs
