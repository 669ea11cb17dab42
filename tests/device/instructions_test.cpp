// SPDX-License-Identifier: Apache-2.0
// Every form of the table against a second, slower reading of the PTX manual: whole numbers as
// 128-bit integers that are cut to their width at the end, floating point by the host's.
#include "tests/device/instructions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace l3::ptx::test {

namespace {

__extension__ using whole = __int128;

/// A type's name: its kind (u, s, b, f, p) and its width.
struct type {
  char kind = 'b';
  int bits = 64;
};

type type_of(const std::string& name) {
  if (name == "pred") return {'p', 1};
  if (name == "f16x2") return {'h', 32}; // two halves
  return {name[0], std::stoi(name.substr(1))};
}

bool is_type(const std::string& word) {
  return word == "pred" || word == "f16x2" ||
         (word.size() > 1 && std::string("usbf").find(word[0]) != std::string::npos &&
          word.find_first_not_of("0123456789", 1) == std::string::npos);
}

whole cut(whole value, type t) {
  if (t.bits == 64) {
    const auto bits = static_cast<std::uint64_t>(value);
    return t.kind == 's' ? static_cast<whole>(static_cast<std::int64_t>(bits))
                         : static_cast<whole>(bits);
  }
  const whole range = whole{1} << t.bits;
  whole rest = value % range;
  if (rest < 0) rest += range;
  if (t.kind == 's' && rest >= range / 2) rest -= range;
  return rest;
}

double floating(std::uint64_t bits, type t) {
  return t.bits == 32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                      : std::bit_cast<double>(bits);
}

std::uint64_t bits_of(double value, type t) {
  return t.bits == 32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                      : std::bit_cast<std::uint64_t>(value);
}

std::uint64_t low(whole value, int bits) {
  const auto all = static_cast<std::uint64_t>(value);
  return bits == 64 ? all : all & ((std::uint64_t{1} << bits) - 1);
}

struct form {
  std::string name;             ///< mul
  std::vector<std::string> how; ///< lo, wide, rn, lt, and …
  std::vector<type> types;
  [[nodiscard]] bool says(const std::string& word) const {
    return std::ranges::count(how, word) != 0;
  }
};

form form_of(const std::string& opcode) {
  form f;
  std::size_t begin = 0;
  while (begin <= opcode.size()) {
    const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
    const std::string word = opcode.substr(begin, end - begin);
    if (f.name.empty())
      f.name = word;
    else if (is_type(word))
      f.types.push_back(type_of(word));
    else
      f.how.push_back(word);
    begin = end + 1;
  }
  return f;
}

bool compares(const form& f, int order, bool ordered) {
  const std::string& how = f.how[0];
  if (how == "num") return ordered;
  if (how == "nan") return !ordered;
  const bool unordered_is_true = f.types[0].kind == 'f' && how.size() == 3;
  if (!ordered) return unordered_is_true;
  const std::string relation = how.substr(0, 2);
  return relation == "eq"   ? order == 0
         : relation == "ne" ? order != 0
         : relation == "lt" ? order < 0
         : relation == "le" ? order <= 0
         : relation == "gt" ? order > 0
                            : order >= 0;
}

std::uint64_t expected_setp(const form& f, const std::vector<std::uint64_t>& in) {
  const type t = f.types[0];
  int order = 0;
  bool ordered = true;
  if (t.kind == 'f') {
    const double a = floating(in[0], t);
    const double b = floating(in[1], t);
    ordered = !std::isnan(a) && !std::isnan(b);
    order = a < b ? -1 : a > b ? 1 : 0;
  } else {
    const whole a = cut(static_cast<whole>(in[0]), t);
    const whole b = cut(static_cast<whole>(in[1]), t);
    order = a < b ? -1 : a > b ? 1 : 0;
  }
  const bool result = compares(f, order, ordered);
  const bool c = (in[2] & 1) != 0;
  if (f.says("and")) return result && c;
  if (f.says("or")) return result || c;
  if (f.says("xor")) return result != c;
  return result;
}

std::uint64_t expected_cvt(const form& f, std::uint64_t in) {
  const type to = f.types[0];
  const type from = f.types[1];
  if (from.kind != 'f') {
    const whole a = cut(static_cast<whole>(in), from);
    if (to.kind == 'f')
      return to.bits == 32 ? std::bit_cast<std::uint32_t>(static_cast<float>(a))
                           : std::bit_cast<std::uint64_t>(static_cast<double>(a));
    // A result narrower than its register is extended by its sign.
    return low(cut(a, to), to.kind == 's' && to.bits == 8 ? 32 : to.bits);
  }
  double a = floating(in, from);
  if (f.says("rzi")) a = std::trunc(a);
  if (f.says("rmi")) a = std::floor(a);
  if (f.says("rpi")) a = std::ceil(a);
  if (f.says("rni")) a = std::nearbyint(a);
  if (to.kind == 'f') return bits_of(a, to);
  if (std::isnan(a))
    return from.bits == 64 || to.bits == 64 ? std::uint64_t{1} << (to.bits - 1) : 0;
  const whole least = to.kind == 's' ? -(whole{1} << (to.bits - 1)) : whole{0};
  const whole most = (whole{1} << (to.kind == 's' ? to.bits - 1 : to.bits)) - 1;
  const whole value = a <= static_cast<double>(least)  ? least
                      : a >= static_cast<double>(most) ? most
                                                       : static_cast<whole>(a);
  return low(value, to.bits);
}

std::uint64_t expected_floating(const form& f, const std::vector<std::uint64_t>& in) {
  const type t = f.types[0];
  const double a = floating(in[0], t);
  const double b = floating(in[1], t);
  // With both in double the result of floats is rounded once more, which changes nothing here.
  if (f.name == "add") return bits_of(a + b, t);
  if (f.name == "sub") return bits_of(a - b, t);
  if (f.name == "mul") return bits_of(a * b, t);
  if (f.name == "div") return bits_of(a / b, t);
  if (f.name == "sqrt") return bits_of(std::sqrt(a), t);
  if (f.name == "rcp") return bits_of(1.0 / a, t);
  if (f.name == "fma")
    return t.bits == 32
               ? std::bit_cast<std::uint32_t>(std::fma(static_cast<float>(a), static_cast<float>(b),
                                                       static_cast<float>(floating(in[2], t))))
               : bits_of(std::fma(a, b, floating(in[2], t)), t);
  if (f.name == "abs") return bits_of(std::fabs(a), t);
  if (f.name == "neg") return bits_of(-a, t);
  if (std::isnan(a)) return bits_of(b, t);
  if (std::isnan(b)) return bits_of(a, t);
  const bool a_is_less = a < b || (a == b && std::signbit(a));
  return bits_of((f.name == "min") == a_is_less ? a : b, t);
}

/// A number of half precision.
double half_number(std::uint64_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 0x3ff) / 1024;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  return exponent == 0 ? sign * std::ldexp(fraction, -14)
                       : sign * std::ldexp(1 + fraction, exponent - 15);
}

