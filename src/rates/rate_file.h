// Stores the measurements of a device for later processes: a calibration (device/profile_toml.h)
// after three lines of comment: a checksum of all that follows, the key of the measurements, and
// the time of the first one. Calibration files of users lack these lines and are read elsewhere.
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
  std::chrono::sys_seconds since;  ///< time of the first measurement
};

/// Returns the path of the file for `key` in a folder of caches. Its name is "rates-", 16
/// hexadecimal digits of the key's hash, ".toml". Characters of the key that are not printable
/// ASCII, quotes and backslashes count as "?".
std::filesystem::path rate_file(const std::filesystem::path& folder, const std::string& key);

/// Returns the text of a file. Numbers have seven significant digits. Names of nodes are written
/// with the same replacements as keys.
std::string rates_text(const std::string& key, const KeptRates& kept);
/// Parses the text of a file. Errors: kInvalidInput if it is damaged, of another version or for
/// another key; those of parse_calibration(). `file` is for messages only. The checksum finds
/// damage, not forgery: parse_calibration() checks all ranges.
Result<KeptRates> parse_rates(std::string_view text, const std::string& key,
                              const std::string& file);

/// Reads a file. Errors: kIo; those of parse_rates(). The result does not refer to the file.
Result<KeptRates> load_rates(const std::filesystem::path& path, const std::string& key);
/// Replaces the file atomically. Errors: kIo. Does nothing if another process is writing the file.
Status save_rates(const std::filesystem::path& path, const std::string& key, const KeptRates& kept);

}  // namespace parallax
