#include "parallax/model.h"

#include <new>
#include <utility>

#include "base/caught.h"
#include "base/files/mapped_file.h"
#include "base/machine/cpu_caches.h"
#include "base/machine/fork.h"
#include "base/status.h"
#include "kernels/cpu/machine.h"
#include "kernels/registry.h"
#include "load/model_file.h"
#include "session/model_impl.h"

namespace parallax {
namespace {

std::vector<std::string> kernels_of(OpKind op) {
  std::vector<std::string> names;
  for (const KernelRow& row : kernel_rows())
    if (row.op == op) names.emplace_back(row.name);
  return names;
}

/// Describes the contents of a file with the kernels of its operators.
Result<FileReport> describe(std::span<const std::byte> file, const std::string& section) {
  PX_ASSIGN(auto described, describe_model(file, section));
  std::vector<FileOperator>& operators = described.report.operators;
  for (std::size_t i = 0; i < operators.size(); ++i)
    if (const auto kind = described.kinds[i]) operators[i].kernels = kernels_of(*kind);
  return std::move(described.report);
}

}  // namespace

Result<FileReport> inspect_file(const std::filesystem::path& path, const std::string& section) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    PX_ASSIGN(const auto file, MappedFile::open(path));
    auto report = describe(file->bytes(), section);
    if (!report) return tl::unexpected(naming(path, std::move(report).error()));
    return report;
  } catch (...) {
    return tl::unexpected(caught(Stage::kLoad));
  }
}

Result<FileReport> inspect_file(std::span<const std::byte> file, const std::string& section) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    PX_RETURN_IF_ERROR(check_memory(file));
    return describe(file, section);
  } catch (...) {
    return tl::unexpected(caught(Stage::kLoad));
  }
}

MachineReport inspect_machine() {
  CpuCaches caches;
  try {
    caches = cpu_caches();
  } catch (const std::bad_alloc&) {  // the defaults, as if the system reported no sizes
  }
  return {vector_bytes(), caches.l1, caches.l2, caches.last};
}

}  // namespace parallax
