#include "outputs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "files.h"
#include "npy.h"

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "outputs.json";

std::string file_name(std::size_t output) { return fmt::format("{}.npy", output); }

// "12.npy": no other name is ever written here, so no other is removed, whatever a list says.
bool is_file_name(std::string_view name) {
  constexpr std::string_view kEnd = ".npy";
  if (!name.ends_with(kEnd) || name.size() == kEnd.size()) return false;
  name.remove_suffix(kEnd.size());
  return std::ranges::all_of(
      name, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

// What an earlier run wrote here. Nothing where the list is none of ours.
std::vector<fs::path> earlier_files(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / kList, error)) return {};
  std::ifstream file(folder / kList);
  const auto list = nlohmann::json::parse(file, nullptr, false);
  if (!list.is_array()) return {};
  std::vector<fs::path> files;
  for (const auto& entry : list) {
    const auto name = entry.is_object() ? entry.find("file") : entry.end();
    if (name == entry.end() || !name->is_string()) return {};
    const auto text = name->get<std::string>();
    if (is_file_name(text)) files.push_back(folder / text);
  }
  files.push_back(folder / kList);
  return files;
}

Status write_all(const fs::path& folder, const Model& model, const std::vector<Tensor>& outputs,
                 std::vector<fs::path>& written) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    written.push_back(folder / file_name(i));
    if (auto status = write_npy(written.back(), outputs[i].view()); !status) return status;
    const Dims& dims = outputs[i].dims();
    list.push_back({{"name", model.outputs()[i].name},
                    {"dtype", to_string(outputs[i].dtype())},
                    {"shape", std::vector<std::int64_t>(dims.begin(), dims.end())},
                    {"file", file_name(i)}});
  }
  written.push_back(folder / kList);
  return write_file(written.back(),
                    {list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace), "\n"});
}

void remove(const std::vector<fs::path>& files) {
  std::error_code ignored;
  for (const fs::path& file : files)
    if (fs::is_regular_file(fs::symlink_status(file, ignored))) fs::remove(file, ignored);
}

}  // namespace

Status make_output_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error) return tl::unexpected(cannot_write(folder, error.value()));
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return tl::unexpected(cannot_write(folder, errno));
}

Status write_outputs(const fs::path& folder, const Model& model,
                     const std::vector<Tensor>& outputs) {
  remove(earlier_files(folder));
  std::vector<fs::path> written;
  auto status = write_all(folder, model, outputs, written);
  if (!status) remove(written);
  return status;
}

}  // namespace parallax::cli