std::uint64_t expected_halves(const form& f, std::uint64_t a, std::uint64_t b) {
  std::uint64_t made = 0;
  for (int place = 0; place < 32; place += 16) {
    const std::uint64_t one = a >> place & 0xffff;
    const std::uint64_t other = b >> place & 0xffff;
    const double x = half_number(one);
    const double y = half_number(other);
    const bool one_is_less = x < y || (x == y && std::signbit(x));
    const std::uint64_t result = std::isnan(x) || std::isnan(y)     ? 0x7fff
                                 : (f.name == "min") == one_is_less ? one
                                                                    : other;
    made |= result << place;
  }
  return made;
}

std::uint64_t field(std::uint64_t bits, std::uint32_t place) {
  return place < 64 ? bits >> place & 1 : 0;
}

/// Nothing: this form has no second reading.
std::optional<std::uint64_t> expected(const form& f, const std::vector<std::uint64_t>& in) {
  if (f.name == "setp") return expected_setp(f, in);
  if (f.name == "cvt") return expected_cvt(f, in[0]);
  if (f.name == "cvta")
    return f.says("shared") ? f.says("to") ? in[0] - shared_window : in[0] + shared_window : in[0];
  const type t = f.types.at(0);
  if (f.name == "mov") return low(static_cast<whole>(in[0]), t.bits);
  if (f.name == "selp") return low(static_cast<whole>((in[2] & 1) != 0 ? in[0] : in[1]), t.bits);
  if (t.kind == 'f') return expected_floating(f, in);
  if (t.kind == 'h' && f.says("NaN")) return expected_halves(f, in[0], in[1]);
  const whole a = cut(static_cast<whole>(in[0]), t);
  const whole b = cut(static_cast<whole>(in[1]), t);
  const whole c = cut(static_cast<whole>(in[2]), t);
  const auto amount = static_cast<std::uint32_t>(in[1]);
  if (f.name == "add") return low(a + b, t.bits);
  if (f.name == "sub") return low(a - b, t.bits);
  if (f.name == "min") return low(a < b ? a : b, t.bits);
  if (f.name == "max") return low(a > b ? a : b, t.bits);
  if (f.name == "abs") return low(a < 0 ? -a : a, t.bits);
  if (f.name == "neg") return low(-a, t.bits);
  if (f.name == "div") return low(b == 0 ? whole{-1} : a / b, t.bits);
  if (f.name == "rem") return low(b == 0 ? a : a % b, t.bits);
  if (f.name == "and") return low(a & b, t.bits);
  if (f.name == "or") return low(a | b, t.bits);
  if (f.name == "xor") return low(a ^ b, t.bits);
  if (f.name == "not") return low(~a, t.bits);
  if (f.name == "shl")
    return amount >= static_cast<std::uint32_t>(t.bits) ? 0 : low(a << amount, t.bits);
  if (f.name == "shr") return low(a >> std::min<std::uint32_t>(amount, 100), t.bits);
  if (f.name == "mul" || f.name == "mad") {
    if (f.says("wide")) {
      const whole sum = f.name == "mad" ? static_cast<whole>(in[2]) : whole{0};
      return low(a * b + sum, 2 * t.bits);
    }
    if (f.says("hi")) {
      // 64 by 64 bits, unsigned, need all 128.
      const whole product = a * b;
      return low(product >> t.bits, t.bits);
    }
    return low(static_cast<whole>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)) +
                   (f.name == "mad" ? c : 0),
               t.bits);
  }
  const std::uint64_t bits = low(a, t.bits);
  if (f.name == "popc") {
    std::uint64_t n = 0;
    for (std::uint32_t k = 0; k < 64; ++k) n += field(bits, k);
    return n;
  }
  if (f.name == "clz") {
    std::uint64_t n = 0;
    while (n < static_cast<std::uint64_t>(t.bits) &&
           field(bits, static_cast<std::uint32_t>(t.bits - 1 - static_cast<int>(n))) == 0)
      ++n;
    return n;
  }
  if (f.name == "brev") {
    std::uint64_t made = 0;
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(t.bits); ++k)
      made = made << 1 | field(bits, k);
    return made;
  }
  if (f.name == "bfind") {
    const std::uint64_t looked_at = t.kind == 's' && a < 0 ? low(~a, t.bits) : bits;
    for (int k = t.bits - 1; k >= 0; --k) {
      if (field(looked_at, static_cast<std::uint32_t>(k)) != 0)
        return static_cast<std::uint64_t>(f.says("shiftamt") ? t.bits - 1 - k : k);
    }
    return 0xffffffff;
  }
  if (f.name == "bfi") {
    const std::uint32_t place = static_cast<std::uint32_t>(in[2]) & 0xff;
    const std::uint32_t length = static_cast<std::uint32_t>(in[3]) & 0xff;
    std::uint64_t made = low(b, t.bits);
    for (std::uint32_t k = 0; k < length && place + k < static_cast<std::uint32_t>(t.bits); ++k) {
      made &= ~(std::uint64_t{1} << (place + k));
      made |= field(bits, k) << (place + k);
    }
    return made;
  }
  if (f.name == "bfe") {
    const std::uint32_t place = amount & 0xff;
    const std::uint32_t length = static_cast<std::uint32_t>(in[2]) & 0xff;
    const std::uint32_t top = std::min(place + length - 1, static_cast<std::uint32_t>(t.bits - 1));
    const std::uint64_t sign = t.kind == 's' && length != 0 ? field(bits, top) : 0;
    std::uint64_t made = 0;
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(t.bits); ++k)
      made |= (k < length && place + k < static_cast<std::uint32_t>(t.bits) ? field(bits, place + k)
                                                                            : sign)
              << k;
    return made;
  }
  if (f.name == "dp2a") {
    const std::uint32_t first = f.says("hi") ? 16 : 0;
    return low(static_cast<whole>((bits & 0xffff) * (in[1] >> first & 0xff) +
                                  (bits >> 16) * (in[1] >> (first + 8) & 0xff) + in[2]),
               t.bits);
  }
  if (f.name == "shf") {
    std::uint32_t n = static_cast<std::uint32_t>(in[2]);
    n = f.says("wrap") ? n & 31 : std::min<std::uint32_t>(n, 32);
    const std::uint64_t both = low(b, 32) << 32 | bits;
    return f.says("l") ? (n == 0 ? low(b, 32) : low(static_cast<whole>(both >> (32 - n)), 32))
                       : low(static_cast<whole>(n == 32 ? both >> 32 : both >> n), 32);
  }
  if (f.name == "prmt") {
    std::uint64_t made = 0;
    for (std::uint32_t k = 0; k < 4; ++k) {
      const auto selector = static_cast<std::uint32_t>(in[2] >> (4 * k)) & 15;
      const std::uint64_t word = (selector & 4) != 0 ? low(b, 32) : bits;
      const std::uint64_t byte = word >> (8 * (selector & 3)) & 0xff;
      made |= (selector < 8 ? byte : (byte >> 7) * 0xff) << (8 * k);
    }
    return made;
  }
  return std::nullopt;
}

