// SPDX-License-Identifier: Apache-2.0
// Compiles toml++ and fmt into this library, because it may load no other C++ library. The lines
// below instantiate the templates that fmt's headers only declare.
#define TOML_IMPLEMENTATION
#include <fmt/format-inl.h>
#include <toml++/toml.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float x) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double x) noexcept;
template locale_ref::locale_ref(const std::locale& loc);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                         locale_ref);

} // namespace detail
FMT_END_NAMESPACE
