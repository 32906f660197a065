#include "kernels/cpu/convolution/planar_convolution.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/planar_cut.h"
#include "kernels/cpu/convolution/planar_loops.h"
#include "kernels/cpu/convolution/planar_weights.h"
#include "kernels/cpu/convolution/planar_window.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Fewest outputs of a row for which skipping the taps that only see padding pays.
constexpr std::int64_t kFewestCutColumns = 6;
constexpr std::int64_t kMaxTaps = 65536;

class PlanarConvolution final : public Kernel {
 public:
  PlanarConvolution(const ConvolutionShape& shape, PlanarWeights weights, const Unary& activation,
                    PlanarWindow window, const PlanarCut& cut, const Machine& machine)
      : shape_(shape),
        weights_(std::move(weights)),
        activation_(activation),
        by_pixels_(weights_.unit > 1),
        window_(std::move(window)),
        cut_(cut),
        streamed_(weights_.elements() > machine.kept_weights()) {
    window_.set_outputs(cut_.rows, cut_.columns);
    in_place_ = !by_pixels_ &&
                (cut_.rows == 1 || (cut_.column_tiles == 1 && window_.pitch() == cut_.columns));
    reads_in_place_ = by_pixels_ && cut_.column_tiles == 1 && pixels_stay(shape, machine);
    const std::int64_t channels = tile_count(weights_.channels, weights_.blocks);
    results_ = reads_in_place_
                   ? 0
                   : tile_count(channels * window_.channel_stride() + kPlanarSlack, kLineFloats) *
                         kLineFloats;
    const std::int64_t pixels = (cut_.rows - 1) * window_.pitch() + cut_.columns;
    const std::int64_t panels = tile_count(weights_.panels, cut_.panel_tiles);
    const std::int64_t widest = tile_count(weights_.units, weights_.panels) * weights_.unit;
    result_stride_ =
        by_pixels_ ? panels * widest : tile_count(pixels, kLineFloats) * kLineFloats + kLineFloats;
    taps_ = results_;
    if (!in_place_) taps_ += result_stride_ * (by_pixels_ ? pixels : panels * widest);
    taps_ = tile_count(taps_, kLineFloats) * kLineFloats;
    add_cuts();
    run_ = static_cast<std::int64_t>(planar_widths().run) *
           std::clamp<std::int64_t>(256 / (channels * weights_.taps), 1, 16);
  }

  std::int64_t tiles() const override {
    return shape_.batch * shape_.planes.out * cut_.row_tiles * cut_.column_tiles *
           cut_.group_tiles * cut_.panel_tiles;
  }
  std::int64_t scratch_bytes() const override {
    return taps_ * kFloatBytes + weights_.taps * static_cast<std::int64_t>(sizeof(PlanarTap));
  }
  std::int64_t table_bytes() const override {
    return window_.table_bytes() +
           static_cast<std::int64_t>(column_cuts_.capacity() * sizeof(std::int64_t));
  }
  InputUse input_use(std::size_t input) const override {
    return input == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const FlushDenormals flush;
    const TileRange panels =
        tile_range(weights_.panels, cut_.panel_tiles, take(tile, cut_.panel_tiles));
    const TileRange groups =
        tile_range(shape_.groups, cut_.group_tiles, take(tile, cut_.group_tiles));
    PlanarOutputs outputs;
    const TileRange columns =
        tile_range(shape_.out[1], cut_.column_tiles, take(tile, cut_.column_tiles));
    const TileRange rows = tile_range(shape_.out[0], cut_.row_tiles, take(tile, cut_.row_tiles));
    outputs.plane = take(tile, shape_.planes.out);
    outputs.image = tile;
    outputs.row_begin = rows.begin;
    outputs.row_end = rows.end;
    outputs.column_begin = columns.begin;
    outputs.column_end = columns.end;
    for (std::int64_t group = groups.begin; group < groups.end; ++group)
      run_group(outputs, group, panels, args);
    return {};
  }

