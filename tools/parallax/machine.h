// What figures were measured on and with: reports carry it, so that they can be compared later.
#pragma once

#include <nlohmann/json.hpp>

namespace parallax::cli {

/// {"cpu": "AMD EPYC 9654", "cores": 2 (that this process may use), "instruction_set": "AVX-512"}.
nlohmann::json machine_json();
/// The commit that this program was built from, with "-dirty" where its sources differed from it;
/// null where git did not know.
nlohmann::json commit_json();

}  // namespace parallax::cli
