// Programs by binding: the last kCapacity bindings are kept, each with a program that uses all
// memory it likes and, where a smaller budget asked for one, a smaller program.
//
// Thread-safe. Two threads that want the same new binding make it once; other bindings do not wait.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "execute/program.h"

namespace parallax {

class PlanCache {
 public:
  static constexpr std::size_t kCapacity = 64;

  struct Options {
    bool reference_only = false;
    bool parallel = true;
    int threads = 1;
  };
  PlanCache(std::shared_ptr<GraphContext> context, const Options& options)
      : context_(std::move(context)), options_(options) {}

  /// A program whose bytes fit `limit`. Errors: as compile() and lay_out().
  Result<std::shared_ptr<const Program>> get(const Binding& binding,
                                             std::optional<std::int64_t> limit);
  /// The program that takes the fewest bytes, from now on the only one for `binding`: for runs that
  /// found no room for what they allocate while running.
  Result<std::shared_ptr<const Program>> shrink(const Binding& binding);

 private:
  struct Entry {
    std::mutex mutex;
    // Guarded by mutex:
    std::shared_ptr<const Compiled> compiled;
    std::shared_ptr<const Program> free_choice, small;
  };

  std::shared_ptr<Entry> entry(const Binding& binding);

  const std::shared_ptr<GraphContext> context_;
  const Options options_;
  std::mutex mutex_;
  // Latest first; guarded by mutex_. Searched from the front: one entry where shapes do not change.
  std::list<std::pair<Binding, std::shared_ptr<Entry>>> entries_;
};

}  // namespace parallax
