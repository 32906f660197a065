// The models of the repository, for tests.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace parallax {

inline constexpr const char* kZoo[] = {"clip_text", "distilbert", "swinv2_tiny", "whisper_tiny",
                                       "yolov8n"};

inline std::filesystem::path digits_file() {
  return std::filesystem::path(PX_SOURCE_DIR) / "models/digits/digits.onnx";
}

/// The file of model `name` of the zoo, unpacked beside the build; empty where that cannot be done.
inline std::filesystem::path unpacked(const std::string& name) {
  const std::filesystem::path root(PX_SOURCE_DIR);
  const std::filesystem::path packed = root / "models/zoo" / (name + ".onnx.xz");
  std::filesystem::path model = root / "build/zoo" / (name + ".onnx");
  std::error_code ignored;
  if (std::filesystem::exists(model) &&
      std::filesystem::last_write_time(model) >= std::filesystem::last_write_time(packed))
    return model;
  std::filesystem::create_directories(model.parent_path(), ignored);
  const std::filesystem::path part = model.string() + "." + std::to_string(::getpid());
  const std::string command = "xz -dc '" + packed.string() + "' > '" + part.string() + "'";
  if (std::system(command.c_str()) != 0) return {};
  std::filesystem::rename(part, model, ignored);
  return ignored ? std::filesystem::path() : model;
}

}  // namespace parallax
