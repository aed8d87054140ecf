"""verify: what passes, what does not, and what is told beside it. Models of a few modules, in this process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.child import recorder, verify_child
from ascend_workbook.precision.verify.layers import Comparing, wilson_interval
from ascend_workbook.precision.verify.sides import Call, Taken, Tensor
from helpers import verify

NETWORK = """
import torch
from torch import nn

def build():
    print("a line that is no answer")
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3)).eval()

def broken():
    raise RuntimeError("no weights here")

def batches():
    for index in range(4):
        yield (torch.randn(5, 6),)
"""


class Net(nn.Module):
    """A convolution, a norm, an in-place activation and a head that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.relu(self.norm(self.conv(x))).mean(dim=1).flatten(1)
        return {"logits": self.head(self.head(x)), "top": x.argmax(1)}


class Two(nn.Module):
    """One linear layer and what a test puts behind it."""

    def __init__(self, after: Callable[[torch.Tensor], Any], last: nn.Module | None = None) -> None:
        super().__init__()
        self.first, self.after, self.last = nn.Linear(4, 4), after, last or nn.Identity()

    def forward(self, x: torch.Tensor) -> Any:
        return self.last(self.after(self.first(x)))


def net(**_: Any) -> Net:
    torch.manual_seed(0)
    return Net().eval()


def changed(model: nn.Module, name: str, factor: float) -> nn.Module:
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.get_parameter(name).mul_(factor)
    return other


def inputs(count: int = 4) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    return [torch.randn(3, 2, 4, 4, generator=draw) for _ in range(count)]


def told(report: Report) -> set[str]:
    return {found.key for found in report.findings}


def one(report: Report, key: str) -> Finding:
    (found,) = (found for found in report.findings if found.key == key)
    return found


def two(
    left: Callable[[torch.Tensor], Any],
    right: Callable[[torch.Tensor], Any],
    *,
    last: Last | None = None,
    **options: Any,
) -> Report:
    torch.manual_seed(0)
    first = Two(left)
    second = Two(right)
    second.load_state_dict(first.state_dict())
    if last is not None:
        first.last, second.last = Last(last.given, 1.0), last
    return verify(first, second, [torch.ones(2, 4), torch.full((2, 4), 3.0)], **options)


def test_one_model_with_itself_passes_whole() -> None:
    model = net()
    report = verify(model, model, inputs())
    assert report.status is Status.GOOD and told(report) == {"ACC270.identical"}
    assert (
        report.facts["passed"] == report.facts["inputs"] == 4
        and report.facts["interval"][0] == wilson_interval(4, 4)[0]
    )
    assert report.table and report.table.column_values("layer") == ["conv", "norm", "relu", "head", "head#1", "(model)"]
    assert set(report.table.column_values("passed")) == {"4/4"} and "4" in report.text("zh") and report.html("en")


def test_nothing_stays_on_the_models_and_generators() -> None:
    model = Net()  # in training mode: its running means change
    means = model.norm.running_mean.clone()  # type: ignore[operator,union-attr]
    torch.manual_seed(7)
    before = torch.get_rng_state()
    report = verify(model, copy.deepcopy(model), inputs(2), reference=True)
    assert torch.equal(torch.get_rng_state(), before) and torch.equal(model.norm.running_mean, means)  # type: ignore[arg-type]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert model.training and one(report, "ACC276.training").args["names"] == ["norm"]
    assert report.status is Status.LOOK and report.headline and report.headline.key == "ACC270.identical"


@pytest.mark.parametrize("reference", [False, True])
def test_a_weight_that_differs_names_its_module_input_and_side(reference: bool) -> None:
    model = net()
    report = verify(model, changed(model, "conv.weight", 1.02), inputs(), reference=reference)
    assert report.status is Status.FIX and report.facts["passed"] == 0 and report.facts["failed_inputs"] == [0, 1, 2, 3]
    assert report.facts["first"]["layer"] == report.facts["worst"]["layer"] == "conv"
    assert one(report, "ACC275.weights").args["names"] == ["conv.weight"]
    again = verify(model, changed(model, "conv.weight", 1.02), inputs(), only=[report.facts["worst"]["input"]])
    assert again.facts["worst"] == report.facts["worst"] and again.facts["inputs"] == 1
    if reference:
        assert one(report, "ACC277.side").args["side"] == {"say": "verify.side_target"}
        swapped = verify(changed(model, "conv.weight", 1.02), model, inputs(1), reference=True)
        assert swapped.status is Status.FIX  # the reference has the baseline's weights: the target is off from it


