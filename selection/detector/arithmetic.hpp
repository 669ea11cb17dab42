// SPDX-License-Identifier: Apache-2.0
// Exponential, logarithm and angle from + − × ÷ and square roots only. The last bits of the C
// library's functions differ between versions and processors; those of a simulated file and of the
// selection's tables must not.
#pragma once

#include <cmath>

namespace l3 {

/// e^−x for x ≥ 0, accurate to about 1e-13.
[[nodiscard]] inline double exp_of_minus(double x) {
  constexpr double ln2 = 0.6931471805599453;
  constexpr double nothing = 700; // e^−700 counts as 0
  if (x > nothing) return 0;
  const double k = std::floor(x / ln2);
  const double r = x - k * ln2;
  double sum = 1; // Horner's form of the power series of e^−r
  for (int n = 14; n > 0; --n) sum = 1 - sum * r / n;
  return std::ldexp(sum, -static_cast<int>(k));
}

/// ln x for x > 0.
[[nodiscard]] inline double natural_log(double x) {
  constexpr double ln2 = 0.6931471805599453;
  int exponent = 0;
  const double m = std::frexp(x, &exponent);
  const double s = (m - 1) / (m + 1); // ln m = 2 artanh s, and |s| ≤ 1/3
  const double s2 = s * s;
  double sum = 0;
  for (int n = 27; n > 0; n -= 2) sum = sum * s2 + 1.0 / n;
  return 2 * s * sum + exponent * ln2;
}

/// The direction of (x, y) as a fraction of a full turn, 0 … 1, starting at the x axis.
[[nodiscard]] inline double turn_of(double x, double y) {
  const double ax = std::abs(x);
  const double ay = std::abs(y);
  if (ax + ay == 0) return 0;
  double t = ax > ay ? ay / ax : ax / ay; // 0 … 1
  t /= 1 + std::sqrt(1 + t * t);          // twice the half angle
  t /= 1 + std::sqrt(1 + t * t);
  const double t2 = t * t; // below 0.04
  double sum = 0;
  for (int n = 15; n > 0; n -= 2) sum = 1.0 / n - t2 * sum;
  constexpr double turn = 6.283185307179586;
  const double angle = 4 * t * sum / turn;
  const double quadrant = ax > ay ? angle : 0.25 - angle;
  const double half = x >= 0 ? quadrant : 0.5 - quadrant;
  return y >= 0 ? half : 1 - half;
}

} // namespace l3
