// The kernel interface: a compiled node is N independent tiles.
//
// Kernels never start threads, never allocate while running, never print. The executor owns all
// parallelism: it may run the tiles of one node in any order, concurrently, on any threads. How a
// node is cut into tiles depends on shapes and the machine (its instruction set and caches) only,
// NEVER on the number of threads, so that outputs have the same bits however they are run.
//
// Life: accepts()/make() at plan time with concrete shapes (and constants), then run_tile() many
// times, from many threads concurrently on the same object (const).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "kernels/weights/packed_weights.h"

namespace parallax {

/// One input or output at plan time.
struct TensorDesc {
  bool present = false;
  DType dtype = DType::kF32;
  Dims dims;
  /// Bytes known at plan time (a constant, or a symbolic value of this binding); null for tensors
  /// computed while running. UNALIGNED: read with memcpy. They outlive the kernel.
  const std::byte* data = nullptr;

  std::int64_t elements() const { return present ? dims.elements() : 0; }
  std::int64_t bytes() const { return bytes_of(dtype, elements()).value_or(0); }
};

class Machine;
const Machine& this_machine();

struct KernelRequest {
  const Node& node;
  std::span<const TensorDesc> inputs;  ///< one per node input; .present = false where left out
  std::span<const TensorDesc>
      outputs;  ///< one per node output; dims of data-dependent outputs are empty
  PackedWeights& packed;
  /// Type to which matrix products may round both operands; kBf16 only if cpu_multiplies_bf16().
  Precision precision = Precision::kF32;
  /// Machine whose caches and instruction set decide how tiles are cut (kernels/cpu/machine.h).
  const Machine* machine = &this_machine();

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
};

/// How the kernel reads an input while running.
enum class InputUse : std::uint8_t {
  kAligned,  ///< through typed pointers: the executor guarantees alignment to the element size
  kBytes,    ///< with memcpy: any alignment (so that big tables stay where the file is mapped)
  kNone,     ///< not at all: it was packed or read at plan time, and its pages may be given back
};

/// Allocator of outputs whose size only the kernel knows (NonZero, NonMaxSuppression). The memory
/// is 64-byte aligned and belongs to the arena of the branch that runs the node.
class DynamicOutputs {
 public:
  virtual ~DynamicOutputs() = default;
  /// Called once per output. Errors: kBudgetExceeded, kOutOfMemory.
  virtual Result<std::byte*> allocate(int output, const Dims& dims) = 0;
};

struct KernelArgs {
  std::span<const std::byte* const> inputs;  ///< null where left out, kNone, or without elements
  std::span<std::byte* const> outputs;       ///< null where left out; aligned to the element size
  std::span<std::byte> scratch;  ///< scratch_bytes() bytes, 64-byte aligned, for this tile alone
  DynamicOutputs* dynamic = nullptr;  ///< not null exactly for kernels with dynamic_outputs()
  /// The tile of this node and run whose scratch this is, as it was left; or -1: anything is in it.
  std::int64_t previous_tile = -1;

  template <class T>
  const T* in(std::size_t i) const {
    return reinterpret_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(std::size_t i = 0) const {
    return reinterpret_cast<T*>(outputs[i]);
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Number of independent tiles, >= 0 (0: an empty output, nothing to run).
  virtual std::int64_t tiles() const { return 1; }
  /// Scratch that one running tile needs, in bytes.
  virtual std::int64_t scratch_bytes() const { return 0; }
  virtual InputUse input_use(std::size_t) const { return InputUse::kAligned; }
  /// Bytes of tables and the like whose size depends on shapes: memory that the object owns beyond
  /// a few hundred bytes. Packed weights are not its own.
  virtual std::int64_t table_bytes() const { return 0; }
  /// True where run_tile sizes its outputs through KernelArgs::dynamic; such a kernel has one tile.
  virtual bool dynamic_outputs() const { return false; }
  /// Computes tile `tile`. Thread-safe. Errors (kOutOfRange, kInvalidInput) need not name the node:
  /// the executor does.
  virtual Status run_tile(std::int64_t tile, const KernelArgs& args) const = 0;
};

/// A kernel made of a function, for kernels that need no class: `run(tile, args)`.
struct LambdaKernelOptions {
  std::int64_t tiles = 1;
  std::int64_t scratch_bytes = 0;
  std::uint32_t byte_inputs = 0;    ///< bit i: input i is InputUse::kBytes
  std::uint32_t unused_inputs = 0;  ///< bit i: input i is InputUse::kNone
  bool dynamic_outputs = false;
  std::int64_t table_bytes = 0;  ///< bytes of tables that `run` owns
};
using TileFunction = std::function<Status(std::int64_t tile, const KernelArgs& args)>;
std::unique_ptr<Kernel> make_lambda_kernel(LambdaKernelOptions options, TileFunction run);

/// Makes a kernel, or gives a null pointer where this library does not cover the request (dtype,
/// layout, attribute): the next library is asked then. Errors are for requests that no library
/// could run. Stage kCompile.
using KernelFactory = Result<std::unique_ptr<Kernel>> (*)(const KernelRequest&);

/// Rounds work up to tiles: how many tiles of about `per_tile` units cover `units`; at least 1
/// where units > 0. Kernels that cut by elements use kTileElements.
std::int64_t tile_count(std::int64_t units, std::int64_t per_tile);
/// [begin, end) of tile `tile` when `units` are spread evenly over `tiles`, begin rounded down to
/// `granule`.
struct TileRange {
  std::int64_t begin, end;
};
TileRange tile_range(std::int64_t units, std::int64_t tiles, std::int64_t tile,
                     std::int64_t granule = 1);

}  // namespace parallax