def test_rounding_of_another_order_of_sums_passes() -> None:
    model = net()
    other = copy.deepcopy(model)
    with torch.no_grad():
        for value in other.parameters():
            value.mul_(1 + 2.0**-23)
    report = verify(model, other, inputs())
    assert report.facts["passed"] == 4 and report.headline and report.headline.key == "ACC270.passed"


def test_bfloat16_against_float32_is_allowed_its_rounding_and_told() -> None:
    model = net()
    report = verify(model, copy.deepcopy(model).bfloat16(), inputs())
    assert report.facts["passed"] == 4 and {"ACC274.dtype", "ACC274.cast", "ACC275.unknown"} <= told(report)
    assert report.table and set(report.table.column_values("ulp")[:5]) == {None}
    sick = verify(model, changed(model, "conv.weight", 1.3).bfloat16(), inputs())
    assert sick.facts["worst"]["layer"] == "conv" and sick.facts["passed"] == 0


def test_one_input_of_many_may_fail_and_is_named() -> None:
    report = two(lambda x: x, lambda x: x * 1.001 if x.abs().max() > 1.8 else x, required=0.5)
    failed = report.facts["failed_inputs"]
    assert report.facts["passed"] == 1 and failed == [1] and report.facts["worst"]["input"] == 1
    assert report.status is Status.LOOK
    assert two(lambda x: x, lambda x: x * 1.001 if x.abs().max() > 1.8 else x).status is Status.FIX


@pytest.mark.parametrize(
    ("right", "key", "detail"),
    [
        (lambda x: x[:, :3], "ACC270.shape", "[2, 4] / [2, 3]"),
        (lambda x: (x, x), "ACC270.structure", "output.1"),
        (lambda x: torch.where(torch.arange(4) == 2, torch.nan, x), "ACC270.nonfinite", "2 / 8: output[0, 2]"),
    ],
)
def test_structure_and_nan_come_before_numbers(right: Callable[[torch.Tensor], Any], key: str, detail: str) -> None:
    report = two(lambda x: x, right)
    assert report.status is Status.FIX and detail in str(one(report, key).args["detail"])
    assert report.facts["first"]["layer"] == "last"


def test_the_same_nan_on_both_sides_is_no_difference_and_is_told() -> None:
    report = two(lambda x: x / 0 * 0, lambda x: x / 0 * 0)
    assert report.facts["passed"] == 2 and report.status is Status.LOOK and "ACC270.identical" not in told(report)
    assert report.headline and report.headline.key == "ACC273.nan" and report.headline.args["places"] == 8
    infinite = two(lambda x: x / 0, lambda x: x / 0)  # as masks hold it
    assert infinite.status is Status.GOOD and "NaN" in report.text("zh")


class Holder:
    """No dictionary and no dataclass; it holds itself as well."""

    def __init__(self, value: Any) -> None:
        self.value, self.own, self.name = value, self, "a name"


class Hidden:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@pytest.mark.parametrize(
    "given",
    [
        Holder,
        lambda x: float(x.sum()),
        lambda x: int(x.sum() * 100),
        lambda x: bool(x.sum().abs() < 20),
        lambda x: x.numpy(),
        lambda x: {"scores": [Holder(x.sum().item())]},
        lambda x: float(x.sum()) * 1e300,
        lambda x: int(x.sum() * 100) << 70,
    ],
)
def test_numbers_and_what_objects_hold_are_compared(given: Callable[[torch.Tensor], Any]) -> None:
    same, other = (two(lambda x: x, lambda x: x, last=Last(given, factor)) for factor in (1.0, 100.0))
    assert same.status is Status.GOOD and told(same) == {"ACC270.identical"}
    assert other.status is Status.FIX and other.facts["passed"] < 2 and other.facts["first"]["layer"] == "last"


