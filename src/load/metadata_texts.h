// Copies a file's statements about itself within the limits of ModelMetadata. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parallax/model.h"

namespace parallax {

class MetadataTexts {
 public:
  /// Returns the text, cut where the limit is reached. Bytes that are no UTF-8 become U+FFFD.
  std::string copy(std::string_view text);
  bool full() const { return left_ == 0; }

  bool truncated = false;  ///< whether a text was cut

 private:
  std::size_t left_ = ModelMetadata::kMaxBytes;
};

}  // namespace parallax
