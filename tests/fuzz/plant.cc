#include "plant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace parallax::fuzz {
namespace {

constexpr std::array<std::pair<std::string_view, Plant>, 7> kNames = {{
    {"bit", Plant::kBit},
    {"element", Plant::kElement},
    {"shape", Plant::kShape},
    {"error", Plant::kError},
    {"code", Plant::kCode},
    {"refusal", Plant::kRefusal},
    {"guard", Plant::kGuard},
}};

Error error_of(ErrorCode code) { return {Stage::kRun, code, "planted", "a planted error"}; }

void scale_largest(Tensor& tensor) {
  if (tensor.dtype() != DType::kF32 || tensor.dims().elements() == 0) return;
  const auto bytes = tensor.mutable_view().bytes;
  const std::span<float> elements(reinterpret_cast<float*>(bytes.data()),
                                  bytes.size() / sizeof(float));
  float& largest = *std::ranges::max_element(
      elements, {}, [](float x) { return std::isfinite(x) ? std::abs(x) : -1.0F; });
  largest *= 1.01F;
}

}  // namespace

std::optional<Plant> plant_of(std::string_view name) {
  for (const auto& [known, plant] : kNames)
    if (known == name) return plant;
  return std::nullopt;
}

void disturb_schedule(Plant plant, RunResult& result) {
  if (plant == Plant::kError && !result.error) result.error = error_of(ErrorCode::kInvalidInput);
  if (plant == Plant::kCode && result.error) result.error = error_of(ErrorCode::kOutOfMemory);
  if (plant != Plant::kBit) return;
  for (Tensor& output : result.outputs) {
    const auto bytes = output.mutable_view().bytes;
    if (!bytes.empty()) bytes.back() ^= std::byte{1};
  }
}

void disturb_reference(Plant plant, RunResult& result) {
  for (Tensor& output : result.outputs) {
    if (plant == Plant::kElement) scale_largest(output);
    if (plant != Plant::kShape || output.dims().rank() == 0) continue;
    Dims dims = output.dims();
    ++dims[0];
    if (auto other = Tensor::allocate(output.dtype(), dims)) output = *std::move(other);
  }
}

}  // namespace parallax::fuzz
