// A loaded model: its graph after the passes, ready for any number of sessions.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallax/options.h"
#include "parallax/report.h"
#include "parallax/tensor.h"

namespace parallax {

class Runtime;

/// A dimension of an input or output: a number, or an expression of named symbols such as "batch"
/// or "2*seq + 1".
struct Dimension {
  std::int64_t value = -1;  ///< >= 0 where the dimension is fixed, -1 otherwise
  std::string symbol;       ///< the expression's text where it is not
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Dimension> shape;
};

/// Milliseconds of each part of loading; `passes` is 0 if the graph came from a cache.
struct LoadTimes {
  double map = 0, parse = 0, passes = 0;
};

/// The contents of a model file, in the caller's memory.
struct ModelBytes {
  std::span<const std::byte> bytes;  ///< at any address
  /// Keeps the bytes alive. A model holds it for as long as it, a copy of it or a session of it
  /// lives. Null: the caller keeps them for that long.
  std::shared_ptr<const void> owner = nullptr;
  /// Where files with external weights lie. Empty: a model that has such files is refused.
  std::filesystem::path folder = {};
};

/// Immutable and cheap to copy (copies share contents); thread-safe. A child of fork() may use it
/// where it may use a Session.
class Model {
 public:
  /// Loads an ONNX file. Weights stay mapped, those in external files too. While the model lives,
  /// its files may be removed or replaced, but not written to: if one is truncated, the system
  /// ends the process (SIGBUS). `runtime`, else Runtime::shared(), says where a cache lies and is
  /// that of sessions which are given none. Errors: kIo, kInvalidModel, kUnsupported.
  static Result<Model> load(const std::filesystem::path& path, const LoadOptions& options = {});
  static Result<Model> load(const std::filesystem::path& path, const LoadOptions& options,
                            const Runtime& runtime);
  /// Loads an ONNX model from memory, which must stay as it is while the model lives. Weights stay
  /// there. Errors: kInvalidModel, kUnsupported (also for external weights without a folder), kIo,
  /// and kInvalidInput for bytes without memory.
  static Result<Model> load(ModelBytes model, const LoadOptions& options = {});
  static Result<Model> load(ModelBytes model, const LoadOptions& options, const Runtime& runtime);
  /// Names of all passes, for LoadOptions::disabled_passes, in the order in which they run.
  static std::vector<std::string> passes();

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  /// Names of the free dimensions that a run binds, e.g. {"batch", "seq"}.
  const std::vector<std::string>& symbols() const;
  /// Nodes in the file, and nodes left after the passes.
  int file_nodes() const;
  int nodes() const;
  const LoadTimes& load_times() const;
  /// What the cache did for all sessions so far.
  CacheReport cache() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }  ///< for the library itself

 private:
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace parallax
