// Deferred constants: weights that are made of weights, by folding, fusion or a change of layout.
// Such a constant has its type, dimensions and an address of its own from the start, so that passes
// and kernels treat it like any other, and no bytes: they are computed when someone asks for them,
// which is bind() before it packs. Reading them without asking traps, as the addresses are not
// mapped for reading.
//
// Guards, inference and makers of kernels need not ask: they read integers, bools and constants
// smaller than kDeferredBytes, which are never deferred.
// Thread-safe: each constant has a lock, which compute() holds while it runs `fill`.
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

/// Bytes from which a constant may be deferred: each is mapped in whole pages of its own.
inline constexpr std::int64_t kDeferredBytes = std::int64_t{64} << 10;
/// Constants made of each other are computed by recursion; each holds its lock meanwhile, for which
/// HeldLocks has room.
inline constexpr int kMaxDeferredDepth = 16;

/// Writes all bytes of a constant, of sources that are computed; the span has the constant's size.
/// Called with the constant's lock held, by the thread that computes; its errors, and exceptions as
/// errors, are those of compute(). May be called again, if bytes were released.
using Fill = std::function<Status(std::span<std::byte> bytes)>;

/// Returns a constant that `fill` makes of `sources`. If these lie in files, and it is not itself a
/// source of a deferred one, its bytes are released when they are no longer in use, and computed
/// once more when they are needed again. Then, or otherwise from the first time on, they stay, and
/// `fill` and `sources` are released. `stored`: the form of the constant. The constant owns all of
/// these.
/// REQUIRES: may_be_deferred(). Throws std::bad_alloc if no addresses are left.
Constant defer(DType dtype, const Dims& dims, std::vector<Constant> sources, Fill fill,
               std::optional<StoredForm> stored = std::nullopt);
/// Returns whether a constant of this type and size may be deferred: at least kDeferredBytes, and
/// no type of kContentTypes, whose elements inference reads.
bool may_be_deferred(DType dtype, const Dims& dims);
/// Makes a deferred constant if it may be deferred, otherwise computes its bytes immediately, in
/// this thread.
/// REQUIRES: `fill` does not fail; no source is deferred if the result may not be.
Constant defer_large(DType dtype, const Dims& dims, std::vector<Constant> sources, Fill fill,
                     std::optional<StoredForm> stored = std::nullopt);

/// Returns the most deferred constants that `constant` is made of one after the other, with itself;
/// 0: it is not deferred. Callers that make constants of others keep it within kMaxDeferredDepth.
int deferred_depth(const Constant& constant);
/// Returns whether it is deferred and keeps memory of other constants until it is computed: sources
/// that do not lie in files alone.
bool holds_memory(const Constant& constant);
/// Returns the form that defer() was given, or else own_form(), as that of a constant with these
/// dimensions; nullopt if it has neither. REQUIRES: `dims` have as many elements.
std::optional<StoredForm> stored_form(const Constant& constant, const Dims& dims);
/// Returns whether its bytes are there to read; they may be released with the last Computed. True
/// for constants that are not deferred.
bool is_computed(const Constant& constant);

class Deferred;
/// While one lives, the bytes of a constant can be read, by any thread. Movable; the last one that
/// dies may release the bytes.
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

/// Computes the bytes of `constant`, unless they are there, and first those of its sources. Blocks
/// while another thread computes the same constant. Errors, with stage kCompile for what was
/// thrown: those of its Fill, kOutOfMemory.
Result<Computed> compute(const Constant& constant);
/// Likewise; the bytes stay as long as any copy of `constant` lives: for code that keeps pointers,
/// as delegates do.
Status compute_for_good(const Constant& constant);

}  // namespace parallax
