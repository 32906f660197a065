// What was timed on a device, for the next process: a calibration (device/profile_toml.h) behind
// three lines of comment, a checksum of all that follows, what the figures belong to and when the
// first of them was timed. Other files
// of users may be read by those who pass them as a calibration: they have no such lines.
//
// Thread-safety: pure functions over files; writers in several processes exclude each other.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "device/calibration.h"

namespace parallax {

struct KeptRates {
  Calibration calibration;
  std::chrono::sys_seconds since;  ///< when the first figure was timed
};

/// Where the rates of `key` lie in a folder of caches.
std::filesystem::path rate_file(const std::filesystem::path& folder, const std::string& key);

std::string rates_text(const std::string& key, const KeptRates& kept);
/// Errors: kInvalidInput for a text that is damaged, of another version or of another key, and as
/// parse_calibration().
Result<KeptRates> parse_rates(std::string_view text, const std::string& key,
                              const std::string& file);

/// Errors: kIo, and as parse_rates().
Result<KeptRates> load_rates(const std::filesystem::path& path, const std::string& key);
/// Replaces the file as a whole. Errors: kIo.
Status save_rates(const std::filesystem::path& path, const std::string& key, const KeptRates& kept);

}  // namespace parallax
