// The kernel interface: a compiled node is N independent tiles.
//
// Kernels never start threads, never allocate while running, never print. The executor owns all
// parallelism: it may run the tiles of one node in any order, concurrently, on any threads. How a
// node is cut into tiles depends on shapes and the machine (its instruction set and caches) only,
// NEVER on the number of threads, so that outputs have the same bits however they are run.
//
// Life cycle: a KernelFactory makes the kernel at plan time, for concrete shapes and constants;
// then run_tile() is called many times, from many threads concurrently on the same object (const).
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
#include "ir/stored_form.h"
#include "kernels/weights/packed_weights.h"

namespace parallax {

/// One input or output at plan time.
struct TensorDesc {
  bool present = false;  ///< false: an optional input or output that is left out
  DType dtype = DType::kF32;
  Dims dims;
  /// Bytes known at plan time (a constant, or a symbolic value of this binding); null for tensors
  /// computed while running. UNALIGNED: read with memcpy. They outlive the kernel.
  const std::byte* data = nullptr;
  bool is_half = false;                       ///< Constant::is_half
  const std::vector<float>* units = nullptr;  ///< Constant::units; lives as long as `data`
  /// Elements in the file from which the f32 of `data` were made: f16 if is_half, i8 or u8 if
  /// `units` is not null. A kernel may pack these in place of `data` (PackedWeights::get). Null if
  /// the file has no such elements.
  std::shared_ptr<const StoredForm> stored = nullptr;

  /// 0 if the tensor is left out.
  std::int64_t elements() const { return present ? dims.elements() : 0; }
  /// Size of the tensor; 0 if it is left out, or too large to exist.
  std::int64_t bytes() const { return bytes_of(dtype, elements()).value_or(0); }
};

class Machine;
/// The machine that this process runs on; lives as long as the process.
const Machine& this_machine();

/// Arguments of a KernelFactory, valid during its call only: a kernel copies what it needs.
struct KernelRequest {
  const Node& node;                    ///< operator, attributes and epilogue
  std::span<const TensorDesc> inputs;  ///< one per node input; .present = false where left out
  std::span<const TensorDesc>
      outputs;            ///< one per node output; `dims` of data-dependent ones must not be read
  PackedWeights& packed;  ///< store from which kernels request packed constants
  /// Type to which matrix products may round both operands; kBf16 only if cpu_multiplies_bf16().
  Precision precision = Precision::kF32;
  /// Machine whose caches and instruction set decide how tiles are cut (kernels/cpu/machine.h).
  const Machine* machine = &this_machine();

  /// Returns whether input i is present.
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
};

/// The way in which a kernel reads an input while running.
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
  /// Called once per output that is present. Errors: kBudgetExceeded, kOutOfMemory.
  virtual Result<std::byte*> allocate(int output, const Dims& dims) = 0;
};

/// Arguments of one tile; memory is valid during the call only.
struct KernelArgs {
  std::span<const std::byte* const> inputs;  ///< null where left out, kNone, or without elements
  /// Aligned to the element size; null where left out, or if the kernel allocates the output.
  std::span<std::byte* const> outputs;
  std::span<std::byte> scratch;  ///< scratch_bytes() bytes, 64-byte aligned, for this tile alone
  DynamicOutputs* dynamic = nullptr;  ///< not null exactly for kernels with dynamic_outputs()
  /// Tile of this node and run that used this scratch last and left its contents unchanged since;
  /// -1 if the contents are unspecified.
  std::int64_t previous_tile = -1;

  /// Input i as T. REQUIRES: its element type is T and its use is kAligned.
  template <class T>
  const T* in(std::size_t i) const {
    return reinterpret_cast<const T*>(inputs[i]);
  }
  /// Output i as T. REQUIRES: its element type is T.
  template <class T>
  T* out(std::size_t i = 0) const {
    return reinterpret_cast<T*>(outputs[i]);
  }
};

/// A compiled node. Immutable once made, so all functions are thread-safe.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Number of independent tiles, >= 0 (0: an empty output, nothing to run).
  virtual std::int64_t tiles() const { return 1; }
  /// Scratch that one running tile needs, in bytes.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// Returns how the kernel reads input i; the executor aligns inputs accordingly.
  virtual InputUse input_use(std::size_t) const { return InputUse::kAligned; }
  /// Returns whether output 0 may have the address of input i, which has its size, in rows with
  /// KernelRow::in_place.
  virtual bool overwrites(std::size_t) const { return true; }
  /// Bytes of memory that the object owns beyond a few hundred bytes, such as tables whose size
  /// depends on shapes. Packed weights are not included.
  virtual std::int64_t table_bytes() const { return 0; }
  /// Returns whether run_tile() allocates its outputs through KernelArgs::dynamic; such a kernel
  /// has one tile.
  virtual bool dynamic_outputs() const { return false; }
  /// Computes tile `tile`. Thread-safe. Errors (kOutOfRange, kInvalidInput) need not name the node:
  /// the executor does.
  virtual Status run_tile(std::int64_t tile, const KernelArgs& args) const = 0;
};

/// Properties of a kernel that is made of a function, for kernels that need no class. Bits exist
/// for the first 32 inputs; others are kAligned.
struct LambdaKernelOptions {
  std::int64_t tiles = 1;
  std::int64_t scratch_bytes = 0;
  std::uint32_t byte_inputs = 0;    ///< bit i: input i is InputUse::kBytes
  std::uint32_t unused_inputs = 0;  ///< bit i: input i is InputUse::kNone
  bool dynamic_outputs = false;
  std::int64_t table_bytes = 0;  ///< bytes of tables that `run` owns
};
/// Computes a tile, as Kernel::run_tile() does; called from many threads concurrently.
using TileFunction = std::function<Status(std::int64_t tile, const KernelArgs& args)>;
/// Makes a kernel that calls `run` for each tile. Never null.
std::unique_ptr<Kernel> make_lambda_kernel(LambdaKernelOptions options, TileFunction run);

/// Makes a kernel, or returns null if it does not support the request (dtype, layout, attribute):
/// the registry asks the next factory then. Errors, of stage kCompile, are for requests that no
/// library can run.
using KernelFactory = Result<std::unique_ptr<Kernel>> (*)(const KernelRequest&);

/// Returns the tiles of a kernel that divides `units` of work, such as rows or elements, into tiles
/// of `per_tile`: units / per_tile rounded up; 0 if there are no units. A `per_tile` below 1 counts
/// as 1.
std::int64_t tile_count(std::int64_t units, std::int64_t per_tile);
/// Units [begin, end).
struct TileRange {
  std::int64_t begin, end;
};
/// Returns the units of tile `tile` when `units` are spread evenly over `tiles`, with boundaries
/// that are multiples of `granule`; a tile may be empty. No tile has more than units / tiles,
/// rounded up to a whole number of granules. REQUIRES: tiles > 0, granule > 0.
TileRange tile_range(std::int64_t units, std::int64_t tiles, std::int64_t tile,
                     std::int64_t granule = 1);

}  // namespace parallax
