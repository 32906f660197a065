// One run of a region: its inputs are copied to the device, it runs, its outputs are copied back.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/caught.h"
#include "base/deadline.h"
#include "base/mutex.h"
#include "base/status.h"
#include "delegate/answers.h"
#include "delegate/bound_region.h"

namespace parallax {
namespace {

Error wrong_run(const char* what) { return {Stage::kExecute, ErrorCode::kInternal, {}, what}; }

/// Lives until the delegate has answered everything that it was asked.
class RegionJob : public std::enable_shared_from_this<RegionJob> {
 public:
  RegionJob(std::shared_ptr<BoundRegion> region, RegionRun run, Completion done,
            std::shared_ptr<const void> owner)
      : owner_(std::move(owner)),
        region_(std::move(region)),
        run_(std::move(run)),
        done_(std::move(done)) {}

  void start() {
    Status status;
    try {
      status = begin();
    } catch (...) {
      status = tl::unexpected(caught(Stage::kExecute));
    }
    if (!status) finish(std::move(status));
  }

 private:
  const px_delegate& table() const { return region_->delegate().table.functions; }
  void* device() const { return region_->delegate().device; }
  bool has_own_memory() const { return region_->delegate().memory == PX_MEMORY_DEVICE; }

  Status begin() {
    PX_RETURN_IF_ERROR(order_tensors());
    PX_RETURN_IF_ERROR(copy_callers());
    if (!has_own_memory()) {
      launch();
      return {};
    }
    std::vector<std::size_t> bytes;
    for (const auto* list : {&inputs_, &outputs_})
      for (const RegionTensor& tensor : *list) bytes.push_back(size_of(tensor));
    PX_ASSIGN(places_, region_->take_places(bytes));
    copy_all(0, inputs_, true);
    return {};
  }

  static std::size_t size_of(const RegionTensor& tensor) {
    return static_cast<std::size_t>(bytes_of(tensor.dtype, tensor.dims).value_or(0));
  }

  /// As the region lists them.
  Status order_tensors() {
    const auto order = [](const std::vector<ValueId>& wanted,
                          const std::vector<RegionTensor>& given, std::vector<RegionTensor>& list) {
      return std::ranges::all_of(wanted, [&](ValueId id) {
        const auto found = std::ranges::find(given, id, &RegionTensor::value);
        if (found == given.end() || found->bytes == nullptr) return false;
        list.push_back(*found);
        return true;
      });
    };
    if (order(region_->values->inputs, run_.inputs, inputs_) &&
        order(region_->values->outputs, run_.outputs, outputs_) &&
        outputs_.size() == run_.outputs.size())
      return {};
    return tl::unexpected(wrong_run("the region has other tensors than it was compiled for"));
  }

  /// What is the caller's of the whole run may be touched only now.
  Status copy_callers() {
    for (RegionTensor& input : inputs_) {
      if (input.space != MemorySpace::kHost) continue;
      PX_ASSIGN(AlignedBytes copy,
                AlignedBytes::allocate(static_cast<std::int64_t>(size_of(input)), nullptr));
      std::memcpy(copy.data(), input.bytes, size_of(input));
      input.bytes = copy.data();
      copies_.push_back(std::move(copy));
    }
    return {};
  }

  /// To the device, or back. What follows begins when all are answered.
  void copy_all(std::size_t first, const std::vector<RegionTensor>& tensors, bool there) {
    pending_.store(tensors.size() + 1);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      try {
        copy(*places_[first + i], tensors[i], there);
      } catch (...) {
        note(tl::unexpected(caught(Stage::kExecute)));
        copied(there);  // the others may still be under way
      }
    }
    copied(there);
  }

