#include "delegates/opencl/launch.h"

#include <algorithm>

#include "delegates/opencl/texts.h"

namespace parallax::opencl {
namespace {

std::vector<KernelSpec> make_specs() {
  std::vector<KernelSpec> specs;
#define PX_CL_KERNEL(text, name, x, y, signature) \
  specs.push_back(                                \
      {#name, std::string(kCommonText) + std::string(k##text##Text), {x, y, 1}, signature});
#include "delegates/opencl/operators.def"
  return specs;
}

template <std::size_t kIndex = 0>
Argument zero_of(std::size_t index) {
  if constexpr (kIndex + 1 < std::variant_size_v<Argument>) {
    if (index != kIndex) return zero_of<kIndex + 1>(index);
  }
  return Argument(std::in_place_index<kIndex>);
}

}  // namespace

const KernelSpec& spec_of(KernelId id) {
  static const std::vector<KernelSpec> kSpecs = make_specs();
  return kSpecs[static_cast<std::size_t>(id)];
}

std::string_view elementwise_prelude() {
  static const std::string kText = std::string(kCommonText) + std::string(kElementwiseText);
  return kText;
}

bool fits(const Launch& launch) {
  return std::ranges::equal(launch.arguments, launch.kernel->signature,
                            [](const Argument& argument, char letter) {
                              return kArgumentLetters[argument.index()] == letter;
                            });
}

Launch idle_launch(const KernelSpec& kernel) {
  Launch launch{&kernel, {1, 1, 1}, {}};
  for (const char letter : kernel.signature) {
    const auto index = std::string_view(kArgumentLetters).find(letter);
    launch.arguments.push_back(zero_of(index));
  }
  return launch;
}

}  // namespace parallax::opencl