class Last(nn.Module):
    """Gives what a test makes of its input, on the target's side of a multiple of it."""

    def __init__(self, given: Callable[[torch.Tensor], Any], factor: float) -> None:
        super().__init__()
        self.given, self.factor = given, factor

    def forward(self, x: torch.Tensor) -> Any:
        return self.given(x * self.factor)


@pytest.mark.parametrize("given", [Hidden, lambda _: None, lambda _: "a text"])
def test_a_model_whose_output_cannot_be_seen_never_passes(given: Callable[[torch.Tensor], Any]) -> None:
    report = two(lambda x: x, lambda x: x, last=Last(given, 100.0))
    assert report.status is Status.FIX and report.facts["passed"] == 0
    assert report.headline and report.headline.key == "ACC273.blind" and "last" in report.facts["not_compared"]
    assert one(report, "ACC273.nothing").args["names"] == ["last (Last)"]
    assert report.table and report.table.column_values("passed") == ["2/2", None, None]


class Aside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.silent = nn.Linear(4, 4), Last(lambda _: None, 1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.silent(x)
        return self.first(x)  # type: ignore[no-any-return]


def test_a_module_that_gives_nothing_is_told_and_does_not_hide_the_rest() -> None:
    model = Aside()
    report = verify(model, copy.deepcopy(model), [torch.ones(1, 4)])
    assert report.status is Status.NOT_LOOKED and report.facts["passed"] == 1 and "ACC273.nothing" in told(report)


def test_wrappers_of_torch_are_no_modules_of_the_model() -> None:
    model = net().train()
    report = verify(model, nn.DataParallel(copy.deepcopy(model)), inputs())
    assert told(report) == told(verify(model, model, inputs())) and report.facts["not_compared"] == []
    sick = verify(nn.DataParallel(net()), changed(net(), "conv.weight", 1.1), inputs())
    assert {"ACC270.apart", "ACC275.weights"} == told(sick) and sick.facts["first"]["layer"] == "conv"
    own = nn.Module()
    own.module = nn.DataParallel(nn.Sequential(torch.compile(nn.Linear(1, 1))))  # type: ignore[arg-type]
    assert [path for path, _ in recorder.plain_modules(own)] == ["", "module", "module.0"]


def test_an_error_of_one_side_is_told_with_its_module_and_fails_its_input() -> None:
    class Fails(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError("operator is not supported")

    first = Two(lambda x: x)
    second = Two(lambda x: x, Fails())
    second.load_state_dict(first.state_dict())
    report = verify(first, second, [torch.ones(1, 4)])
    found = one(report, "ACC271.raised")
    assert report.status is Status.FIX and report.facts["passed"] == 0
    assert found.args["layer"] == "last" and "not supported" in str(found.args["error"])
    assert [one.rule for one in report.findings if one.status is Status.FIX] == ["ACC271"], "one cause, one failure"
    assert report.headline is found
    assert report.table and "first" in report.table.column_values("layer")


def test_a_module_of_one_side_is_told_and_never_passes() -> None:
    torch.manual_seed(0)
    plain, more = nn.Sequential(nn.Linear(4, 4)), nn.Sequential(nn.Linear(4, 4), nn.Identity())
    more.load_state_dict(plain.state_dict())
    report = verify(plain, more, [torch.ones(1, 4)])
    assert report.status is Status.LOOK and one(report, "ACC273.only").args["names"] == ["1 (Identity)"]
    assert report.facts["not_compared"] == ["1"]
    assert report.table and report.table.rows[1][10] is None
    assert verify(nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 4), [torch.ones(1, 4)]).facts["passed"] == 0


def test_dropout_draws_alike_and_is_told_and_eval_draws_nothing() -> None:
    model = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5))
    report = verify(model, copy.deepcopy(model), [torch.ones(1, 4)])
    assert report.facts["passed"] == 1 and {"ACC276.training", "ACC276.drew"} <= told(report)
    assert not {"ACC276.training", "ACC276.drew"} & told(verify(model.eval(), model.eval(), [torch.ones(1, 4)]))
    report = verify(copy.deepcopy(model).train(), model, [torch.ones(1, 4)])
    assert [one.key for one in report.findings if one.status is Status.FIX] == ["ACC276.modes"]


