"""How the ranks' tensors make up one."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_workbook.precision.ranks.arranging import (
    COPY,
    LAID,
    SUM,
    Action,
    Axis,
    cut_part,
    join_arrays,
    list_arrangements,
    refold,
    relative_error,
)

PAIR = (Axis(((0, 1),), False),)
GRID = (Axis(((0, 1), (2, 3)), False), Axis(((0, 2), (1, 3)), True))


def test_a_divided_dimension_is_laid_side_by_side() -> None:
    whole = np.arange(12.0).reshape(2, 6)
    arrays = dict(enumerate(np.split(whole, 2, axis=1)))
    shapes = {rank: array.shape for rank, array in arrays.items()}
    arrangements = list_arrangements(shapes, whole.shape, PAIR)
    assert arrangements == [(Action(LAID, 1),)]
    assert np.array_equal(join_arrays(arrays, PAIR, arrangements[0]), whole)
    part = cut_part(whole, 1, shapes, PAIR, arrangements[0])
    assert part is not None
    assert np.array_equal(part, arrays[1])


def test_one_shape_may_be_a_copy_or_a_part_of_a_sum() -> None:
    kinds = [actions[0].kind for actions in list_arrangements({0: (3,), 1: (3,)}, (3,), PAIR)]
    assert kinds == [COPY, SUM]
    data = (Axis(PAIR[0].groups, True),)
    kinds = [actions[0].kind for actions in list_arrangements({0: (3,), 1: (3,)}, (3,), data)]
    assert kinds == [COPY, "mean", SUM]


def test_parts_of_other_sizes_are_laid_where_they_fill_the_whole() -> None:
    assert list_arrangements({0: (3, 2), 1: (2, 2)}, (5, 2), PAIR) == [(Action(LAID, 0),)]
    assert list_arrangements({0: (3, 2), 1: (1, 2)}, (5, 2), PAIR) == []


def test_two_axes_divide_two_dimensions() -> None:
    whole = np.arange(16.0).reshape(4, 4)
    arrays = {0: whole[:2, :2], 1: whole[:2, 2:], 2: whole[2:, :2], 3: whole[2:, 2:]}
    shapes = {rank: array.shape for rank, array in arrays.items()}
    right = (Action(LAID, 1), Action(LAID, 0))
    assert right in list_arrangements(shapes, whole.shape, GRID)
    assert np.array_equal(join_arrays(arrays, GRID, right), whole)
    assert np.array_equal(cut_part(whole, 2, shapes, GRID, right), arrays[2])  # type: ignore[arg-type]


def test_query_key_and_value_in_one_weight_are_divided_each() -> None:
    whole = np.arange(12.0)
    arrays = {0: whole[[0, 1, 4, 5, 8, 9]], 1: whole[[2, 3, 6, 7, 10, 11]]}
    shapes = {rank: array.shape for rank, array in arrays.items()}
    folded = next(actions for actions in refold((Action(LAID, 0),), shapes) if actions[0].folds == 3)
    assert np.array_equal(join_arrays(arrays, PAIR, folded), whole)
    assert np.array_equal(cut_part(whole, 1, shapes, PAIR, folded), arrays[1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("left", "right", "error"),
    [([1.0, 2.0], [1.0, 2.0], 0.0), ([1.0], [1.0, 2.0], float("inf")), ([np.inf, 1.0], [np.inf, 1.0], 0.0)],
)
def test_an_error_is_relative_to_the_reference(left: list[float], right: list[float], error: float) -> None:
    assert relative_error(np.array(left), np.array(right)) == error
    assert relative_error(np.array([1.0, np.inf]), np.array([1.0, 1.0])) == float("inf")


def test_parts_of_other_sizes_are_folded_only_where_all_can_be() -> None:
    folds = [actions[0].folds for actions in refold((Action(LAID, 0),), {0: (12, 2), 1: (11, 2)})]
    assert folds == []
    assert [actions[0].folds for actions in refold((Action(LAID, 0),), {0: (4, 2), 1: (2, 2)})] == [2]
