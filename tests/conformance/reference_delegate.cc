// The reference kernels as a delegate: right, but for what the text behind its name plants in it.
#include <cstdlib>
#include <string_view>

#include "reference_delegate_test_util.h"

namespace parallax::conformance {
namespace {

constexpr const char* kDescription = R"(
name = "reference"
[delegate]
name = "reference"
launch_seconds = 1e-6
macs_per_second = 1e12
bytes_per_second = 1e12
cpu_macs_per_second = 1e10
memory_bytes = 1000000000
dtypes = ["f32", "i64"]
operators = ["Relu", "Neg", "Add", "MatMul", "Softmax", "NonZero"]
)";

px_code crash(void*, void*, const px_run*, px_done, void*, px_status*) { std::abort(); }

px_code open(const px_open_options* options, void** device, px_status* status) {
  const std::string_view text = options->text;
  Defects planted;
  planted.profile = kDescription;
  if (text == "own-memory") planted.own_memory = true;
  if (text == "wrong") planted.wrong_operator = OpKind::kNeg;
  if (text == "silent") planted.never_answers = true;
  if (text == "nonsense") planted.profile = "name = 7";
  plant(planted);
  if (text == "nothing") return px_fail(status, PX_UNSUPPORTED, "no device here");
  *device = new ReferenceDevice;
  return PX_OK;
}

px_delegate table_of_this() {
  px_delegate table = reference_delegate();
  table.open = open;
  table.run = [](void* device, void* binding, const px_run* run, px_done done, void* context,
                 px_status* status) {
    static const bool crashes = std::getenv("PX_CRASH") != nullptr;
    return (crashes ? crash : reference_run)(device, binding, run, done, context, status);
  };
  return table;
}

}  // namespace
}  // namespace parallax::conformance

extern "C" __attribute__((visibility("default"))) const px_delegate* px_delegate_entry() {
  static const px_delegate table = parallax::conformance::table_of_this();
  return &table;
}
