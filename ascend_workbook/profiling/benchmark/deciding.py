"""Is one setting faster than another? Asked after every round, with an error that asking often does not raise.

A round runs each setting once, one after another, so what a machine does to one it does to all; what counts is the
logarithm of a setting's speed over that of the script as it is, in the same round. The test is the t-test as an
e-process, a normal mixture over the effect in standard deviations: the wealth
`sqrt(c / (n + c)) * (V / (V - S^2 / (n + c)))^(n / 2)` of n values with sum S and sum of squares V is, without an
effect, above 1 / error with a chance of at most `error` in all rounds together (Ville), however often and whenever one
looks.
Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance, 2023."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: What is thought of the effect before: so many rounds' worth of none, in units of its standard deviation
PRIOR = 0.1
#: Chance that any setting of a whole trial is called faster or slower though it is not
ERROR = 0.05
#: A difference of speed that is no reason to change a setting
WORTH = 0.02
FASTER, SLOWER, ALIKE, OPEN = "faster", "slower", "alike", "open"


@dataclass(frozen=True)
class Decision:
    """What is known of a setting's speed over that of the script as it is: `ratio`, and where it lies with the error
    asked for, `low` and `high`, None where the rounds tell no bound yet."""

    verdict: str
    ratio: float
    low: float | None
    high: float | None
    rounds: int


def confidence_interval(values: Sequence[float], error: float) -> tuple[float, float] | None:
    """Return where the mean lies; in all rounds together it lies outside with a chance of at most `error`. None where
    so few values bound nothing."""
    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    scatter = math.fsum((value - mean) ** 2 for value in values)
    share = 1.0 - (error**2 * PRIOR / (count + PRIOR)) ** (1.0 / count)
    left = 1.0 - share * (count + PRIOR) / count
    if left <= 0:
        return None
    half = math.sqrt(share * (count + PRIOR) * scatter / left) / count
    return mean - half, mean + half


def decide(rates: Sequence[float], base: Sequence[float], settings: int = 1, worth: float = WORTH) -> Decision:
    """Decide on a setting by its rates and those of the script as it is, a round each. `settings`: how many are tried
    against it at once, which share the error."""
    logs = [math.log(rate / other) for rate, other in zip(rates, base)]
    ratio = math.exp(math.fsum(logs) / len(logs))
    interval = confidence_interval(logs, ERROR / settings)
    if interval is None:
        return Decision(OPEN, ratio, None, None, len(logs))
    low, high = map(math.exp, interval)
    if low > 1:
        verdict = FASTER
    elif high < 1:
        verdict = SLOWER
    else:
        verdict = ALIKE if low > 1 - worth and high < 1 + worth else OPEN
    return Decision(verdict, ratio, low, high, len(logs))
