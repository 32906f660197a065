// MatMul and Gemm on oneDNN: f32, constant right operand, many rows; bias and activation on the
// result.
//
// Columns are cut into chunks and rows into blocks, both sized by the weights alone: a chunk's
// weights are packed once whatever the number of rows, and stay in the cache while the blocks of
// rows pass. Rows left over run as a multiple of 16 and a rest below 16, so that a few primitives
// serve every number of rows and a new sequence length compiles next to nothing.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/matmul_limits.h"
#include "kernels/onednn/engine.h"

namespace parallax {
namespace {

using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;
constexpr std::int64_t kElement = sizeof(float);
// About 60 microseconds of one AVX-512 core.
constexpr std::int64_t kMacsPerTile = 8'000'000;
constexpr std::int64_t kMinRows = 64;
constexpr std::int64_t kMaxRows = 512;
constexpr std::int64_t kColumnGranule = 64;
constexpr std::int64_t kRowGranule = 16;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;

std::int64_t round_up(std::int64_t number, std::int64_t granule) {
  return (number + granule - 1) / granule * granule;
}

struct Product {
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool transposed = false;  ///< weights lie as [columns, depth]
  bool has_bias = false;
  std::string activation;

  std::int64_t chunk_columns() const {
    const std::int64_t wanted = round_up(kMacsPerTile / kMinRows / depth, kColumnGranule);
    return std::min(columns, std::max(wanted, kColumnGranule));
  }
  std::int64_t block_rows() const {
    const std::int64_t wanted = round_up(kMacsPerTile / (depth * chunk_columns()), kMinRows);
    return std::clamp(wanted, kMinRows, kMaxRows);
  }
};

bool is_f32_constant(const TensorDesc& tensor) {
  return tensor.dtype == DType::kF32 && tensor.data != nullptr;
}

bool within_limits(const Product& product) {
  if (product.rows <= kSmallMatMulRows) return false;
  for (const std::int64_t size : {product.rows, product.depth, product.columns}) {
    if (size < 1 || size > kMaxSize) return false;
  }
  return true;
}

/// The product of a MatMul node; rows of zero where it is not covered.
Product read_matmul(const KernelRequest& request) {
  const Dims& a = request.inputs[0].dims;
  const Dims& b = request.inputs[1].dims;
  Product product;
  if (a.rank() < 2 || b.rank() != 2 || b[0] < 1) return product;
  product.depth = b[0];
  product.columns = b[1];
  product.rows = a.elements() / b[0];
  return product;
}

/// The product of a Gemm node; rows of zero where it is not covered.
Product read_gemm(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Dims& a = request.inputs[0].dims;
  const Dims& b = request.inputs[1].dims;
  Product product;
  if (attributes.get_int("transA", 0) != 0 || attributes.get_float("alpha", 1.0F) != 1.0F) {
    return product;
  }
  product.transposed = attributes.get_int("transB", 0) != 0;
  product.depth = b[product.transposed ? 1 : 0];
  product.columns = b[product.transposed ? 0 : 1];
  if (request.has(2)) {
    const Dims& c = request.inputs[2].dims;
    const bool row =
        c.rank() > 0 && c[c.rank() - 1] == product.columns && c.elements() == product.columns;
    if (!row || attributes.get_float("beta", 1.0F) != 1.0F) return product;
  }
  product.rows = a[0];
  return product;
}

/// Primitives for one width of chunk: a full block of rows, then what is left over.
struct ChunkCode {
  std::shared_ptr<const DnnlPrimitive> block;
  std::array<std::shared_ptr<const DnnlPrimitive>, 2> rest;  ///< may be null
  std::array<std::int64_t, 2> rest_rows{};
};

struct Chunk {
  std::int64_t begin = 0;
  std::size_t code = 0;
  DnnlPacked weights;
  memory bias;
};

class ProductCompiler {
 public:
  ProductCompiler(const Product& product, dnnl::primitive_attr attributes)
      : product_(product), attributes_(std::move(attributes)) {}

