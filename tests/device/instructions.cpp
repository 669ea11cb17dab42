// SPDX-License-Identifier: Apache-2.0
// Meanings are those of "Parallel Thread Execution ISA", version 9.0, chapter 9.7.
#include "tests/device/instructions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>

namespace l3::ptx {

namespace {

__extension__ using wide_signed = __int128;
__extension__ using wide_unsigned = unsigned __int128;

template <class T>
T value_of(std::uint64_t bits) {
  if constexpr (std::same_as<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<double>(bits);
  } else if constexpr (std::same_as<T, bool>) {
    return (bits & 1) != 0;
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::same_as<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (std::same_as<T, bool>) {
    return value ? 1 : 0;
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

/// For each lane of the mask: to = f(from[0], …).
template <class Result, class F, class... T>
void for_lanes(const instruction& i, std::uint64_t* rows, std::uint32_t lanes) {
  const auto row = [&](std::uint32_t number) { return rows + std::size_t{number} * warp_lanes; };
  std::uint64_t* const to = row(i.to);
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    const std::uint64_t* const from[] = {row(i.from[N])...};
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      if ((lanes >> lane & 1) != 0)
        to[lane] = bits_of<Result>(static_cast<Result>(F()(value_of<T>(from[N][lane])...)));
    }
  }
  (std::index_sequence_for<T...>());
}

using table = compute_table;

// A captureless lambda as a type: that of the operation.
template <class Result, class... T, class F>
void enter(table& to, const std::string& name, F) {
  const bool is_new = to.emplace(name, &for_lanes<Result, F, T...>).second;
  if (!is_new) std::abort();
}

template <class T>
constexpr int width = static_cast<int>(8 * sizeof(T));

/// Wraps around, as the device does.
template <class T>
using wrapping =
    std::conditional_t<(sizeof(T) < 4), std::uint32_t,
                       std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

template <class T>
void enter_whole_numbers(table& t, const std::string& type) {
  using W = wrapping<T>;
  enter<T, T, T>(t, "add." + type, [](T a, T b) { return static_cast<T>(W(a) + W(b)); });
  enter<T, T, T>(t, "sub." + type, [](T a, T b) { return static_cast<T>(W(a) - W(b)); });
  enter<T, T, T>(t, "mul.lo." + type, [](T a, T b) { return static_cast<T>(W(a) * W(b)); });
  enter<T, T, T, T>(t, "mad.lo." + type,
                    [](T a, T b, T c) { return static_cast<T>(W(a) * W(b) + W(c)); });
  enter<T, T, T>(t, "min." + type, [](T a, T b) { return std::min(a, b); });
  enter<T, T, T>(t, "max." + type, [](T a, T b) { return std::max(a, b); });
  // A division by zero gives all ones.
  enter<T, T, T>(t, "div." + type, [](T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::signed_integral<T>) {
      if (b == T(-1)) return static_cast<T>(W{0} - W(a));
    }
    return static_cast<T>(a / b);
  });
  enter<T, T, T>(t, "rem." + type, [](T a, T b) {
    if (b == 0) return a;
    if constexpr (std::signed_integral<T>) {
      if (b == T(-1)) return T{0};
    }
    return static_cast<T>(a % b);
  });
  if constexpr (std::signed_integral<T>) {
    enter<T, T>(t, "abs." + type, [](T a) { return static_cast<T>(a < 0 ? W{0} - W(a) : W(a)); });
    enter<T, T>(t, "neg." + type, [](T a) { return static_cast<T>(W{0} - W(a)); });
  }
  enter<T, T, std::uint32_t>(t, "shr." + type, [](T a, std::uint32_t n) {
    if constexpr (std::signed_integral<T>)
      return static_cast<T>(a >> std::min(n, static_cast<std::uint32_t>(width<T> - 1)));
    else
      return static_cast<T>(n >= static_cast<std::uint32_t>(width<T>) ? T{0} : T(a >> n));
  });
}

template <class T, class Wide>
void enter_products(table& t, const std::string& type) {
  enter<Wide, T, T>(t, "mul.wide." + type, [](T a, T b) { return Wide(Wide(a) * Wide(b)); });
  enter<Wide, T, T, Wide>(t, "mad.wide." + type, [](T a, T b, Wide c) {
    using W = std::make_unsigned_t<Wide>;
    return static_cast<Wide>(W(Wide(a) * Wide(b)) + W(c));
  });
  enter<T, T, T>(t, "mul.hi." + type,
                 [](T a, T b) { return static_cast<T>(Wide(a) * Wide(b) >> width<T>); });
}

template <class T>
void enter_bits(table& t, const std::string& type) {
  enter<T, T, T>(t, "and." + type, [](T a, T b) { return static_cast<T>(a & b); });
  enter<T, T, T>(t, "or." + type, [](T a, T b) { return static_cast<T>(a | b); });
  enter<T, T, T>(t, "xor." + type, [](T a, T b) { return static_cast<T>(a ^ b); });
  enter<T, T>(t, "not." + type, [](T a) { return static_cast<T>(~a); });
  enter<T, T, std::uint32_t>(t, "shl." + type, [](T a, std::uint32_t n) {
    return static_cast<T>(n >= static_cast<std::uint32_t>(width<T>) ? T{0} : T(a << n));
  });
  enter<T, T, std::uint32_t>(t, "shr." + type, [](T a, std::uint32_t n) {
    return static_cast<T>(n >= static_cast<std::uint32_t>(width<T>) ? T{0} : T(a >> n));
  });
}

/// Those of 32 and 64 bits only.
template <class T>
void enter_wide_bits(table& t, const std::string& type) {
  enter<std::uint32_t, T>(t, "popc." + type,
                          [](T a) { return static_cast<std::uint32_t>(std::popcount(a)); });
  enter<std::uint32_t, T>(t, "clz." + type,
                          [](T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); });
  enter<T, T>(t, "brev." + type, [](T a) {
    T reversed = 0;
    for (int bit = 0; bit < width<T>; ++bit) reversed |= T(a >> bit & 1) << (width<T> - 1 - bit);
    return reversed;
  });
  // The field of `length` bits of a replaces that of b from `place` on.
  enter<T, T, T, std::uint32_t, std::uint32_t>(
      t, "bfi." + type, [](T a, T b, std::uint32_t place, std::uint32_t length) {
        place &= 0xff;
        length &= 0xff;
        if (length == 0 || place >= static_cast<std::uint32_t>(width<T>)) return b;
        const T ones =
            length >= static_cast<std::uint32_t>(width<T>) ? ~T{0} : (T{1} << length) - 1;
        return static_cast<T>((b & ~(ones << place)) | (a & ones) << place);
      });
}

template <class T>
void enter_fields(table& t, const std::string& type) {
  enter<T, T, std::uint32_t, std::uint32_t>(
      t, "bfe." + type, [](T a, std::uint32_t place, std::uint32_t length) {
        place &= 0xff;
        length &= 0xff;
        const int top = std::min<int>(static_cast<int>(place + length) - 1, width<T> - 1);
        const auto bits = static_cast<std::make_unsigned_t<T>>(a);
        const bool sign = std::signed_integral<T> && length != 0 && (bits >> top & 1) != 0;
        std::make_unsigned_t<T> field = 0;
        for (std::uint32_t bit = 0; bit < static_cast<std::uint32_t>(width<T>); ++bit) {
          const bool inside = bit < length && place + bit < static_cast<std::uint32_t>(width<T>);
          const bool one = inside ? (bits >> (place + bit) & 1) != 0 : sign;
          field |= std::make_unsigned_t<T>{one} << bit;
        }
        return static_cast<T>(field);
      });
}

template <class T>
void enter_highest_bit(table& t, const std::string& type) {
  enter<std::uint32_t, T>(t, "bfind." + type, [](T a) -> std::uint32_t {
    if constexpr (std::signed_integral<T>) {
      if (a < 0) a = static_cast<T>(~a);
    }
    return static_cast<std::uint32_t>(width<T> - 1 -
                                      std::countl_zero(static_cast<std::make_unsigned_t<T>>(a)));
  });
  enter<std::uint32_t, T>(t, "bfind.shiftamt." + type, [](T a) -> std::uint32_t {
    if constexpr (std::signed_integral<T>) {
      if (a < 0) a = static_cast<T>(~a);
    }
    if (a == 0) return ~std::uint32_t{0};
    return static_cast<std::uint32_t>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(a)));
  });
}