 private:
  /// Returns the remainder of `tile`, and replaces `tile` with the quotient.
  static std::int64_t take(std::int64_t& tile, std::int64_t count) {
    const std::int64_t remainder = tile % count;
    tile /= count;
    return remainder;
  }

  std::int64_t plane_pixels() const { return shape_.out[0] * shape_.out[1]; }

  /// Returns the address of the first output of a filter.
  float* first_output(const PlanarOutputs& outputs, std::int64_t filter,
                      const KernelArgs& args) const {
    const std::int64_t plane =
        (outputs.image * shape_.out_channels + filter) * shape_.planes.out + outputs.plane;
    return args.out<float>() + plane * plane_pixels() + outputs.row_begin * shape_.out[1] +
           outputs.column_begin;
  }

  /// Cuts rows before columns that see other taps, if that saves more than short runs cost.
  void add_cuts() {
    std::vector<std::int64_t>& cuts = column_cuts_;
    for (std::int64_t j = 0; by_pixels_ && j < shape_.kernel[1]; ++j) {
      const std::int64_t shift = j * shape_.dilation[1] - shape_.pad_begin[1];
      for (const std::int64_t edge : {-shift, shape_.in[1] - shift})
        if (edge > 0) cuts.push_back(std::min(tile_count(edge, shape_.stride[1]), shape_.out[1]));
    }
    cuts.push_back(shape_.out[1]);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::int64_t begin = 0;
    for (const std::int64_t cut : cuts) {
      if (cut - begin >= kFewestCutColumns) {
        begin = cut;
        continue;
      }
      cuts = {shape_.out[1]};
      break;
    }
    cuts.shrink_to_fit();
  }

  void run_group(const PlanarOutputs& outputs, std::int64_t group, TileRange panels,
                 const KernelArgs& args) const {
    auto* const window = reinterpret_cast<float*>(args.scratch.data());
    const std::int64_t filter = group * weights_.filters + weights_.panel(panels.begin).begin;
    const float* bias = args.inputs.size() > 2 ? args.in<float>(2) : nullptr;
    Work work;
    work.window = window;
    work.results = in_place_ ? first_output(outputs, filter, args) : window + results_;
    work.bias = bias == nullptr ? nullptr : bias + filter;
    work.group = group;
    work.taps = reinterpret_cast<PlanarTap*>(window + taps_);
    work.panels = panels;
    for (work.block = 0; work.block < weights_.blocks; ++work.block) {
      const TileRange channels = weights_.block(work.block);
      const std::int64_t channel = group * weights_.channels + channels.begin;
      if (reads_in_place_) {
        work.window =
            args.in<float>(0) +
            ((outputs.image * shape_.in_channels + channel) * shape_.planes.out + outputs.plane) *
                plane_pixels() +
            outputs.row_begin * shape_.out[1];
      } else {
        window_.copy(outputs, channel, channels.end - channels.begin, args.in<float>(0), window);
      }
      if (by_pixels_) {
        multiply_pixels(outputs, work);
      } else {
        multiply_filters(outputs, work);
      }
    }
    const std::int64_t end = std::min(weights_.panel(panels.end - 1).end, weights_.filters);
    finish(outputs, filter, group * weights_.filters + end - filter, args);
  }

  /// A block of channels of one group that was copied.
  struct Work {
    const float* window = nullptr;
    float* results = nullptr;
    const float* bias = nullptr;
    PlanarTap* taps = nullptr;  ///< room for all
    std::int64_t group = 0, block = 0;
    TileRange panels{};
  };

  /// Fills in the fields that both kinds of products have in common; `p` is the panel.
  template <class Product>
  Product product_of(const Work& work, std::int64_t p) const {
    const TileRange channels = weights_.block(work.block);
    Product product;
    product.weights = reinterpret_cast<const float*>(weights_.bytes->data()) +
                      weights_.offset(work.group, work.block, p);
    product.x = work.window;
    product.taps = work.taps;
    product.all_taps = to_size(weights_.taps);
    product.channels = to_size(channels.end - channels.begin);
    product.channel_stride =
        to_size(reads_in_place_ ? shape_.planes.out * plane_pixels() : window_.channel_stride());
    product.c = work.results;
    product.ldc = to_size(in_place_ ? shape_.planes.out * plane_pixels() : result_stride_);
    if (work.bias != nullptr) product.bias = work.bias + filters_before(work, p);
    product.accumulate = work.block > 0;
    if (work.block + 1 == weights_.blocks) product.bounds = bounds_of(activation_);
    return product;
  }

