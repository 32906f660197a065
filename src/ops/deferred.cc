#include "ops/deferred.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/caught.h"
#include "base/checked.h"
#include "base/files/mapped_file.h"
#include "base/machine/large_pages.h"
#include "base/mutex.h"
#include "base/status.h"
#include "ir/charge.h"
#include "ir/dtype_sets.h"

namespace parallax {
namespace {

/// Addresses, and memory behind them while it is open.
class Reserved {
 public:
  explicit Reserved(std::size_t bytes) {
    // Large pages need an address that is a multiple of their size.
    const std::size_t slack = bytes >= kLargePage ? static_cast<std::size_t>(kLargePage) : 0;
    map_ = std::span(static_cast<std::byte*>(nullptr), bytes + slack);
    void* const at =
        ::mmap(nullptr, map_.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    map_ = std::span(static_cast<std::byte*>(at), map_.size());
    void* begin = at;
    std::size_t room = map_.size();
    if (slack > 0) begin = std::align(slack, bytes, begin, room);
    bytes_ = std::span(static_cast<std::byte*>(begin), bytes);
    if (slack > 0) want_large(bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ~Reserved() { ::munmap(map_.data(), map_.size()); }

  std::span<std::byte> bytes() const { return bytes_; }
  bool open() { return ::mprotect(bytes_.data(), bytes_.size(), PROT_READ | PROT_WRITE) == 0; }
  /// Gives the memory back.
  void close() {
    ::madvise(bytes_.data(), bytes_.size(), MADV_DONTNEED);
    ::mprotect(bytes_.data(), bytes_.size(), PROT_NONE);
  }

 private:
  std::span<std::byte> map_, bytes_;
};

}  // namespace

class Deferred {
 public:
  Deferred(std::size_t bytes, const Dims& dims, std::vector<Constant> sources, Fill fill,
           std::optional<StoredForm> stored)
      : memory_(bytes),
        dims_(dims),
        stored_(std::move(stored)),
        sources_(std::move(sources)),
        fill_(std::move(fill)) {
    for (const Constant& source : sources_) {
      depth_ = std::max(depth_, 1 + keep(source));
      holds_ = holds_ || depth_ > 1 || &uncharged(source.owner) != &source.owner;
    }
    stays_ = holds_;
  }

  std::span<const std::byte> bytes() const { return memory_.bytes(); }
  int depth() const { return depth_; }
  const Dims& dims() const { return dims_; }
  const std::optional<StoredForm>& stored() const { return stored_; }
  void stay() {
    const MutexLock lock(mutex_);
    stays_ = true;
  }
  bool holds() {
    const MutexLock lock(mutex_);
    return holds_;
  }
  bool computed() {
    const MutexLock lock(mutex_);
    return computed_;
  }

  Status enter() {
    const MutexLock lock(mutex_);
    if (!computed_) PX_RETURN_IF_ERROR(compute_bytes());
    ++users_;
    return {};
  }
  void leave() {
    const MutexLock lock(mutex_);
    if (--users_ > 0 || stays_) return;
    memory_.close();
    computed_ = false;
    stays_ = true;
  }

 private:
  Status compute_bytes() PX_REQUIRES(mutex_) {
    std::vector<Computed> read;
    for (const Constant& source : sources_) {
      PX_ASSIGN(Computed computed, compute(source));
      read.push_back(std::move(computed));
    }
    if (!memory_.open()) throw std::bad_alloc();
    Status status = write_bytes();
    if (!status) {
      memory_.close();
      return status;
    }
    computed_ = true;
    // Pages of files, few of which are read again.
    for (const Constant& source : sources_) release_pages(source.bytes);
    if (!stays_) return {};
    holds_ = false;
    fill_ = nullptr;
    read.clear();
    sources_.clear();
    return {};
  }
  Status write_bytes() PX_REQUIRES(mutex_) {
    try {
      return fill_(memory_.bytes());
    } catch (...) {
      return tl::unexpected(caught(Stage::kCompile));
    }
  }
  /// Keeps the bytes of a source. Its depth.
  static int keep(const Constant& source);

  int depth_ = 1;
  Mutex mutex_{LockOrder::kDeferred};
  Reserved memory_;
  const Dims dims_;
  const std::optional<StoredForm> stored_;
  std::vector<Constant> sources_ PX_GUARDED_BY(mutex_);
  Fill fill_ PX_GUARDED_BY(mutex_);
  bool holds_ PX_GUARDED_BY(mutex_) = false;  ///< sources that take memory as well
  /// Once computed, the bytes stay and the sources go: where it holds sources that take memory,
  /// where others are made of it, for each of which it would be computed, and the second time.
  bool stays_ PX_GUARDED_BY(mutex_) = false;
  int users_ PX_GUARDED_BY(mutex_) = 0;
  bool computed_ PX_GUARDED_BY(mutex_) = false;
};

namespace {

/// As the deleter of an owner it says what computes the bytes.
struct DeferredOwner {
  std::shared_ptr<Deferred> deferred;
  void operator()(const void*) { deferred.reset(); }
};

/// Null for other constants.
const std::shared_ptr<Deferred>* deferred_of(const Constant& constant) {
  const auto* const owner = std::get_deleter<DeferredOwner>(uncharged(constant.owner));
  return owner == nullptr ? nullptr : &owner->deferred;
}

}  // namespace

int Deferred::keep(const Constant& source) {
  const auto* const deferred = deferred_of(source);
  if (deferred == nullptr) return 0;
  (*deferred)->stay();
  return (*deferred)->depth();
}

Constant defer(DType dtype, const Dims& dims, std::vector<Constant> sources, Fill fill,
               std::optional<StoredForm> stored) {
  const auto bytes = static_cast<std::size_t>(bytes_of(dtype, dims).value_or(-1));
  auto deferred = std::make_shared<Deferred>(bytes, dims, std::move(sources), std::move(fill),
                                             std::move(stored));
  const std::span<const std::byte> place = deferred->bytes();
  return {dtype, dims, place, {place.data(), DeferredOwner{std::move(deferred)}}};
}

bool may_be_deferred(DType dtype, const Dims& dims) {
  return !contains(kContentTypes, dtype) && bytes_of(dtype, dims).value_or(0) >= kDeferredBytes;
}

Constant defer_large(DType dtype, const Dims& dims, std::vector<Constant> sources, Fill fill,
                     std::optional<StoredForm> stored) {
  if (may_be_deferred(dtype, dims))
    return defer(dtype, dims, std::move(sources), std::move(fill), std::move(stored));
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(dtype, dims).value_or(0)));
  (void)fill(bytes);
  return make_constant(dtype, dims, bytes);
}

int deferred_depth(const Constant& constant) {
  const auto* const deferred = deferred_of(constant);
  return deferred == nullptr ? 0 : (*deferred)->depth();
}

bool holds_memory(const Constant& constant) {
  const auto* const deferred = deferred_of(constant);
  return deferred != nullptr && (*deferred)->holds();
}

std::optional<StoredForm> stored_form(const Constant& constant, const Dims& dims) {
  const auto* const deferred = deferred_of(constant);
  const auto form = deferred == nullptr ? own_form(constant) : (*deferred)->stored();
  const Dims& from = deferred == nullptr ? constant.dims : (*deferred)->dims();
  return form ? reshaped_form(*form, from, dims) : std::nullopt;
}

bool is_computed(const Constant& constant) {
  const auto* const deferred = deferred_of(constant);
  return deferred == nullptr || (*deferred)->computed();
}

Computed& Computed::operator=(Computed&& other) noexcept {
  std::swap(deferred_, other.deferred_);
  return *this;
}

Computed::~Computed() {
  if (deferred_ != nullptr) deferred_->leave();
}

Result<Computed> compute(const Constant& constant) {
  const auto* const deferred = deferred_of(constant);
  if (deferred == nullptr) return Computed();
  try {
    PX_RETURN_IF_ERROR((*deferred)->enter());
  } catch (...) {
    return tl::unexpected(caught(Stage::kCompile));
  }
  return Computed(*deferred);
}

Status compute_for_good(const Constant& constant) {
  const auto* const deferred = deferred_of(constant);
  if (deferred == nullptr) return {};
  (*deferred)->stay();
  PX_ASSIGN(const Computed computed, compute(constant));
  return {};
}

}  // namespace parallax