template <class T>
void enter_moves(table& t, const std::string& type) {
  enter<T, T>(t, "mov." + type, [](T a) { return a; });
  enter<T, T, T, bool>(t, "selp." + type, [](T a, T b, bool first) { return first ? a : b; });
}

template <class T>
void enter_comparisons(table& t, const std::string& type) {
  const auto compare = [&]<class F>(const char* how, F) {
    enter<bool, T, T>(t, std::string("setp.") + how + "." + type, F());
    enter<bool, T, T, bool>(t, std::string("setp.") + how + ".and." + type,
                            [](T a, T b, bool c) { return F()(a, b) && c; });
    enter<bool, T, T, bool>(t, std::string("setp.") + how + ".or." + type,
                            [](T a, T b, bool c) { return F()(a, b) || c; });
    enter<bool, T, T, bool>(t, std::string("setp.") + how + ".xor." + type,
                            [](T a, T b, bool c) { return F()(a, b) != c; });
  };
  compare("eq", [](T a, T b) { return a == b; });
  if constexpr (std::floating_point<T>) {
    compare("ne", [](T a, T b) { return a < b || a > b; });
    compare("equ", [](T a, T b) { return !(a < b || a > b); });
    compare("neu", [](T a, T b) { return !(a == b); });
    compare("ltu", [](T a, T b) { return !(a >= b); });
    compare("leu", [](T a, T b) { return !(a > b); });
    compare("gtu", [](T a, T b) { return !(a <= b); });
    compare("geu", [](T a, T b) { return !(a < b); });
    compare("num", [](T a, T b) { return !std::isnan(a) && !std::isnan(b); });
    compare("nan", [](T a, T b) { return std::isnan(a) || std::isnan(b); });
  } else {
    compare("ne", [](T a, T b) { return a != b; });
  }
  compare("lt", [](T a, T b) { return a < b; });
  compare("le", [](T a, T b) { return a <= b; });
  compare("gt", [](T a, T b) { return a > b; });
  compare("ge", [](T a, T b) { return a >= b; });
}