def test_integers_may_tip_over_by_rounding_only() -> None:
    near = torch.tensor([[1.0, 1.0 + 2e-7]])

    class Top(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.argmax(1) + 1

    def model(shift: float) -> nn.Module:
        found = nn.Sequential(nn.Linear(2, 2, bias=False), Top())
        with torch.no_grad():
            found[0].weight.copy_(torch.diag(torch.tensor([1.0 + shift, 1.0])))  # type: ignore[union-attr,operator]
        return found

    assert verify(model(0.0), model(4e-7), [near]).facts["passed"] == 1
    assert verify(model(0.0), model(0.5), [near]).facts["passed"] == 0


def test_a_limit_given_by_hand_holds_for_every_module() -> None:
    model = net()
    other = changed(model, "head.weight", 1.001)
    assert verify(model, other, inputs(), tolerance=0.01).facts["passed"] == 4
    assert verify(model, other, inputs(), tolerance=1e-4).facts["first"]["layer"] == "head"


def test_lost_digits_are_no_fault_where_float64_shows_both_losing_them() -> None:
    """A normalisation of nearly constant rows has errors of hundreds of units on any device."""
    norm = nn.LayerNorm(64)
    rows = torch.randn(4, 64) * 1e-4 + 10

    class Other(nn.LayerNorm):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            middle = input.mean(-1, keepdim=True)
            return (input - middle) / (input.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()

    report = verify(norm, Other(64), [rows])
    assert report.facts["passed"] == 0
    assert verify(norm, Other(64), [rows], reference=True).facts["passed"] == 1


def test_a_generator_is_taken_one_by_one_and_as_far_as_asked() -> None:
    made: list[int] = []

    def endless() -> Iterator[dict[str, torch.Tensor]]:
        while True:
            made.append(1)
            yield {"x": torch.ones(1, 4)}

    model = Two(lambda x: x)
    assert verify(model, model, endless(), limit=3).facts["inputs"] == 3 and len(made) == 3
    assert verify(model, model, endless(), only=[4]).facts["inputs"] == 1 and len(made) == 3 + 5


@pytest.mark.parametrize(
    ("given", "options", "key"),
    [
        ([], {}, "verify.empty"),
        (torch.ones(2, 4), {}, "verify.inputs_kind"),
        ([torch.ones(1, 4)], {"only": [3]}, "verify.no_input"),
        ([torch.ones(1, 4)], {"mode": "eval"}, "verify.own_models"),
        ([torch.ones(1, 4)], {"mode": "test"}, "precision.option"),
        ([torch.ones(1, 4)], {"required": 0.0}, "verify.required"),
        ([torch.ones(1, 4)], {"tolerance": float("nan")}, "precision.tolerance"),
        ("inputs.pt", {}, "verify.mixed"),
    ],
)
def test_what_cannot_be_is_said(given: Any, options: dict[str, Any], key: str) -> None:
    model = Two(lambda x: x)
    with pytest.raises(WorkbookError) as error:
        verify(model, model, given, **options)
    assert error.value.key == key and error.value.message("zh")


@pytest.mark.parametrize(
    ("passed", "all_", "low", "high"),
    [
        (10, 10, 0.7225, 1.0),
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (0, 0, 0.0, 1.0),
        (999, 1000, 0.9944, 0.9998),
    ],
)
def test_the_interval_is_wilsons(passed: int, all_: int, low: float, high: float) -> None:
    assert wilson_interval(passed, all_) == pytest.approx((low, high), abs=1e-4)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("two") / "network.py"
    path.write_text(NETWORK, encoding="utf-8")
    return str(path)


def test_two_processes_of_one_factory_agree_with_checkpoint_and_reference(network: str, tmp_path: Path) -> None:
    torch.save({"state_dict": _weights(network)}, tmp_path / "a.pt")
    report = verify(
        f"{network}:build",
        str(tmp_path / "a.pt"),
        f"{network}:batches",
        factory=f"{network}:build",
        device_a="cpu",
        device_b="cpu",
        reference=True,
    )
    assert report.facts["passed"] == report.facts["inputs"] == 4 and report.tier == "cpu"
    assert report.table and report.table.column_values("baseline_truth")[0] > 0  # type: ignore[operator]
    assert "ACC275.weights" in told(report)  # the checkpoint's head is another
    assert report.facts["first"] is None


def _weights(network: str) -> dict[str, torch.Tensor]:
    """As build() makes them, the unused last bias moved by nothing that rounding would not explain."""
    scope: dict[str, Any] = {}
    exec(Path(network).read_text(encoding="utf-8"), scope)
    torch.manual_seed(0)
    state: dict[str, torch.Tensor] = scope["build"]().state_dict()
    state["2.bias"] = state["2.bias"] * (1 + 2.0**-23)
    return state


def test_an_npu_beside_the_cpu_and_a_fault_on_it(network: str, simulator_env: dict[str, str]) -> None:
    fault = {"ASCEND_WORKBOOK_SIM_FAULT": "aten::addmm@4:scale=1.01"}
    report = verify(
        f"{network}:build",
        f"{network}:build",
        f"{network}:batches",
        device_a="cpu",
        device_b="npu-simulated",
        settings=fault,
    )
    assert report.simulated and report.on_purpose and report.status is Status.FIX
    assert report.facts["passed"] == 3 and report.facts["failed_inputs"] == [1]
    assert report.facts["worst"] == {**report.facts["worst"], "layer": "2", "input": 1}


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"", "EOFError"), (b"PK random", "Error"), (pickle.dumps(print), "weights_only"), (None, "not a state_dict")],
)
def test_a_checkpoint_that_is_none_is_said_and_nothing_in_it_runs(
    network: str, tmp_path: Path, content: bytes | None, text: str
) -> None:
    path = tmp_path / "a.pt"
    torch.save([torch.ones(1)], path) if content is None else path.write_bytes(content)
    job = {"factory": f"{network}:build", "checkpoint": str(path), "seed": 0}
    with pytest.raises(verify_child.CannotStart, match="a.pt") as error:
        verify_child.model_of(job, recorder)
    assert text in str(error.value)


