"""Operators that draw random numbers. Generators of different devices give other numbers from one seed, so that what
such an operator gives differs without a fault, and everything behind it."""

from __future__ import annotations

from helpers.precision.record import Operator
from helpers.precision.tensors.agreement import Agreement

SOURCE = "https://www.hiascend.com/document/detail/en/mindstudio/830/practicalcases/LargeModelTrainingAccuracy/toolsample3_005.html"
MASKS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu",
         "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "DropPath")  # fmt: skip
DRAWS = ("rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "bernoulli", "bernoulli_",
         "multinomial", "normal", "normal_", "uniform_", "random_", "gumbel_softmax", "poisson",
         "exponential_")  # fmt: skip
ATTENTION = "scaled_dot_product_attention"
#: Numbers that differ leave an error of the size of the values; rounding never does.
LARGE, TIMES = 0.05, 10.0


def draws(operator: Operator) -> bool:
    """Whether the forward call draws at all: dropout not in evaluation, nor with a probability of 0."""
    given = dict(operator.arguments)
    if operator.api in DRAWS:
        return True
    if operator.api == ATTENTION:
        return given.get("input.dropout_p", given.get("input.4", 0.0)) > 0
    if operator.api == "rrelu":
        return bool(given.get("input.training", given.get("input.3", False)))
    if operator.api not in MASKS:
        return False
    probability = given.get("input.p", given.get("input.1", 0.5))
    training = given.get("input.training", given.get("input.2", True))
    return bool(training) and probability > 0


def other_numbers(found: Agreement) -> bool:
    """Whether its values differ as only other random numbers make them: far more than its inputs do."""
    error = found.error_out or 0.0
    return error > LARGE and error > TIMES * found.error_in