/// Borders of every width, and what lies between.
const std::vector<std::uint64_t>& whole_values() {
  static const std::vector<std::uint64_t> values{0,
                                                 1,
                                                 2,
                                                 3,
                                                 7,
                                                 31,
                                                 32,
                                                 33,
                                                 0x7f,
                                                 0x80,
                                                 0xff,
                                                 0x7fff,
                                                 0x8000,
                                                 0xffff,
                                                 0x7fffffff,
                                                 0x80000000,
                                                 0xffffffff,
                                                 0x7fffffffffffffff,
                                                 0x8000000000000000,
                                                 0xffffffffffffffff,
                                                 0x0123456789abcdef,
                                                 0x3c00bc00,
                                                 0xfc007c00,
                                                 0xbfff83ff,
                                                 0x80018000,
                                                 0xfedcba9876543210};
  return values;
}

std::vector<std::uint64_t> floating_values(type t) {
  std::vector<std::uint64_t> bits;
  for (const double v :
       {0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.75, 1e9, -1e9, 3e19, -3e19, 1e-3,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()})
    bits.push_back(bits_of(v, t));
  return bits;
}

bool is_nan(std::uint64_t bits, type t) { return t.kind == 'f' && std::isnan(floating(bits, t)); }

} // namespace

TEST(instructions, give_what_the_manual_says) {
  constexpr std::uint32_t guarded_lane = 5; // takes no part
  for (const auto& [opcode, compute] : compute_forms()) {
    const form f = form_of(opcode);
    ASSERT_FALSE(f.types.empty()) << opcode;
    const type from = f.name == "cvt" ? f.types[1] : f.types[0];
    const auto values = from.kind == 'f' ? floating_values(from) : whole_values();
    const type result = f.name == "setp" ? type{'p', 1} : f.types[0];
    for (const std::uint64_t a : values) {
      for (const std::uint64_t b : values) {
        for (const std::uint64_t c : {values[2], values[5], a, b}) {
          const std::vector<std::uint64_t> in{a, b, c, b % 40};
          const auto right = expected(f, in);
          ASSERT_TRUE(right) << opcode;
          // Five rows: the result and four operands.
          std::vector<std::uint64_t> rows(5 * warp_lanes, 0x5555);
          for (std::size_t n = 0; n < in.size(); ++n)
            std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>((n + 1) * warp_lanes),
                        warp_lanes, in[n]);
          instruction i;
          i.to = 0;
          i.from = {1, 2, 3, 4};
          compute(i, rows.data(), ~(1U << guarded_lane));
          if (is_nan(*right, result))
            ASSERT_TRUE(is_nan(rows[0], result)) << opcode << ' ' << a << ' ' << b;
          else
            ASSERT_EQ(rows[0], *right)
                << opcode << ' ' << a << ' ' << b << ' ' << c << ' ' << in[3];
          ASSERT_EQ(rows[warp_lanes - 1], rows[0]) << opcode;
          ASSERT_EQ(rows[guarded_lane], 0x5555U) << opcode;
        }
      }
    }
  }
}

TEST(instructions, are_unknown_by_any_other_name) {
  EXPECT_EQ(find_compute("add.s8"), nullptr);
  EXPECT_EQ(find_compute("add.s32.sat"), nullptr);
  EXPECT_EQ(find_compute(""), nullptr);
}

} // namespace l3::ptx::test
