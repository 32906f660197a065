#include "outputs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "files/files.h"
#include "files/npy.h"
#include "files/pb.h"
#include "files/pb_objects.h"

namespace parallax::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "outputs.json";

std::string file_name(std::size_t output, OutputFormat format) {
  return fmt::format("{}.{}", output, format == OutputFormat::kPb ? "pb" : "npy");
}

// "12.npy", "12.pb": no other name is ever written here, so no other is removed, whatever a list
// says.
bool is_file_name(std::string_view name) {
  const std::size_t digits = name.find('.');
  if (digits == 0 || digits == std::string_view::npos) return false;
  const std::string_view end = name.substr(digits);
  return (end == ".npy" || end == ".pb") && std::ranges::all_of(name.substr(0, digits), [](char c) {
           return std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

Status write_one(const fs::path& file, std::string_view name, const TensorView& tensor,
                 OutputFormat format) {
  return format == OutputFormat::kPb ? write_file(file, {pb_tensor(name, tensor)})
                                     : write_npy(file, tensor);
}

// Returns the files that an earlier run wrote here; empty if the list is not one of ours.
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

/// An entry of the list. Of an object: dtype and shape of the tensors in it, where they agree.
nlohmann::json entry_of(const TensorInfo& info, const Object& output, const std::string& file) {
  nlohmann::json entry = {{"name", info.name}, {"file", file}};
  const bool map = output.type() == ObjectType::kMap;
  const auto tensors = tensors_in(map ? output.elements().subspan(1) : std::span(&output, 1));
  entry["dtype"] = to_string(info.dtype);
  if (!tensors.empty() && std::ranges::all_of(tensors, [&](const Object& t) {
        return t.dims() == tensors[0].dims();
      })) {
    const Dims& dims = tensors[0].dims();
    entry["shape"] = std::vector<std::int64_t>(dims.begin(), dims.end());
  }
  if (output.type() != ObjectType::kTensor) entry["type"] = to_string(output.type());
  return entry;
}

Status write_all(const fs::path& folder, const Model& model, const std::vector<Object>& outputs,
                 OutputFormat format, std::vector<fs::path>& written) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo& info = model.outputs()[i];
    // NumPy has neither objects nor strings of any length.
    const bool object = is_object(info);
    const std::string file = file_name(i, object ? OutputFormat::kPb : format);
    written.push_back(folder / file);
    auto status = object ? write_file(written.back(), {pb_object(info.name, outputs[i])})
                         : write_one(written.back(), info.name, outputs[i].tensor_view(), format);
    if (!status) return status;
    list.push_back(entry_of(info, outputs[i], file));
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

void remove_outputs(const fs::path& folder) { remove(earlier_files(folder)); }

void remove_numbered_outputs(const fs::path& folder, int first) {
  std::error_code ignored;
  for (int i = first;; ++i) {
    const fs::path numbered = folder / std::to_string(i);
    const auto files = earlier_files(numbered);
    if (files.empty()) return;
    remove(files);
    fs::remove(numbered, ignored);  // if it is empty
  }
}

Status write_outputs(const fs::path& folder, const Model& model, const std::vector<Object>& outputs,
                     OutputFormat format) {
  remove_outputs(folder);
  std::vector<fs::path> written;
  auto status = write_all(folder, model, outputs, format, written);
  if (!status) remove(written);
  return status;
}

}  // namespace parallax::cli
