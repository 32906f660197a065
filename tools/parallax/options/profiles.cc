#include "options/profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/auxv.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

/// PREFIX/bin/parallax has them in PREFIX/share/parallax/profiles, ROOT/build/PRESET/parallax in
/// ROOT/profiles. Empty where neither is there.
fs::path profile_folder() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  // Without /proc: as the system was asked to start it.
  if (error) program = fs::canonical(reinterpret_cast<const char*>(::getauxval(AT_EXECFN)), error);
  const fs::path folder = program.parent_path();
  for (const fs::path& candidate :
       {folder / "../share/parallax/profiles", folder / "../../profiles"})
    if (fs::is_directory(candidate, error)) return candidate;
  return {};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".toml") names.push_back(it->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string find_profile(const std::string& profile) {
  if (profile.find('/') != std::string::npos || profile.ends_with(".toml")) return profile;
  const fs::path folder = profile_folder();
  const std::vector<std::string> names = names_in(folder);
  if (std::find(names.begin(), names.end(), profile) != names.end())
    return (folder / (profile + ".toml")).string();
  throw UsageError(fmt::format("no device profile '{}': give the path of a .toml file or one of {}",
                               profile, fmt::join(names, ", ")));
}

}  // namespace parallax::cli