  /// Returns the number of the tile's filters before those of panel `p`.
  std::int64_t filters_before(const Work& work, std::int64_t p) const {
    return weights_.panel(p).begin - weights_.panel(work.panels.begin).begin;
  }

  /// Multiplies all panels with one run of outputs, whose inputs stay in the cache, then with the
  /// next.
  void multiply_filters(const PlanarOutputs& outputs, const Work& work) const {
    const std::int64_t count = (outputs.row_end - outputs.row_begin - 1) * window_.pitch() +
                               outputs.column_end - outputs.column_begin;
    const auto vector = static_cast<std::int64_t>(planar_widths().vector);
    const std::int64_t vectors = tile_count(count, vector);
    const std::size_t taps = to_size(window_.list_taps(outputs, work.taps));
    const std::int64_t runs =
        work.panels.end - work.panels.begin == 1 ? 1 : tile_count(count, run_);
    for (std::int64_t r = 0; r < runs; ++r) {
      const TileRange run = tile_range(vectors, runs, r);
      const std::int64_t begin = run.begin * vector, end = std::min(run.end * vector, count);
      for (std::int64_t p = work.panels.begin; p < work.panels.end; ++p) {
        const TileRange filters = weights_.panel(p);
        auto product = product_of<PlanarProduct>(work, p);
        product.x += begin;
        product.c += begin + filters_before(work, p) * static_cast<std::int64_t>(product.ldc);
        product.tap_count = taps;
        product.rows = to_size(filters.end - filters.begin);
        product.columns = to_size(end - begin);
        planar_multiply(product);
      }
    }
  }

  /// Multiplies one panel, whose weights stay in the cache, with all outputs, then the next.
  void multiply_pixels(const PlanarOutputs& outputs, const Work& work) const {
    const std::int64_t columns = outputs.column_end - outputs.column_begin;
    const bool cut = column_cuts_.size() > 1;
    if (!cut && (columns < kFewestPlanarColumns || window_.pitch() == columns))
      return multiply_rows(outputs, outputs, work);
    PlanarOutputs part = outputs;
    for (const std::int64_t end : column_cuts_) {
      part.column_end = std::min(end, outputs.column_end);
      if (part.column_begin >= part.column_end) continue;
      for (std::int64_t row = outputs.row_begin; row < outputs.row_end; ++row) {
        part.row_begin = row;
        part.row_end = row + 1;
        multiply_rows(outputs, part, work);
      }
      part.column_begin = part.column_end;
    }
  }

  /// Computes `part` of the outputs of a tile, with the elements between its rows.
  void multiply_rows(const PlanarOutputs& outputs, const PlanarOutputs& part,
                     const Work& work) const {
    const std::int64_t first = (part.row_begin - outputs.row_begin) * window_.pitch() +
                               part.column_begin - outputs.column_begin;
    const std::int64_t count =
        (part.row_end - part.row_begin - 1) * window_.pitch() + part.column_end - part.column_begin;
    const std::size_t taps = to_size(window_.list_taps(part, work.taps));
    for (std::int64_t p = work.panels.begin; p < work.panels.end; ++p) {
      const TileRange filters = weights_.panel(p);
      auto product = product_of<PixelProduct>(work, p);
      product.tap_count = taps;
      product.x += first;
      product.c += first * result_stride_ + filters_before(work, p);
      product.columns = to_size(std::min(filters.end, weights_.filters) - filters.begin);
      product.rows = to_size(count);
      // Weights of few outputs stream from memory; the next panel of a block follows it.
      if (p + 1 < work.panels.end && streamed_)
        product.next_weights = product_of<PixelProduct>(work, p + 1).weights;
      pixel_multiply(product);
    }
  }