template <class T>
void enter_floating_point(table& t, const std::string& type) {
  // Without a rounding in its name ptxas may join an addition and a product to one operation, which
  // gives other bits: no kernel may have such forms.
  enter<T, T, T>(t, "add.rn." + type, [](T a, T b) { return a + b; });
  enter<T, T, T>(t, "sub.rn." + type, [](T a, T b) { return a - b; });
  enter<T, T, T>(t, "mul.rn." + type, [](T a, T b) { return a * b; });
  enter<T, T, T>(t, "div.rn." + type, [](T a, T b) { return a / b; });
  enter<T, T>(t, "rcp.rn." + type, [](T a) { return T{1} / a; });
  enter<T, T>(t, "sqrt.rn." + type, [](T a) { return std::sqrt(a); });
  enter<T, T, T, T>(t, "fma.rn." + type, [](T a, T b, T c) { return std::fma(a, b, c); });
  enter<T, T>(t, "abs." + type, [](T a) { return std::fabs(a); });
  enter<T, T>(t, "neg." + type, [](T a) { return -a; });
  // −0 is less than +0, and a number is taken before no number.
  enter<T, T, T>(t, "min." + type,
                 [](T a, T b) { return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b); });
  enter<T, T, T>(t, "max." + type,
                 [](T a, T b) { return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b); });
  enter<T, T>(t, "cvt.rmi." + type + "." + type, [](T a) { return std::floor(a); });
  enter<T, T>(t, "cvt.rpi." + type + "." + type, [](T a) { return std::ceil(a); });
  enter<T, T>(t, "cvt.rzi." + type + "." + type, [](T a) { return std::trunc(a); });
  enter<T, T>(t, "cvt.rni." + type + "." + type, [](T a) { return std::nearbyint(a); });
}

