// Conv on oneDNN: f32, one or two spatial dimensions, constant weights, an activation on the
// result.
//
// Tiles compute in NHWC, where a run of rows is contiguous. For an NCHW node each tile converts its
// own rows in scratch memory, before and after. The activation is ours: oneDNN's make numbers of
// NaN.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/onednn/convolution_tiles.h"
#include "kernels/onednn/engine.h"
#include "kernels/simd/activation.h"

namespace parallax {
namespace {

using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;

/// What oneDNN keeps for a TileCode, of which it says nothing: measured on a Zen 4, 0.3 to 1 MB for
/// convolutions and 50 KB for depthwise ones.
constexpr std::int64_t kCodeBytes = std::int64_t{512} << 10;

std::int64_t aligned_bytes(const memory::desc& desc) {
  const auto bytes = static_cast<std::int64_t>(desc.get_size());
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

DnnlSource whole(const TensorDesc& tensor) { return {tensor.data, tensor.bytes()}; }

/// The primitives that compute tiles with the same rows.
struct TileCode {
  ConvolutionRows rows;
  std::shared_ptr<const DnnlPrimitive> to_nhwc, convolution,
      from_nhwc;  ///< conversions may be null
  DnnlPacked weights;
};

/// Makes the code of tiles of one convolution.
class TileCompiler {
 public:
  TileCompiler(const ConvolutionShape& shape, bool has_bias)
      : shape_(shape), has_bias_(has_bias), attributes_(dnnl_attributes()) {}

  /// Null members where oneDNN has no implementation.
  TileCode compile(const ConvolutionRows& rows) const {
    TileCode code;
    code.rows = rows;
    code.convolution = dnnl_primitive_for(key(rows), [&] { return convolution(rows); });
    if (code.convolution == nullptr || shape_.nhwc) return code;
    code.to_nhwc =
        conversion(view(shape_.in_channels, rows.in_rows, shape_.in), code.convolution->src);
    code.from_nhwc =
        conversion(code.convolution->dst, view(shape_.out_channels, rows.out_rows, shape_.out));
    return code;
  }

  memory::desc weights_as_given() const {
    const memory::dims dims = weight_dims();
    return {dims, kF32, dims.size() == 5 ? memory::format_tag::goihw : memory::format_tag::oihw};
  }

 private:
  memory::dims weight_dims() const {
    const ConvolutionShape& s = shape_;
    const std::int64_t in = s.in_channels / s.groups;
    if (s.groups == 1) return {s.out_channels, in, s.kernel[0], s.kernel[1]};
    return {s.groups, s.out_channels / s.groups, in, s.kernel[0], s.kernel[1]};
  }

  /// {H, W} of a run of `rows` rows.
  std::array<std::int64_t, 2> spatial(std::int64_t rows, std::array<std::int64_t, 2> full) const {
    full[static_cast<std::size_t>(shape_.tile_axis)] = rows;
    return full;
  }

  memory::desc dense(std::int64_t channels, std::int64_t rows,
                     const std::array<std::int64_t, 2>& full) const {
    const auto [height, width] = spatial(rows, full);
    return {{1, channels, height, width}, kF32, memory::format_tag::nhwc};
  }

  /// A run of rows inside an NCHW image.
  memory::desc view(std::int64_t channels, std::int64_t rows,
                    const std::array<std::int64_t, 2>& full) const {
    const auto [height, width] = spatial(rows, full);
    const std::int64_t plane = full[0] * full[1];
    return {{1, channels, height, width}, kF32, memory::dims{channels * plane, plane, full[1], 1}};
  }

  std::shared_ptr<const DnnlPrimitive> conversion(const memory::desc& from,
                                                  const memory::desc& to) const {
    return dnnl_primitive_for("reorder " + dnnl_layout_key(from) + dnnl_layout_key(to), [&] {
      const dnnl::reorder::primitive_desc desc(dnnl_engine(), from, dnnl_engine(), to, attributes_);
      return DnnlPrimitive{dnnl::reorder(desc), from, {}, {}, to, desc.scratchpad_desc()};
    });
  }

  DnnlPrimitive convolution(const ConvolutionRows& rows) const {
    const ConvolutionShape& s = shape_;
    const memory::desc src = dense(s.in_channels, rows.in_rows, s.in);
    const memory::desc dst = dense(s.out_channels, rows.out_rows, s.out);
    const memory::desc weights(weight_dims(), kF32, memory::format_tag::any);
    const memory::desc bias =
        has_bias_ ? memory::desc({s.out_channels}, kF32, memory::format_tag::x) : memory::desc();
    const int other = 1 - s.tile_axis;
    const auto across = static_cast<std::size_t>(other);
    const auto along = static_cast<std::size_t>(s.tile_axis);
    memory::dims before(2), after(2);
    before[along] = rows.pad_begin;
    after[along] = rows.pad_end;
    before[across] = s.pad_begin[across];
    after[across] = s.pad_end(other, s.out[across]);
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const memory::dims strides{s.stride[0], s.stride[1]};
    const memory::dims gaps{s.dilation[0] - 1, s.dilation[1] - 1};
    const dnnl::convolution_forward::desc desc =
        has_bias_ ? dnnl::convolution_forward::desc(kind, algorithm, src, weights, bias, dst,
                                                    strides, gaps, before, after)
                  : dnnl::convolution_forward::desc(kind, algorithm, src, weights, dst, strides,
                                                    gaps, before, after);
    const dnnl::convolution_forward::primitive_desc made(desc, attributes_, dnnl_engine());
    return {dnnl::convolution_forward(made), src, made.weights_desc(), bias, dst,
            made.scratchpad_desc()};
  }

  std::string key(const ConvolutionRows& rows) const {
    const ConvolutionShape& s = shape_;
    std::string text = has_bias_ ? "conv bias" : "conv";
    for (const std::int64_t number :
         {s.groups,      s.in_channels,  s.out_channels, s.in[0],
          s.in[1],       s.out[0],       s.out[1],       s.kernel[0],
          s.kernel[1],   s.stride[0],    s.stride[1],    s.dilation[0],
          s.dilation[1], s.pad_begin[0], s.pad_begin[1], static_cast<std::int64_t>(s.tile_axis),
          rows.in_rows,  rows.out_rows,  rows.pad_begin, rows.pad_end}) {
      (text += ' ') += std::to_string(number);
    }
    return text;
  }

  ConvolutionShape shape_;
  bool has_bias_;
  dnnl::primitive_attr attributes_;
};

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const ConvolutionShape& shape, const Unary& activation, std::int64_t rows,
                    std::vector<TileCode> codes, std::vector<std::size_t> code_of_row_tile,
                    DnnlPacked bias)
      : shape_(shape),
        activation_(activation),
        rows_(rows),
        codes_(std::move(codes)),
        code_of_row_tile_(std::move(code_of_row_tile)),
        bias_(std::move(bias)) {
    for (const TileCode& code : codes_) scratch_ = std::max(scratch_, scratch_of(code));
  }

