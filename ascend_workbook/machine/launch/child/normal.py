"""Normal and exponential numbers from uniform integers, by exact arithmetic alone: +, -, *, / and the square root,
which IEEE 754 rounds alike on every machine. Libraries' logarithms differ in the last bit between x86 and Arm.

The inverse of the normal distribution: M. J. Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988) 477-484,
right to 1e-16.
"""

from __future__ import annotations

from typing import Any

A = (
    *(3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4),
    *(4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
)
B = (
    *(1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3),
    *(2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)
C = (
    *(1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0),
    *(1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
)
D = (
    *(1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1),
    *(1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)
E = (
    *(6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1),
    *(2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
)
G = (
    *(1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2),
    *(7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)
#: ln 2 in two parts: the first has so few digits that its products with exponents are exact.
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


def from_words(words: Any) -> Any:
    """Return a normal number for each unsigned 64-bit integer."""
    import numpy

    share = _to_shares(words)
    centred = share - 0.5
    numbers = numpy.empty_like(centred)
    middle = numpy.abs(centred) <= 0.425
    inner = centred[middle]
    r = 0.180625 - inner * inner
    numbers[middle] = inner * _polynomial(A, r) / _polynomial(B, r)
    outer = ~middle
    tail = numpy.minimum(share[outer], 1.0 - share[outer])
    r = numpy.sqrt(-logarithm(tail))
    near = r <= 5.0
    size = numpy.where(
        near,
        _polynomial(C, r - 1.6) / _polynomial(D, r - 1.6),
        _polynomial(E, r - 5.0) / _polynomial(G, r - 5.0),
    )
    numbers[outer] = numpy.where(centred[outer] < 0.0, -size, size)
    return numbers


def exponential_from_words(words: Any) -> Any:
    """Return an exponential number, of rate 1, for each unsigned 64-bit integer; none is 0."""
    return -logarithm(_to_shares(words))


def logarithm(values: Any) -> Any:
    """Return the natural logarithm of positive numbers."""
    import numpy

    mantissa, exponent = numpy.frexp(values)
    small = mantissa < 0.7071067811865476
    mantissa, exponent = numpy.where(small, mantissa * 2.0, mantissa), exponent - small
    s = (mantissa - 1.0) / (mantissa + 1.0)
    series = _polynomial([2.0 / (2 * power + 1) for power in range(12)], s * s)
    return exponent * LN2_HIGH + (exponent * LN2_LOW + s * series)


def _to_shares(words: Any) -> Any:
    """Return numbers strictly between 0 and 1."""
    return ((words >> 12) + 0.5) * 2.0**-52


def _polynomial(factors: Any, x: Any) -> Any:
    total = factors[-1]
    for factor in factors[-2::-1]:
        total = total * x + factor
    return total
