// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/cpu_executors.hpp"
#include "tests/selection/algorithms/compute_quantities_cases.hpp"

#include <limits>

namespace l3::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, measuring, cpu_executors);

TEST(rounding, goes_down_and_stays_within_bounds) {
  EXPECT_EQ(divide_down(7, 2), 3);
  EXPECT_EQ(divide_down(-7, 2), -4);
  EXPECT_EQ(divide_down(-8, 2), -4);
  EXPECT_EQ(divide_down(0, 5), 0);
  for (const std::int64_t n : {1L, 2L, 3L, 65535L, 94906267L, (1L << 31) - 1}) {
    EXPECT_EQ(root_down(n * n), n);
    EXPECT_EQ(root_down(n * n - 1), n - 1);
    EXPECT_EQ(root_down(n * n + 2 * n), n);
  }
  EXPECT_EQ(root_down(0), 0);
  EXPECT_EQ(nearest(2.5), 3);
  EXPECT_EQ(nearest(-2.5), -2);
  EXPECT_EQ(nearest(-2.51), -3);
  EXPECT_EQ(nearest(1e300), INT32_MAX);
  EXPECT_EQ(nearest(-1e300), -INT32_MAX);
  EXPECT_EQ(nearest(std::numeric_limits<double>::quiet_NaN()), INT32_MAX);
  EXPECT_EQ(limited(std::int64_t{1} << 31), INT32_MAX);
  EXPECT_EQ(limited(-(std::int64_t{1} << 31)), -INT32_MAX);
}

struct vector {
  double x = 0;
  double y = 0;
  double z = 0;

  [[nodiscard]] double times(const vector& o) const { return x * o.x + y * o.y + z * o.z; }
};

vector draw_direction(randomness& r) {
  for (;;) {
    const auto draw = [&] { return below(r, 2'000'001) / 1e6 - 1; };
    const vector v{draw(), draw(), draw()};
    const double length = std::sqrt(v.times(v));
    if (length > 0.1 && length < 1) return {v.x / length, v.y / length, v.z / length};
  }
}

/// One of the two photons of a pion, in the face of the calorimeter at a distance from the decay.
/// The photon flies along u in the rest frame of the pion and is boosted from there.
photon_at boosted(const vector& u, double pion_energy, const vector& pion_momentum,
                  double distance) {
  const double half = neutral_pion_mass / 2;
  const double along = pion_momentum.times(u) / neutral_pion_mass;
  const double energy = half * (pion_energy / neutral_pion_mass + along);
  const double push = half / neutral_pion_mass *
                      (1 + along * neutral_pion_mass / (pion_energy + neutral_pion_mass));
  const vector p{half * u.x + push * pion_momentum.x, half * u.y + push * pion_momentum.y,
                 half * u.z + push * pion_momentum.z};
  if (p.z <= 0) return {};
  return {energy, distance * p.x / p.z, distance * p.y / p.z};
}

TEST(vertex, is_where_the_pion_decayed) {
  randomness r(5);
  std::uint32_t both_hit = 0;
  for (int k = 0; k < 20000; ++k) {
    const double distance = 10000 + below(r, 30000); // 1 … 4 m
    vector p = draw_direction(r);
    const double momentum = 1e5 + below(r, 1'500'000);
    p = {momentum * p.x / 3, momentum * p.y / 3, momentum * std::abs(p.z)};
    const double energy = std::sqrt(p.times(p) + neutral_pion_mass * neutral_pion_mass);
    const vector u = draw_direction(r);
    const photon_at one = boosted(u, energy, p, distance);
    const photon_at other = boosted({-u.x, -u.y, -u.z}, energy, p, distance);
    const auto hits = [](const photon_at& photon) {
      return photon.energy > 0 && std::hypot(photon.x, photon.y) < 9000;
    };
    if (!hits(one) || !hits(other)) continue;
    ++both_hit;
    const pion_decay decay = find_pion_decay(one, other);
    ASSERT_TRUE(decay.found);
    ASSERT_NEAR(decay.distance, distance, 10); // 1 mm
    ASSERT_NEAR(decay.transverse_momentum, std::hypot(p.x, p.y), 100);
  }
  EXPECT_GT(both_hit, 1000U);
}

/// The energy of the second photon for which the two are those of a pion that decayed at
/// `distance`.
double partner_energy(const photon_at& one, double x, double y, double distance) {
  const double d2 = distance * distance;
  const double cosine = (d2 + one.x * x + one.y * y) /
                        std::sqrt(d2 + one.x * one.x + one.y * one.y) /
                        std::sqrt(d2 + x * x + y * y);
  return neutral_pion_mass * neutral_pion_mass / (2 * one.energy * (1 - cosine));
}

TEST(vertex, is_the_farther_of_two) {
  // On one side of the axis the angle is the same at distances whose product is |r₁||r₂|.
  photon_at one{500'000, 3000, 0};
  const double near = 1200;
  const double far = 20000;
  for (const double distance : {near, far}) {
    const photon_at other{partner_energy(one, 8000, 0, distance), 8000, 0};
    const pion_decay decay = find_pion_decay(one, other);
    ASSERT_TRUE(decay.found);
    EXPECT_NEAR(decay.distance, far, 0.01);
  }
}

TEST(vertex, is_found_where_digits_are_few) {
  // A tiny angle: 1 − c² is 10⁻⁸ and the roots lie twelve decades apart.
  const photon_at one{1e9, 3000, 0};
  const double distance = 7e6;
  const photon_at other{partner_energy(one, 4000, 0, distance), 4000, 0};
  const pion_decay decay = find_pion_decay(one, other);
  ASSERT_TRUE(decay.found);
  EXPECT_NEAR(decay.distance, distance, 1e-6 * distance);
}

TEST(vertex, is_near_the_face_if_the_photons_go_apart) {
  const photon_at one{80'000, 3000,
                      0}; // by more than 90°: of the two roots the farther is spurious
  for (const double distance : {500.0, 1000.0, 2000.0}) {
    const photon_at other{partner_energy(one, -3000, 100, distance), -3000, 100};
    const pion_decay decay = find_pion_decay(one, other);
    ASSERT_TRUE(decay.found) << distance;
    EXPECT_NEAR(decay.distance, distance, 0.01);
  }
}

TEST(vertex, is_nowhere_if_nothing_fits) {
  const photon_at one{500'000, 3000, 0};
  EXPECT_FALSE(find_pion_decay(one, {9000, 8000, 0}).found) << "too low for any angle";
  EXPECT_FALSE(find_pion_decay(one, {15'000, 8000, 0}).found) << "too far apart for one side";
  EXPECT_FALSE(find_pion_decay(one, {100'000, 3200, 0}).found) << "too near to each other";
  EXPECT_FALSE(find_pion_decay(one, {500'000, 3000, 0}).found) << "at one place";
  EXPECT_FALSE(find_pion_decay({500'000, 0, 0}, {500'000, 0, 0}).found) << "on the axis";
  EXPECT_FALSE(find_pion_decay({67488.4, 1000, 0}, {67488.4, -1000, 0}).found) << "back to back";
}

} // namespace
} // namespace l3::test