  void copy(const DeviceBytes& place, const RegionTensor& tensor, bool there) {
    const std::size_t bytes = size_of(tensor);
    if (place.host() != nullptr) {
      std::memcpy(there ? place.host() : tensor.bytes, there ? tensor.bytes : place.host(), bytes);
      return copied(there);
    }
    ask(
        [self = shared_from_this(), there](Status status) {
          self->note(std::move(status));
          self->copied(there);
        },
        [&](void* context, px_status* status) {
          return there ? table().write(device(), place.memory(), 0, tensor.bytes, bytes, answer,
                                       context, status)
                       : table().read(device(), place.memory(), 0, tensor.bytes, bytes, answer,
                                      context, status);
        });
  }

  void copied(bool there) {
    if (pending_.fetch_sub(1) > 1) return;
    Status status = noted();
    if (status && !done_.is_wanted()) status = tl::unexpected(cancelled());
    if (!status || !there) return finish(std::move(status));
    try {
      launch();
    } catch (...) {
      finish(tl::unexpected(caught(Stage::kExecute)));
    }
  }

  void launch() {
    std::vector<px_place> structs(inputs_.size() + outputs_.size());
    std::vector<const px_place*> list;
    for (std::size_t i = 0; i < structs.size(); ++i) {
      const bool in = i < inputs_.size();
      const RegionTensor& tensor = in ? inputs_[i] : outputs_[i - inputs_.size()];
      structs[i] = {sizeof(px_place), has_own_memory() ? nullptr : tensor.bytes,
                    has_own_memory() ? places_[i]->memory() : nullptr, 0, size_of(tensor)};
      list.push_back(&structs[i]);
    }
    const px_run run = {sizeof run, inputs_.size(), list.data(), outputs_.size(),
                        list.data() + inputs_.size()};
    ask([self = shared_from_this()](Status status) { self->ran(std::move(status)); },
        [&](void* context, px_status* status) {
          return table().run(device(), region_->handle, &run, answer, context, status);
        });
  }

  void ran(Status status) {
    if (status && !done_.is_wanted()) status = tl::unexpected(cancelled());
    if (!status || !has_own_memory()) return finish(std::move(status));
    try {
      copy_all(inputs_.size(), outputs_, false);
    } catch (...) {
      finish(tl::unexpected(caught(Stage::kExecute)));
    }
  }

  /// Calls the delegate; `take` gets its answer, or why it refused.
  template <class Take, class Call>
  void ask(Take take, Call call) {
    void* const context = expect_answer(take);
    px_status status = no_status();
    Status refused = status_of(call(context, &status), status);
    // A delegate that answers and refuses has answered.
    if (!refused && expect_no_answer(context)) take(std::move(refused));
  }

  void note(Status status) {
    if (status) return;
    const MutexLock lock(mutex_);
    if (status_) status_ = std::move(status);
  }
  Status noted() {
    const MutexLock lock(mutex_);
    return status_;
  }

  void finish(Status status) {
    if (ended_.exchange(true)) return;
    // After a failure the device's memory may be anything: it is not used again.
    if (status) region_->give_back(std::move(places_));
    if (!status && done_.is_wanted()) region_->state->fail(status.error());
    // As hands them back may wait for the thread that answers.
    const auto places = std::make_shared<DevicePlaces>(std::move(places_));
    destroy_outside_answers([places] { places->clear(); });
    done_(std::move(status));
  }

  const std::shared_ptr<const void> owner_;  // goes last
  const std::shared_ptr<BoundRegion> region_;
  const RegionRun run_;
  const Completion done_;
  std::vector<RegionTensor> inputs_, outputs_;
  std::vector<AlignedBytes> copies_;
  DevicePlaces places_;
  std::atomic<std::size_t> pending_{0};
  std::atomic<bool> ended_{false};
  Mutex mutex_;
  Status status_ PX_GUARDED_BY(mutex_);
};

}  // namespace

void run_region(std::shared_ptr<BoundRegion> region, RegionRun run, Completion done,
                std::shared_ptr<const void> owner) {
  std::make_shared<RegionJob>(std::move(region), std::move(run), std::move(done), std::move(owner))
      ->start();
}

}  // namespace parallax