  /// Nothing where oneDNN has no implementation.
  std::optional<ChunkCode> compile(std::int64_t columns) const {
    ChunkCode code;
    const std::int64_t block = product_.block_rows();
    const memory::dims weights{product_.depth, columns};
    // The full block comes first, needed or not: its choice of a layout must not depend on how many
    // rows there are.
    code.block = primitive(block, columns, {weights, kF32, memory::format_tag::any}, "any");
    if (code.block == nullptr) return std::nullopt;
    const std::int64_t left = product_.rows % block;
    code.rest_rows = {left / kRowGranule * kRowGranule, left % kRowGranule};
    for (const std::size_t i : {0U, 1U}) {
      if (code.rest_rows[i] == 0) continue;
      const memory::desc& layout = code.block->weights;
      code.rest[i] = primitive(code.rest_rows[i], columns, layout, dnnl_layout_key(layout));
      if (code.rest[i] == nullptr) return std::nullopt;
    }
    return code;
  }

  /// The weights of `columns` columns from `begin` on, packed as `to`.
  Result<DnnlPacked> pack(const KernelRequest& request, std::int64_t begin, std::int64_t columns,
                          const memory::desc& to) const {
    const memory::dims dims{product_.depth, columns};
    const std::byte* data = request.inputs[1].data;
    const std::int64_t row_bytes = columns * kElement;
    if (product_.transposed) {
      const std::int64_t bytes = row_bytes * product_.depth;
      return dnnl_pack(request.packed, {data + begin * product_.depth * kElement, bytes},
                       {dims, kF32, memory::format_tag::ba}, to);
    }
    return dnnl_pack(
        request.packed,
        {data + begin * kElement, row_bytes, product_.depth, product_.columns * kElement},
        {dims, kF32, memory::format_tag::ab}, to);
  }

 private:
  std::shared_ptr<const DnnlPrimitive> primitive(std::int64_t rows, std::int64_t columns,
                                                 const memory::desc& weights,
                                                 const std::string& layout) const {
    std::string key =
        "matmul " + product_.activation + (product_.has_bias ? " bias " : " ") + layout;
    for (const std::int64_t size : {rows, product_.depth, columns, product_.columns}) {
      (key += ' ') += std::to_string(size);
    }
    return dnnl_primitive_for(key, [&] {
      const memory::desc src({rows, product_.depth}, kF32, memory::format_tag::ab);
      const memory::desc dst({rows, columns}, kF32, memory::dims{product_.columns, 1});
      const memory::desc bias = product_.has_bias
                                    ? memory::desc({1, columns}, kF32, memory::format_tag::ab)
                                    : memory::desc();
      const dnnl::matmul::desc desc = product_.has_bias
                                          ? dnnl::matmul::desc(src, weights, bias, dst)
                                          : dnnl::matmul::desc(src, weights, dst);
      const dnnl::matmul::primitive_desc made(desc, attributes_, dnnl_engine());
      return DnnlPrimitive{dnnl::matmul(made),    src, made.weights_desc(), bias, dst,
                           made.scratchpad_desc()};
    });
  }

  Product product_;
  dnnl::primitive_attr attributes_;
};

class ProductKernel final : public Kernel {
 public:
  ProductKernel(const Product& product, std::vector<ChunkCode> codes, std::vector<Chunk> chunks,
                std::optional<DnnlPacked> bias)
      : product_(product),
        block_(product.block_rows()),
        codes_(std::move(codes)),
        chunks_(std::move(chunks)),
        bias_(std::move(bias)) {
    for (const ChunkCode& code : codes_) {
      for (const auto& primitive : {code.block, code.rest[0], code.rest[1]}) {
        if (primitive == nullptr) continue;
        scratch_ = std::max(scratch_, static_cast<std::int64_t>(primitive->scratchpad.get_size()));
      }
    }
  }

