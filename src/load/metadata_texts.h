// Copies a file's statements about itself within the limits of ModelMetadata. Not thread-safe.
//
// One object for each ModelMetadata: the limit is ModelMetadata::kMaxBytes for all texts together.
// Texts of a file may be anything, so the loaders copy them only through this class. Fields that
// programs read come first, since later ones are cut first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parallax/model.h"

namespace parallax {

class MetadataTexts {
 public:
  /// Returns the text, cut where the limit is reached. Bytes that are no UTF-8 become U+FFFD. A cut
  /// falls between characters and sets `truncated`; a full() object returns further texts empty,
  /// and sets it for those that are not.
  std::string copy(std::string_view text);
  bool full() const { return left_ == 0; }

  bool truncated = false;  ///< whether a text was cut

 private:
  std::size_t left_ = ModelMetadata::kMaxBytes;
};

}  // namespace parallax
