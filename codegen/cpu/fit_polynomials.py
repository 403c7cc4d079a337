"""Writes MathCoefficients.h: near-minimax polynomials (Chebyshev interpolation) of the functions in VectorMath.cpp.

usage: python fit_polynomials.py > MathCoefficients.h      (needs the wheel mpmath)
"""
from mpmath import mp, mpf, chebyfit, polyval, expm1, log, log1p, atan, asin, sin, cos, erf, erfc, sqrt, pi, linspace

mp.dps = 100


def fit(function, low, high, degree):
    """Coefficients, lowest first."""
    return list(reversed(chebyfit(function, [low, high], degree + 1)))


def guarded(function, limit):
    """The function, with its limit at zero, where the formula is 0 / 0."""
    return lambda x: limit if abs(x) < mpf(10) ** -25 else function(x)


half_ln2 = log(2) / 2
quarter_pi2 = (pi / 4) ** 2
tables = {
    # exp(r) = 1 + r + r^2 P(r)
    "Exp": (guarded(lambda r: (expm1(r) - r) / r**2, mpf(1) / 2), -half_ln2, half_ln2, 4, 11),
    # log(1 + f) = f - f^2 / 2 + f^3 P(f)
    "Log": (guarded(lambda f: (log1p(f) - f + f**2 / 2) / f**3, mpf(1) / 3), sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1, 8, 21),
    # log((1 + s) / (1 - s)) = 2 s + s^3 P(s^2)
    "LogRatio": (guarded(lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) - 2 * sqrt(z)) / sqrt(z) ** 3, mpf(2) / 3), 0, mpf("0.02944"), 3, 8),
    # atan(x) = x + x^3 P(x^2) on [0, 1]
    "Atan": (guarded(lambda z: (atan(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, -mpf(1) / 3), 0, 1, 8, 20),
    # asin(x) = x + x^3 P(x^2) on [0, 1/2]
    "Asin": (guarded(lambda z: (asin(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, mpf(1) / 6), 0, mpf(1) / 4, 4, 12),
    # sin(x) = x + x^3 P(x^2), cos(x) = 1 - x^2 / 2 + x^4 P(x^2) on [0, pi / 4]
    "Sin": (guarded(lambda z: (sin(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3, -mpf(1) / 6), 0, quarter_pi2, 2, 6),
    "Cos": (guarded(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24), 0, quarter_pi2, 2, 6),
    # erf(x) = x + x P(x^2) on [0, 1], and log(erfc(x)) = P(x) beyond
    "Erf": (guarded(lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(pi) - 1), 0, 1, 7, 14),
    "LogErfc": (lambda x: log(erfc(x)), 1, 4, 9, None),
    "LogErfcWide": (lambda x: log(erfc(x)), 1, 6, None, 24),
}

print("""//===- MathCoefficients.h - polynomials of VectorMath.cpp ---------*- C++ -*-===//
//
// Made by fit_polynomials.py, which says what each one approximates, and where. Lowest coefficient first.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace tcc::codegen::math_coefficients {
""")
for name, (function, low, high, single, double) in tables.items():
    for suffix, degree in (("32", single), ("64", double)):
        if degree is None:
            continue
        values = fit(function, low, high, degree)
        worst = max(abs(polyval(list(reversed(values)), x) - function(x)) for x in linspace(low, high, 200))
        text = ", ".join(mp.nstr(v, 20) for v in values)
        print(f"// Largest error {mp.nstr(worst, 2)}.")
        print(f"inline constexpr double k{name}{suffix}[] = {{{text}}};")
# Fractions of a turn: 2^(e - 23) / (2 pi) mod 1 for e = 14 ... 127, as the sum of two doubles.
turns = []
for e in range(14, 128):
    x = mpf(2) ** (e - 23) / (2 * pi)
    x -= mp.floor(x)
    high = float(x)
    turns += [repr(high), repr(float(x - mpf(high)))]
print(f"inline constexpr double kTurns[] = {{{', '.join(turns)}}};")
print("\n} // namespace tcc::codegen::math_coefficients")