  std::int64_t tiles() const override {
    return blocks() * static_cast<std::int64_t>(chunks_.size());
  }
  std::int64_t scratch_bytes() const override { return scratch_; }
  InputUse input_use(std::size_t input) const override {
    return input == 0 ? InputUse::kAligned : InputUse::kNone;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    // Blocks of rows go fastest: the chunk's weights stay in the cache.
    const Chunk& chunk = chunks_[static_cast<std::size_t>(tile / blocks())];
    const ChunkCode& code = codes_[chunk.code];
    std::int64_t row = tile % blocks() * block_;
    const auto run = [&](const DnnlPrimitive& primitive) {
      const float* src = args.in<float>(0) + row * product_.depth;
      float* dst = args.out<float>() + row * product_.columns + chunk.begin;
      return dnnl_execute(primitive, {src, &chunk.weights.memory, bias_ ? &chunk.bias : nullptr,
                                      dst, args.scratch.data()});
    };
    if (row + block_ <= product_.rows) return run(*code.block);
    for (const std::size_t i : {0U, 1U}) {
      if (code.rest[i] == nullptr) continue;
      PX_RETURN_IF_ERROR(run(*code.rest[i]));
      row += code.rest_rows[i];
    }
    return {};
  }

 private:
  std::int64_t blocks() const { return (product_.rows + block_ - 1) / block_; }

  Product product_;
  std::int64_t block_;
  std::vector<ChunkCode> codes_;
  std::vector<Chunk> chunks_;
  std::optional<DnnlPacked> bias_;  ///< keeps the bytes that chunks point into
  std::int64_t scratch_ = 0;
};

Result<std::unique_ptr<Kernel>> make_product(const KernelRequest& request, Product product) {
  if (!within_limits(product)) return nullptr;
  product.has_bias = request.has(2);
  product.activation = request.node.attributes.get_string("activation", "");
  const auto attributes = dnnl_attributes(product.activation);
  if (!attributes) return nullptr;

  std::optional<DnnlPacked> bias;
  if (product.has_bias) {
    const memory::desc row({product.columns}, kF32, memory::format_tag::x);
    PX_ASSIGN(bias, dnnl_pack(request.packed, {request.inputs[2].data, request.inputs[2].bytes()},
                              row, row));
  }
  const ProductCompiler compiler(product, *attributes);
  const std::int64_t width = product.chunk_columns();
  std::vector<ChunkCode> codes;
  std::vector<Chunk> chunks;
  for (std::int64_t begin = 0; begin < product.columns; begin += width) {
    const std::int64_t columns = std::min(width, product.columns - begin);
    if (begin == 0 || columns != width) {
      auto code = compiler.compile(columns);
      if (!code) return nullptr;
      codes.push_back(*std::move(code));
    }
    Chunk chunk{begin, codes.size() - 1, {}, {}};
    PX_ASSIGN(chunk.weights, compiler.pack(request, begin, columns, codes.back().block->weights));
    if (bias) {
      auto* elements = reinterpret_cast<float*>(bias->bytes->data());
      chunk.bias = memory(codes.back().block->bias, dnnl_engine(), elements + begin);
    }
    chunks.push_back(std::move(chunk));
  }
  return std::make_unique<ProductKernel>(product, std::move(codes), std::move(chunks),
                                         std::move(bias));
}

/// f32, with the right operand and a bias known when the kernel is made.
bool takes(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::kF32 && is_f32_constant(request.inputs[1]) &&
         (!request.has(2) || is_f32_constant(request.inputs[2]));
}

}  // namespace

Result<std::unique_ptr<Kernel>> onednn_matmul(const KernelRequest& request) {
  if (!takes(request)) return nullptr;
  return dnnl_make_kernel([&] { return make_product(request, read_matmul(request)); });
}

Result<std::unique_ptr<Kernel>> onednn_gemm(const KernelRequest& request) {
  if (!takes(request)) return nullptr;
  return dnnl_make_kernel([&] { return make_product(request, read_gemm(request)); });
}

}  // namespace parallax
