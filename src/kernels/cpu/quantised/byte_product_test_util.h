// For tests of products of bytes: nodes in all the forms that passes give them. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/cpu_test_util.h"
#include "ops/quantised.h"

namespace parallax {

Result<std::unique_ptr<Kernel>> byte_convolution(const KernelRequest& request);
Result<std::unique_ptr<Kernel>> byte_depthwise(const KernelRequest& request);
Result<std::unique_ptr<Kernel>> byte_panels_matmul(const KernelRequest& request);

/// Dtypes of the operands and of the result of a product of bytes, and its epilogue.
struct ByteForm {
  const char* name;
  bool x_signed, w_signed, scaled, requantised, y_signed;
  const char* activation;
  int w_zero = 0;  ///< zero point of the weights as signed bytes
};
inline constexpr ByteForm kByteForms[] = {
    {"Sums", false, true, false, false, false, ""},
    {"SumsOfSigned", true, false, false, false, false, ""},
    {"Reals", false, true, true, false, false, "Relu"},
    {"RealsOfSigned", true, true, true, false, false, "Silu"},
    {"Bytes", false, true, true, true, false, ""},
    {"SignedBytes", true, true, true, true, true, ""},
    {"BoundedBytes", false, false, true, true, true, "Relu"},
    {"ClippedBytes", false, true, true, true, false, "Clip"},
    {"SumsOfShiftedWeights", false, false, false, false, false, "", 8},
    {"SumsOfSignedAndShifted", true, true, false, false, false, "", -128},
    {"RealsOfShiftedWeights", true, false, true, false, false, "Relu", -100},
    {"BytesOfShiftedWeights", false, true, true, true, false, "", 127},
};

inline Tensor random_bytes(const Dims& dims, bool is_signed, unsigned seed) {
  return is_signed ? random_integers<std::int8_t>(dims, seed, -128, 127)
                   : random_integers<std::uint8_t>(dims, seed, 0, 255);
}
inline Tensor byte_scalar(bool is_signed, int value) {
  return is_signed ? test_tensor<std::int8_t>({}, {static_cast<std::int8_t>(value)})
                   : test_tensor<std::uint8_t>({}, {static_cast<std::uint8_t>(value)});
}

inline KernelRun product_run(OpKind op, const Dims& x, const Dims& w, std::int64_t columns,
                             const ByteForm& form) {
  KernelRun run;
  run.op = op;
  run.inputs = test_inputs(random_bytes(x, form.x_signed, 1), random_bytes(w, form.w_signed, 2),
                           byte_scalar(form.x_signed, form.x_signed ? -7 : 131),
                           byte_scalar(form.w_signed, form.w_zero + (form.w_signed ? 0 : 128)));
  run.constants = 0b1010;
  if (!form.scaled) return run;
  run.inputs.emplace_back(random_floats({}, 3, 0.001F, 0.002F));
  run.inputs.emplace_back(random_floats({columns}, 4, 0.1F, 0.2F));
  run.inputs.emplace_back(random_floats({columns}, 5, -2, 2));
  run.epilogue = then(form.activation);
  if (run.epilogue.activation.op == OpKind::kClip) {
    run.epilogue.activation.low = -1;
    run.epilogue.activation.high = 4;
  }
  if (!form.requantised) return run;
  run.inputs.emplace_back(random_floats({}, 6, 0.1F, 0.2F));
  run.inputs.emplace_back(byte_scalar(form.y_signed, form.y_signed ? -3 : 100));
  return run;
}

struct ByteImage {
  Dims x;
  std::int64_t filters;
  std::vector<std::int64_t> kernel, pads, strides, dilations;
};

/// A convolution of images in NHWC.
inline KernelRun image_run(const ByteImage& image, std::int64_t groups, const ByteForm& form) {
  KernelRun run = product_run(
      OpKind::kConvInteger, image.x,
      {image.filters, image.x[3] / groups, image.kernel[0], image.kernel[1]}, image.filters, form);
  run.attributes = test_attributes({{"layout", std::string("NHWC")},
                                    {"group", groups},
                                    {"pads", image.pads},
                                    {"strides", image.strides},
                                    {"dilations", image.dilations}});
  return run;
}

}  // namespace parallax