  std::int64_t tiles() const override {
    return shape_.batch * static_cast<std::int64_t>(code_of_row_tile_.size());
  }
  std::int64_t scratch_bytes() const override { return scratch_; }
  std::int64_t table_bytes() const override {
    return std::ssize(codes_) * kCodeBytes +
           static_cast<std::int64_t>(code_of_row_tile_.capacity() * sizeof(std::size_t));
  }
  InputUse input_use(std::size_t input) const override {
    return input == 0 ? InputUse::kAligned : InputUse::kNone;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto row_tiles = static_cast<std::int64_t>(code_of_row_tile_.size());
    const std::int64_t image = tile / row_tiles;
    const std::int64_t index = tile % row_tiles;
    const TileCode& code = codes_[code_of_row_tile_[static_cast<std::size_t>(index)]];
    const ConvolutionRows rows = tile_rows(shape_, rows_, index);
    const float* x =
        args.in<float>(0) + offset(image, rows.in_begin, shape_.in_channels, shape_.in);
    float* y = args.out<float>() + offset(image, rows.out_begin, shape_.out_channels, shape_.out);
    const auto convolve = [&](const void* from, void* to, std::byte* scratchpad) -> Status {
      PX_RETURN_IF_ERROR(dnnl_execute(
          *code.convolution,
          {from, code.weights->data(), bias_ ? bias_->data() : nullptr, to, scratchpad}));
      if (activation_ == UnaryFunction::kNone) return {};
      auto* const results = static_cast<float*>(to);
      apply_unary(activation_, results, results, code.convolution->dst.get_size() / sizeof(float));
      return {};
    };
    if (shape_.nhwc) return convolve(x, y, args.scratch.data());

    std::byte* const x_nhwc = args.scratch.data();
    std::byte* const y_nhwc = x_nhwc + aligned_bytes(code.convolution->src);
    std::byte* const scratchpad = y_nhwc + aligned_bytes(code.convolution->dst);
    PX_RETURN_IF_ERROR(dnnl_execute(*code.to_nhwc, {x, nullptr, nullptr, x_nhwc, scratchpad}));
    PX_RETURN_IF_ERROR(convolve(x_nhwc, y_nhwc, scratchpad));
    return dnnl_execute(*code.from_nhwc, {y_nhwc, nullptr, nullptr, y, scratchpad});
  }

