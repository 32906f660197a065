#include "nan_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "nan.h"

namespace parallax::cli {
namespace {

bool has_floats(const TensorView& tensor) {
  return info_of(tensor.dtype).kind == DTypeClass::kFloat && tensor.dims.elements() > 0;
}

/// In the middle of each float input, so that what does not depend on it stays a number.
Result<std::vector<Tensor>> with_nan(std::span<const NamedInput> inputs) {
  std::vector<Tensor> copies;
  for (const NamedInput& input : inputs) {
    auto copy = Tensor::allocate(input.tensor.dtype, input.tensor.dims);
    if (!copy) return tl::unexpected(copy.error());
    const MutableTensorView view = copy->mutable_view();
    std::ranges::copy(input.tensor.bytes, view.bytes.begin());
    if (has_floats(view))
      write_element(view.dtype, std::numeric_limits<float>::quiet_NaN(), view.bytes.data(),
                    view.dims.elements() / 2);
    copies.push_back(std::move(*copy));
  }
  return copies;
}

Result<std::vector<Tensor>> outputs_of(const Model& model, const SessionOptions& options,
                                       std::span<const NamedInput> inputs) {
  auto session = Session::create(model, options);
  if (!session) return tl::unexpected(session.error());
  return session->run(inputs, {.tied_outputs = true});
}

/// Elements that are NaN in the oracle and numbers in ours.
std::int64_t lost_nan(const Tensor& ours, const Tensor& oracle) {
  if (ours.dtype() != oracle.dtype() || !(ours.dims() == oracle.dims())) return 0;
  std::int64_t lost = 0;
  for (std::int64_t i = 0; i < oracle.dims().elements(); ++i)
    lost += is_nan(oracle.view(), i) && !is_nan(ours.view(), i);
  return lost;
}

}  // namespace

SessionOptions reference_of(SessionOptions options) {
  options.kernels = Kernels::kReference;
  options.delegates.clear();
  options.require_full_delegation = false;
  options.precision = Precision::kF32;
  return options;
}

Status check_nan(const Model& model, const Model& unfused, const SessionOptions& options,
                 std::span<const NamedInput> inputs) {
  if (std::ranges::none_of(inputs, [](const auto& input) { return has_floats(input.tensor); }))
    return {};
  const auto spoiled = with_nan(inputs);
  if (!spoiled) return tl::unexpected(spoiled.error());
  std::vector<NamedInput> views(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < views.size(); ++i) views[i].tensor = (*spoiled)[i].view();
  const auto oracle = outputs_of(unfused, reference_of(options), views);
  if (!oracle) return {};
  const auto ours = outputs_of(model, options, views);
  if (!ours) return tl::unexpected(ours.error());
  for (std::size_t i = 0; i < oracle->size(); ++i) {
    const std::int64_t lost = lost_nan((*ours)[i], (*oracle)[i]);
    if (lost == 0) continue;
    return tl::unexpected(
        Error{Stage::kRun,
              ErrorCode::kInternal,
              {},
              fmt::format("{} elements of output '{}' are numbers where the reference kernels, "
                          "without passes, give NaN",
                          lost, model.outputs()[i].name)});
  }
  return {};
}

}  // namespace parallax::cli
