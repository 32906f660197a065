// Deferred constants: weights that are made of weights. Such a constant has its type, dimensions
// and an address of its own from the start, so that passes and kernels treat it like any other, and
// no bytes: they are computed when someone asks for them, which is bind() before it packs. Reading
// them without asking traps.
//
// Guards, inference and makers of kernels need not ask: they read integers, bools and constants
// smaller than kDeferredBytes, which are never deferred.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/stored_form.h"

namespace parallax {

inline constexpr std::int64_t kDeferredBytes = std::int64_t{64} << 10;
/// Constants made of each other are computed by recursion; each holds its lock meanwhile, for which
/// HeldLocks has room.
inline constexpr int kMaxDeferredDepth = 16;

/// Writes all bytes of a constant, of sources that are computed.
using Fill = std::function<Status(std::span<std::byte> bytes)>;

/// A constant that `fill` makes of `sources`. If these lie in files, and it is not itself a
/// source of a deferred one, its bytes are released when they are no longer in use, and computed
/// once more when they are needed again. Then, or otherwise from the first time on, they stay, and
/// `fill` and `sources` are released. `stored`: the form of the constant.
/// REQUIRES: may_be_deferred(). Throws std::bad_alloc where no addresses are left.
Constant defer(DType dtype, const Dims& dims, std::vector<Constant> sources, Fill fill,
               std::optional<StoredForm> stored = std::nullopt);
bool may_be_deferred(DType dtype, const Dims& dims);
/// Makes a deferred constant if it may be deferred, otherwise computes its bytes immediately.
/// REQUIRES: `fill` does not fail; no source is deferred where the result may not be.
Constant defer_large(DType dtype, const Dims& dims, std::vector<Constant> sources, Fill fill,
                     std::optional<StoredForm> stored = std::nullopt);

/// The most deferred constants that `constant` is made of one after the other, with itself; 0: it
/// is not deferred.
int deferred_depth(const Constant& constant);
/// Whether it is deferred and keeps memory of other constants until it is computed.
bool holds_memory(const Constant& constant);
/// Returns the form that defer() was given, or else own_form(), as that of a constant with these
/// dimensions; nullopt if it has neither. REQUIRES: `dims` have as many elements.
std::optional<StoredForm> stored_form(const Constant& constant, const Dims& dims);
/// Whether its bytes are there to read.
bool is_computed(const Constant& constant);

class Deferred;
/// While one lives, the bytes of a constant can be read.
class Computed {
 public:
  Computed() = default;
  explicit Computed(std::shared_ptr<Deferred> deferred) : deferred_(std::move(deferred)) {}
  Computed(Computed&&) = default;
  Computed& operator=(Computed&& other) noexcept;
  ~Computed();

 private:
  std::shared_ptr<Deferred> deferred_;
};

/// Computes the bytes of `constant`, unless they are there. Errors: of its Fill, kOutOfMemory.
Result<Computed> compute(const Constant& constant);
/// The same for as long as any copy of `constant` lives.
Status compute_for_good(const Constant& constant);

}  // namespace parallax
