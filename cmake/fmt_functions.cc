// What the tool needs of {fmt}'s library, from its headers: Debian has no archive of it, and a tool
// that needs no C++ library at run time holds a megabyte less. Not part of our library, whose users
// may link {fmt}'s. Thread-safe.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;

}  // namespace detail
FMT_END_NAMESPACE
