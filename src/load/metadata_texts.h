// Copies texts of a model's metadata within the limits of ModelMetadata. Called by loaders. Not
// thread-safe.
//
// One object for each ModelMetadata: the limit is ModelMetadata::kMaxBytes for all texts together.
// Texts of a file may be anything, so the loaders copy them only through this class. Callers
// copy fields that programs read first, because later texts are cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parallax/model.h"

namespace parallax {

class MetadataTexts {
 public:
  /// Returns the text, with invalid UTF-8 replaced by U+FFFD, up to the first character that
  /// exceeds the limit. Sets `truncated` if there is such a character. Up to 3 bytes may be left
  /// then, which later texts use.
  std::string copy(std::string_view text);
  /// Returns whether no byte is left: further texts become empty.
  bool full() const { return left_ == 0; }

  bool truncated = false;  ///< whether a text was cut

 private:
  std::size_t left_ = ModelMetadata::kMaxBytes;
};

}  // namespace parallax
