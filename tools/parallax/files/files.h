// Files that the tool reads and writes: errors give the system's reason.
#pragma once

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "parallax/result.h"

namespace parallax::cli {

/// "cannot read FILE: No such file or directory". `code`: errno's.
Error cannot_read(const std::filesystem::path& path, int code);
Error cannot_write(const std::filesystem::path& path, int code);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;
/// Opens a regular file for reading: a pipe would wait for a writer. Errors: kIo.
Result<File> open_to_read(const std::filesystem::path& path);

/// Writes `parts` one after the other. Where that fails, no file is left. Errors: kIo.
Status write_file(const std::filesystem::path& path, std::initializer_list<std::string_view> parts);
/// Checks that a file may be created or overwritten: call it before work that takes long. Errors:
/// kIo.
Status check_writable(const std::filesystem::path& path);

/// Writes out what was printed. Errors: kIo where standard output did not take all of it.
Status finish_standard_output();

}  // namespace parallax::cli
