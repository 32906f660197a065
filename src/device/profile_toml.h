// Reads device profiles and calibrations from TOML. The files under profiles/ show every key of a
// profile; a calibration has
//
//     launch_seconds = 1.8e-4        # optional, like everything here
//     bytes_per_second = 11e9
//     [rates.Conv]                   # MAC/s; bytes/s for an operator that counts no MAC
//     delegate = 4.1e11
//     cpu = 3.6e10
//     [[samples]]                    # in place of rates: what sessions time by themselves, in s
//     kind = "pointwise"             # device/work_kind.h
//     predicted = 8.1e-4             # of one core, by the rates of its kernels
//     cpu = 8.4e-4
//     delegate = 2.2e-4
//     [[regions]]                    # what runs of regions took
//     key = 4711                     # partition/region_key.h
//     node = "/conv1"
//     predicted = 2.1e-3
//     seconds = 2.6e-3
//     [[splits]]                     # shares of rows that were tried for operators on both sides
//     key = 4712                     # partition/region_key.h, of all nodes before the split
//     share = 24                     # rows on the device, in 1 / kShares
//     seconds = 1.9e-3
//
// A key that is unknown, missing, of another type or out of range is an error that names file and
// line: stage kPartition, code kInvalidInput. Input is not trusted; no file makes the reader crash,
// hang or allocate without bound. Thread-safety: pure functions over text and files.
//
// Texts are limited to kMaxTomlBytes (toml_reader.h). Only the first error is reported.
#pragma once

#include <filesystem>
#include <string_view>

#include "device/calibration.h"
#include "device/profile.h"
#include "parallax/result.h"

namespace parallax {

/// Parse a text. `file` names it in messages only. Errors: kInvalidInput, see above. The result
/// owns all its data: the texts may be freed afterwards. Delegates pass their descriptions through
/// parse_profile() when they are opened; their `file` is then a phrase, not a path.
Result<DeviceProfile> parse_profile(std::string_view text, std::string_view file);
Result<Calibration> parse_calibration(std::string_view text, std::string_view file);

/// Parse a file. Errors: also kIo if it cannot be read. The file is mapped while it is parsed.
/// Messages name the path as given.
Result<DeviceProfile> load_profile(const std::filesystem::path& path);
Result<Calibration> load_calibration(const std::filesystem::path& path);

}  // namespace parallax
