// Names that come from a file: which ones are accepted, and how they look inside a message.
// Thread-safety: pure functions.
//
// Every loader passes each name of a file to check_name() before it stores the name or shows it.
// Messages quote a name only through quote() or shorten(), so that one line has a bounded length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parallax/result.h"

namespace parallax {

/// An Error of stage kLoad. `node`: name of the node at fault, copied; empty if no node is or
/// the caller adds it.
inline Error load_error(ErrorCode code, std::string message, std::string_view node = {}) {
  return Error{Stage::kLoad, code, std::string(node), std::move(message)};
}
/// Return such an error, as a Result or Status. kInvalidModel says that the file contradicts its
/// format or itself. unsupported() returns kUnsupported: the file is valid, and Parallax cannot
/// load it.
inline tl::unexpected<Error> invalid_model(std::string message, std::string_view node = {}) {
  return tl::unexpected(load_error(ErrorCode::kInvalidModel, std::move(message), node));
}
inline tl::unexpected<Error> unsupported(std::string message, std::string_view node = {}) {
  return tl::unexpected(load_error(ErrorCode::kUnsupported, std::move(message), node));
}

/// Accepts UTF-8 of at most 65535 bytes without control characters (names end up in one-line
/// messages, in JSON and on terminals); empty names too. `what` says whose name it is. Errors:
/// kInvalidModel. Control characters are the bytes below 0x20 and 0x7F. Overlong UTF-8, surrogates
/// and code points above U+10FFFF are refused. O(bytes).
Status check_name(std::string_view what, std::string_view name);

/// Returns the bytes of the character with which `text`, which is not empty, begins: 1 to 4; 0 if
/// it does not begin with UTF-8. Overlong forms, surrogates and what lies beyond U+10FFFF are not
/// UTF-8.
std::size_t utf8_length(std::string_view text);

/// Accepts UTF-8 of any length: a text that is data. Errors: kInvalidModel. Control characters and
/// zeros are accepted, so the text must not go into a message unescaped.
Status check_text(std::string_view what, std::string_view text);

/// Returns the text, without its middle if it has more than `longest` bytes. "..." replaces the
/// middle; cuts fall between characters of UTF-8, so the result has at most longest + 3 bytes.
std::string shorten(std::string_view text, std::size_t longest = 120);
/// Returns shorten(name) in quotes.
std::string quote(std::string_view name);

}  // namespace parallax
