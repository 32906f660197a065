// The machine and build behind figures: reports have it, so that they can be compared later.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace parallax::cli {

/// {"cpu": "AMD EPYC 9654", "cores": 2 (that this process may use), "instruction_set": "AVX-512",
/// "vector_bytes": 64, "cache_bytes": {"l1": 32768, "l2": 1048576, "last": 33554432}}.
nlohmann::json machine_json();
/// Returns it in words, without the cores.
std::string machine_text();
/// The commit that this program was built from, with "-dirty" if its sources differed from it;
/// null if git did not know.
nlohmann::json commit_json();

}  // namespace parallax::cli
