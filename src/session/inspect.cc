#include "parallax/model.h"

#include <new>
#include <utility>

#include "base/caught.h"
#include "base/files/mapped_file.h"
#include "base/fork.h"
#include "base/machine/cpu_caches.h"
#include "base/status.h"
#include "kernels/cpu/machine.h"
#include "kernels/registry.h"
#include "load/onnx/describe.h"
#include "load/onnx/normalize/normalize.h"
#include "session/model_impl.h"

namespace parallax {
namespace {

std::vector<std::string> kernels_of(OpKind op) {
  std::vector<std::string> names;
  for (const KernelRow& row : kernel_rows())
    if (row.op == op) names.emplace_back(row.name);
  return names;
}

}  // namespace

Result<FileReport> inspect_file(const std::filesystem::path& path) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    PX_ASSIGN(const auto file, MappedFile::open(path));
    auto report = describe_onnx(file->bytes());
    if (!report) return tl::unexpected(naming(path, std::move(report).error()));
    for (FileOperator& op : report->operators)
      if (op.supported && op.name != "Constant")
        op.kernels = kernels_of(onnx_rule(op.domain, op.name).kind);
    return report;
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