 private:
  /// Elements before row `row` of image `image`.
  std::int64_t offset(std::int64_t image, std::int64_t row, std::int64_t channels,
                      const std::array<std::int64_t, 2>& full) const {
    const std::int64_t row_elements = shape_.tile_axis == 0 ? full[1] : 1;
    return image * channels * full[0] * full[1] + row * row_elements * (shape_.nhwc ? channels : 1);
  }

  std::int64_t scratch_of(const TileCode& code) const {
    const DnnlPrimitive& convolution = *code.convolution;
    if (shape_.nhwc) return aligned_bytes(convolution.scratchpad);
    const std::int64_t scratchpad =
        std::max({aligned_bytes(convolution.scratchpad), aligned_bytes(code.to_nhwc->scratchpad),
                  aligned_bytes(code.from_nhwc->scratchpad)});
    return aligned_bytes(convolution.src) + aligned_bytes(convolution.dst) + scratchpad;
  }

  ConvolutionShape shape_;
  Unary activation_;
  std::int64_t rows_;
  std::vector<TileCode> codes_;
  std::vector<std::size_t> code_of_row_tile_;
  const DnnlPacked bias_;  ///< null where the node has none
  std::int64_t scratch_ = 0;
};

Result<std::unique_ptr<Kernel>> make_convolution(const KernelRequest& request) {
  const auto shape = convolution_shape(request);
  if (!shape) return nullptr;
  const auto activation = fused_activation(request.node);
  if (!activation) return nullptr;

  const bool has_bias = request.has(2);
  const TileCompiler compiler(*shape, has_bias);
  const std::int64_t rows = rows_per_tile(*shape);
  const std::int64_t total = shape->out[static_cast<std::size_t>(shape->tile_axis)];
  std::vector<TileCode> codes;
  std::vector<std::size_t> code_of_row_tile;
  for (std::int64_t i = 0; i * rows < total; ++i) {
    const ConvolutionRows tile = tile_rows(*shape, rows, i);
    if (tile.in_rows < 1) return nullptr;  // outputs of padding alone
    const auto same = std::find_if(codes.begin(), codes.end(),
                                   [&](const TileCode& code) { return code.rows.same_work(tile); });
    code_of_row_tile.push_back(static_cast<std::size_t>(same - codes.begin()));
    if (same != codes.end()) continue;
    TileCode code = compiler.compile(tile);
    if (code.convolution == nullptr) return nullptr;
    if (!shape->nhwc && (code.to_nhwc == nullptr || code.from_nhwc == nullptr)) return nullptr;
    PX_ASSIGN(code.weights, dnnl_pack(request.packed, whole(request.inputs[1]),
                                      compiler.weights_as_given(), code.convolution->weights));
    codes.push_back(std::move(code));
  }
  DnnlPacked bias;
  if (has_bias) {
    const memory::desc desc = codes.front().convolution->bias;
    PX_ASSIGN(bias, dnnl_pack(request.packed, whole(request.inputs[2]), desc, desc));
  }
  return std::make_unique<ConvolutionKernel>(*shape, *activation, rows, std::move(codes),
                                             std::move(code_of_row_tile), std::move(bias));
}

}  // namespace

Result<std::unique_ptr<Kernel>> onednn_convolution(const KernelRequest& request) {
  return dnnl_make_kernel([&] { return make_convolution(request); });
}

}  // namespace parallax