def test_a_side_that_cannot_be_made_is_said(network: str) -> None:
    with pytest.raises(WorkbookError) as error:
        verify(f"{network}:broken", f"{network}:nothing", f"{network}:batches", device_a="cpu", device_b="cpu")
    assert error.value.key == "verify.cannot_start" and "no weights here" in error.value.message("en")


@pytest.mark.parametrize(
    ("model", "key"),
    [("network.py", "verify.target"), ("absent.py:build", "verify.missing"), ("absent.pt", "verify.missing")],
)
def test_a_text_that_names_nothing_is_said_before_anything_starts(model: str, key: str) -> None:
    with pytest.raises(WorkbookError) as error:
        verify(model, model, "inputs.py:make")
    assert error.value.key == key


@pytest.mark.parametrize(("eps", "told"), [(1e-3, True), (1e-5, False)])
def test_modules_that_are_set_otherwise_are_named_with_both_settings(eps: float, told: bool) -> None:
    models = [nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4, eps=value)).eval() for value in (1e-5, eps)]
    models[1].load_state_dict(models[0].state_dict())
    report = verify(*models, [torch.randn(2, 4)])
    found = [one.message("en") for one in report.findings if one.rule == "ACC278"]
    assert bool(found) == told
    assert all("1: LayerNorm((4,), eps=1e-05" in line and "eps=0.001" in line for line in found)


def call(path: str, kind: str, inside: int = 0, known: bool = True) -> Call:
    values = np.ones(4, np.float32)
    tensors = (Tensor("output.0", "float32", (4,), values),)
    return Call(path, kind, 0, inside, known, tensors, tensors)


@pytest.mark.parametrize(
    ("kind", "known", "coarse"), [("Linear", True, False), ("Conv2d", True, True), ("Mine", False, True)]
)
def test_a_reduced_format_widens_the_models_own_limit_only_where_its_modules_may_use_it(
    kind: str, known: bool, coarse: bool
) -> None:
    taken = Taken((call("0", kind, known=known), call("", "Sequential", inside=1)))
    plain, npu = (Comparing(None, {"conv": form}).compare_layers(taken, taken)[-1] for form in ("", "hf32"))
    comparing = Comparing(None, {"conv": "hf32"})
    layers = comparing.compare_layers(taken, taken)
    assert (max(comparing._list_formats(layers[1].call, layers[:1])) == "hf32") is coarse
    assert plain.allowed <= npu.allowed