  void finish(const PlanarOutputs& outputs, std::int64_t filter, std::int64_t filters,
              const KernelArgs& args) const {
    const std::int64_t rows = outputs.row_end - outputs.row_begin;
    const std::int64_t columns = outputs.column_end - outputs.column_begin;
    const auto* results = reinterpret_cast<const float*>(args.scratch.data()) + results_;
    if (by_pixels_) turn(outputs, results, filters, first_output(outputs, filter, args));
    const bool apply = !is_bounds(activation_);
    for (std::int64_t m = 0; m < filters; ++m) {
      float* const to = first_output(outputs, filter + m, args);
      if (!in_place_ && !by_pixels_)
        copy_rows(results + m * result_stride_, to_size(window_.pitch()), to,
                  to_size(shape_.out[1]), to_size(rows), to_size(columns));
      if (!apply) continue;
      if (columns == shape_.out[1]) {
        apply_unary(activation_, to, to, to_size(rows * columns));
      } else {
        apply_unary_rows(activation_, to, to_size(shape_.out[1]), to_size(rows), to_size(columns));
      }
    }
  }

  /// Transposes results from pixel by pixel to filter by filter.
  void turn(const PlanarOutputs& outputs, const float* results, std::int64_t filters,
            float* to) const {
    std::int64_t rows = outputs.row_end - outputs.row_begin;
    std::int64_t columns = outputs.column_end - outputs.column_begin;
    if (columns == shape_.out[1] && window_.pitch() == columns) {
      columns *= rows;
      rows = 1;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      TransposeBlock block;
      block.x =
          reinterpret_cast<const std::byte*>(results + row * window_.pitch() * result_stride_);
      block.y = reinterpret_cast<std::byte*>(to + row * shape_.out[1]);
      block.x_stride = to_size(result_stride_);
      block.y_stride = to_size(shape_.planes.out * plane_pixels());
      block.rows = to_size(filters);
      block.columns = to_size(columns);
      transpose_block(block);
    }
  }

  ConvolutionShape shape_;
  PlanarWeights weights_;
  Unary activation_;
  bool by_pixels_;  ///< vectors hold filters, otherwise outputs
  PlanarWindow window_;
  PlanarCut cut_;
  bool streamed_;          ///< weights do not stay in the cache
  bool in_place_ = false;  ///< results are written directly to the output
  bool reads_in_place_ = false;
  std::int64_t results_ = 0, result_stride_ = 0, taps_ = 0;  ///< elements of scratch
  std::vector<std::int64_t> column_cuts_;  ///< columns from which other taps see padding; the end
  std::int64_t run_ = 0;                   ///< outputs that all panels are multiplied with in turn
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_planar_convolution(const KernelRequest& request,
                                                        const ConvolutionShape& shape) {
  const auto activation = fused_activation(request.node);
  const TensorDesc& w = request.inputs[1];
  if (!activation || shape.nhwc ||
      w.elements() / shape.out_channels * shape.groups / shape.in_channels > kMaxTaps)
    return not_covered();
  PlanarWeights weights(shape, filters_in_vectors(shape));
  PlanarWindow window(shape, wants_exact(shape, weights));
  const PlanarCut cut = cut_planar(shape, weights, window, *request.machine);
  if (window.elements(tile_count(weights.channels, weights.blocks), cut.rows, cut.columns) >
      kMaxScratchElements)
    return not_covered();
  const std::string layout = fmt::format(
      "planar {} groups {}x{}x{} blocks {} panels {}x{}", weights.groups, weights.filters,
      weights.channels, weights.taps, weights.blocks, weights.panels, weights.unit);
  // Captures by value: packing may wait until all kernels of a model are made.
  const auto fill = [weights, source = w.data](std::byte* to) { pack_planar(weights, source, to); };
  PX_ASSIGN(weights.bytes,
            request.packed.get(w.data, layout, weights.elements() * kFloatBytes, fill));
  return std::make_unique<PlanarConvolution>(shape, std::move(weights), *activation,
                                             std::move(window), cut, *request.machine);
}

}  // namespace parallax
