"""Operators that draw random numbers. Generators of different devices give other numbers from one seed, so that what
such an operator gives differs without a fault, and everything behind it."""

from __future__ import annotations

from ascend_workbook.precision.record import Operator
from ascend_workbook.precision.tensors.agreement import Agreement

SOURCE = "https://www.hiascend.com/document/detail/en/mindstudio/830/practicalcases/LargeModelTrainingAccuracy/toolsample3_005.html"
# ruff: noqa: SIM905 - a column of names reads better without quotes
MASKS = """
dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rrelu Dropout Dropout1d Dropout2d Dropout3d
AlphaDropout DropPath
""".split()
DRAWS = """
rand randn rand_like randn_like randint randint_like randperm bernoulli bernoulli_ multinomial normal normal_ uniform_
random_ gumbel_softmax poisson exponential_
""".split()
ATTENTION = "scaled_dot_product_attention"
#: Numbers that differ leave an error of the size of the values; rounding never does.
LARGE, TIMES = 0.05, 10.0


def draws_numbers(operator: Operator) -> bool:
    """Whether the forward call draws at all: dropout not in evaluation, nor with a probability of 0."""
    arguments = dict(operator.arguments)
    if operator.api in DRAWS:
        return True
    if operator.api == ATTENTION:
        return arguments.get("input.dropout_p", arguments.get("input.4", 0.0)) > 0
    if operator.api == "rrelu":
        return bool(arguments.get("input.training", arguments.get("input.3", False)))
    if operator.api not in MASKS:
        return False
    probability = arguments.get("input.p", arguments.get("input.1", 0.5))
    training = arguments.get("input.training", arguments.get("input.2", True))
    return bool(training) and probability > 0


def other_numbers(agreement: Agreement) -> bool:
    """Whether its values differ as only other random numbers make them: far more than its inputs do."""
    error = agreement.error_out or 0.0
    return error > LARGE and error > TIMES * agreement.error_in