/// Out of range gives the nearest number there is. No number gives 0, or, where one of the two
/// types is wide (f64, or 64 bits), the highest bit alone.
template <class To, class From>
To saturated(From a) {
  constexpr bool is_wide = sizeof(From) == 8 || sizeof(To) == 8;
  if (std::isnan(a))
    return is_wide ? static_cast<To>(std::make_unsigned_t<To>{1} << (width<To> - 1)) : To{0};
  if (a <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (a >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(a);
}

template <class To, class From>
void enter_conversion(table& t, const std::string& to, const std::string& from) {
  const std::string types = to + "." + from;
  if constexpr (std::integral<To> && std::integral<From>) {
    // A result of 8 bits lies in a wider register, with its sign.
    using stored = std::conditional_t<std::same_as<To, std::int8_t>, std::int32_t, To>;
    enter<stored, From>(t, "cvt." + types, [](From a) { return stored{static_cast<To>(a)}; });
  } else if constexpr (std::integral<To>) {
    enter<To, From>(t, "cvt.rzi." + types, [](From a) { return saturated<To>(std::trunc(a)); });
    enter<To, From>(t, "cvt.rmi." + types, [](From a) { return saturated<To>(std::floor(a)); });
    enter<To, From>(t, "cvt.rpi." + types, [](From a) { return saturated<To>(std::ceil(a)); });
    enter<To, From>(t, "cvt.rni." + types, [](From a) { return saturated<To>(std::nearbyint(a)); });
  } else if constexpr (std::integral<From> || sizeof(To) < sizeof(From)) {
    enter<To, From>(t, "cvt.rn." + types, [](From a) { return static_cast<To>(a); });
  } else if constexpr (!std::same_as<To, From>) {
    enter<To, From>(t, "cvt." + types, [](From a) { return static_cast<To>(a); });
  }
}

template <class To>
void enter_conversions(table& t, const std::string& to) {
  enter_conversion<To, std::uint8_t>(t, to, "u8");
  enter_conversion<To, std::uint16_t>(t, to, "u16");
  enter_conversion<To, std::uint32_t>(t, to, "u32");
  enter_conversion<To, std::uint64_t>(t, to, "u64");
  enter_conversion<To, std::int8_t>(t, to, "s8");
  enter_conversion<To, std::int16_t>(t, to, "s16");
  enter_conversion<To, std::int32_t>(t, to, "s32");
  enter_conversion<To, std::int64_t>(t, to, "s64");
  enter_conversion<To, float>(t, to, "f32");
  enter_conversion<To, double>(t, to, "f64");
}

template <class T, bool Left, bool Wraps>
std::uint32_t funnel(T low, T high, T amount) {
  const T n = Wraps ? amount & 31 : std::min<T>(amount, 32);
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  if constexpr (Left) return static_cast<T>(n == 32 ? low : both << n >> 32);
  return static_cast<T>(both >> n);
}

void enter_words(table& t) {
  using u32 = std::uint32_t;
  enter<u32, u32, u32, u32>(t, "shf.l.wrap.b32",
                            [](u32 a, u32 b, u32 n) { return funnel<u32, true, true>(a, b, n); });
  enter<u32, u32, u32, u32>(t, "shf.r.wrap.b32",
                            [](u32 a, u32 b, u32 n) { return funnel<u32, false, true>(a, b, n); });
  enter<u32, u32, u32, u32>(t, "shf.l.clamp.b32",
                            [](u32 a, u32 b, u32 n) { return funnel<u32, true, false>(a, b, n); });
  enter<u32, u32, u32, u32>(t, "shf.r.clamp.b32",
                            [](u32 a, u32 b, u32 n) { return funnel<u32, false, false>(a, b, n); });
  // Two products of 16 by 8 bits: of the lower two bytes of b, or of the upper two.
  enter<u32, u32, u32, u32>(t, "dp2a.lo.u32.u32", [](u32 a, u32 b, u32 c) {
    return (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff) + c;
  });
  // Each nibble of c names one of the eight bytes of b:a; its top bit asks for copies of the sign.
  enter<u32, u32, u32, u32>(t, "prmt.b32", [](u32 a, u32 b, u32 c) {
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    u32 picked = 0;
    for (int i = 0; i < 4; ++i) {
      const u32 which = c >> (4 * i) & 0xf;
      const auto byte = static_cast<std::uint8_t>(bytes >> (8 * (which & 7)));
      const u32 value = (which & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xff : 0;
      picked |= value << (8 * i);
    }
    return picked;
  });
  enter<bool, bool, bool>(t, "and.pred", [](bool a, bool b) { return a && b; });
  enter<bool, bool, bool>(t, "or.pred", [](bool a, bool b) { return a || b; });
  enter<bool, bool, bool>(t, "xor.pred", [](bool a, bool b) { return a != b; });
  enter<bool, bool>(t, "not.pred", [](bool a) { return !a; });
  enter<bool, bool>(t, "mov.pred", [](bool a) { return a; });
  // The generic address of something in global memory is its address there.
  using u64 = std::uint64_t;
  enter<u64, u64>(t, "cvta.to.global.u64", [](u64 a) { return a; });
  enter<u64, u64>(t, "cvta.global.u64", [](u64 a) { return a; });
  enter<u64, u64>(t, "cvta.shared.u64", [](u64 a) { return shared_window + a; });
  enter<u64, u64>(t, "cvta.to.shared.u64", [](u64 a) { return a - shared_window; });
}

/// Of two halves that are numbers the one that comes first by `less`, and −0 is less than +0. If
/// one is no number, so is the result.
template <bool Lowest>
std::uint32_t choose_half(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t magnitude = 0x7fff;
  constexpr std::uint32_t infinity = 0x7c00;
  if ((a & magnitude) > infinity || (b & magnitude) > infinity) return magnitude;
  const auto rank = [](std::uint32_t half) {
    const auto size = static_cast<std::int32_t>(half & magnitude);
    return half <= magnitude ? size : ~size;
  };
  return (rank(a) < rank(b)) == Lowest ? a : b;
}

template <bool Lowest>
std::uint32_t choose_halves(std::uint32_t a, std::uint32_t b) {
  return choose_half<Lowest>(a & 0xffff, b & 0xffff) | choose_half<Lowest>(a >> 16, b >> 16) << 16;
}

void enter_halves(table& t) {
  using u32 = std::uint32_t;
  enter<u32, u32, u32>(t, "min.NaN.f16x2", [](u32 a, u32 b) { return choose_halves<true>(a, b); });
  enter<u32, u32, u32>(t, "max.NaN.f16x2", [](u32 a, u32 b) { return choose_halves<false>(a, b); });
}

table all_forms() {
  table t;
  enter_whole_numbers<std::uint16_t>(t, "u16");
  enter_whole_numbers<std::uint32_t>(t, "u32");
  enter_whole_numbers<std::uint64_t>(t, "u64");
  enter_whole_numbers<std::int16_t>(t, "s16");
  enter_whole_numbers<std::int32_t>(t, "s32");
  enter_whole_numbers<std::int64_t>(t, "s64");
  enter_products<std::uint16_t, std::uint32_t>(t, "u16");
  enter_products<std::uint32_t, std::uint64_t>(t, "u32");
  enter_products<std::int16_t, std::int32_t>(t, "s16");
  enter_products<std::int32_t, std::int64_t>(t, "s32");
  enter<std::uint64_t, std::uint64_t, std::uint64_t>(
      t, "mul.hi.u64", [](std::uint64_t a, std::uint64_t b) {
        return static_cast<std::uint64_t>(static_cast<wide_unsigned>(a) * b >> 64);
      });
  enter<std::int64_t, std::int64_t, std::int64_t>(
      t, "mul.hi.s64", [](std::int64_t a, std::int64_t b) {
        return static_cast<std::int64_t>(static_cast<wide_signed>(a) * b >> 64);
      });
  enter_bits<std::uint16_t>(t, "b16");
  enter_bits<std::uint32_t>(t, "b32");
  enter_bits<std::uint64_t>(t, "b64");
  enter_wide_bits<std::uint32_t>(t, "b32");
  enter_wide_bits<std::uint64_t>(t, "b64");
  enter_fields<std::uint32_t>(t, "u32");
  enter_fields<std::uint64_t>(t, "u64");
  enter_fields<std::int32_t>(t, "s32");
  enter_fields<std::int64_t>(t, "s64");
  enter_highest_bit<std::uint32_t>(t, "u32");
  enter_highest_bit<std::uint64_t>(t, "u64");
  enter_highest_bit<std::int32_t>(t, "s32");
  enter_highest_bit<std::int64_t>(t, "s64");
  const auto enter_type = [&]<class T>(T, const std::string& type) {
    enter_moves<T>(t, type);
    enter_comparisons<T>(t, type);
  };
  enter_type(std::uint16_t{}, "b16");
  enter_type(std::uint16_t{}, "u16");
  enter_type(std::int16_t{}, "s16");
  enter_type(std::uint32_t{}, "b32");
  enter_type(std::uint32_t{}, "u32");
  enter_type(std::int32_t{}, "s32");
  enter_type(std::uint64_t{}, "b64");
  enter_type(std::uint64_t{}, "u64");
  enter_type(std::int64_t{}, "s64");
  enter_type(float{}, "f32");
  enter_type(double{}, "f64");
  enter_floating_point<float>(t, "f32");
  enter_floating_point<double>(t, "f64");
  enter_conversions<std::uint8_t>(t, "u8");
  enter_conversions<std::uint16_t>(t, "u16");
  enter_conversions<std::uint32_t>(t, "u32");
  enter_conversions<std::uint64_t>(t, "u64");
  enter_conversions<std::int8_t>(t, "s8");
  enter_conversions<std::int16_t>(t, "s16");
  enter_conversions<std::int32_t>(t, "s32");
  enter_conversions<std::int64_t>(t, "s64");
  enter_conversions<float>(t, "f32");
  enter_conversions<double>(t, "f64");
  enter_words(t);
  enter_halves(t);
  return t;
}

} // namespace

const compute_table& compute_forms() {
  // Never destroyed, like the next: a report at the end of a program decodes what is not yet
  // decoded.
  static const auto& forms = *new table(all_forms());
  return forms;
}

join_function find_join(std::string_view operation) {
  using u32 = std::uint32_t;
  using s32 = std::int32_t;
  using join_table = std::map<std::string_view, join_function>;
  static const auto& joins =
      *new join_table{{"add.u32", [](u32 a, u32 b) { return a + b; }},
                      {"add.s32", [](u32 a, u32 b) { return a + b; }},
                      {"min.u32", [](u32 a, u32 b) { return std::min(a, b); }},
                      {"max.u32", [](u32 a, u32 b) { return std::max(a, b); }},
                      {"min.s32", [](u32 a, u32 b) { return s32(a) < s32(b) ? a : b; }},
                      {"max.s32", [](u32 a, u32 b) { return s32(a) < s32(b) ? b : a; }},
                      {"and.b32", [](u32 a, u32 b) { return a & b; }},
                      {"or.b32", [](u32 a, u32 b) { return a | b; }},
                      {"xor.b32", [](u32 a, u32 b) { return a ^ b; }}};
  const auto found = joins.find(operation);
  return found == joins.end() ? nullptr : found->second;
}

compute_function find_compute(std::string_view opcode) {
  const auto found = compute_forms().find(opcode);
  return found == compute_forms().end() ? nullptr : found->second;
}

} // namespace l3::ptx
