// A loaded model: its graph after the passes, ready for any number of sessions. What a model file
// holds, whether Parallax can run it or not; and what kernels take the machine to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parallax/object.h"
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
  DType dtype = DType::kF32;  ///< of a sequence, optional or map: of the tensors in it
  std::vector<Dimension> shape;
  /// What it is, outermost first: {kOptional, kSequence} is an optional sequence. Empty: a tensor.
  std::vector<ObjectType> containers = {};
  DType key = DType::kI64;  ///< of a map: i64 or string
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
  /// Where files with external weights lie. Links in it may lead to regular files inside it. Empty:
  /// a model that has such files is refused.
  std::filesystem::path folder = {};
  /// Links in `folder` may also lead to regular files directly in this folder. Model::load(path)
  /// has the folder of the file that `path` leads to here: caches of links keep the weights there.
  std::filesystem::path linked_folder = {};
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

/// An input or output as the file declares it.
struct FileTensor {
  std::string name;
  std::string type;  ///< "float16", "sequence of float32"; "" if undeclared
  std::optional<std::vector<Dimension>> shape;  ///< nothing if the rank is not declared
  /// Of an input: an initializer has its name, and a run may give another value if the model was
  /// loaded with it in LoadOptions::inputs.
  bool has_default = false;
};

/// All nodes of one operator, bodies included.
struct FileOperator {
  std::string domain;  ///< "" for ai.onnx
  std::string name;
  std::int64_t opset = 0;  ///< of its domain; 0 where the file imports none
  int count = 0;
  /// The loader has a rule for it. It may still refuse a node, for an attribute or a type.
  bool supported = false;
  /// The kernels that it may get, the preferred one first; none for If, Loop, Scan and Constant,
  /// which need none.
  std::vector<std::string> kernels;
};

/// A graph inside an If, Loop, Scan or another operator.
struct FileBody {
  std::string node, op;
  std::string body;  ///< "then_branch", "else_branch", "body", ...
  int depth = 1;     ///< 2: inside a body
  int nodes = 0;     ///< of bodies inside it not included
};

/// All weights of one element type: initializers and Constant nodes.
struct FileWeights {
  std::string type;  ///< ONNX's name
  int tensors = 0;
  std::int64_t parameters = 0;  ///< elements of these
  std::int64_t bytes = 0;       ///< 0 for strings
};

struct FileReport {
  std::int64_t ir_version = 0;                               ///< 0 where the file has none
  std::vector<std::pair<std::string, std::int64_t>> opsets;  ///< domain ("" for ai.onnx), version
  /// Before IR version 4, without those that an initializer makes a constant.
  std::vector<FileTensor> inputs;
  std::vector<FileTensor> outputs;
  int nodes = 0;                        ///< bodies included
  std::vector<FileOperator> operators;  ///< most frequent first
  std::vector<FileBody> bodies;         ///< in order of nodes, outer ones first
  std::vector<FileWeights> weights;     ///< most bytes first
};

/// Reads names, types and counts, but no weights. Errors: kIo; kInvalidModel if the file is damaged
/// or not ONNX; kUnsupported for bodies nested more than 64 deep; kOutOfMemory.
Result<FileReport> inspect_file(const std::filesystem::path& path);

/// What kernels are cut for, in bytes: the vectors of Session::instruction_set() and the data
/// caches of the first CPU. What the system does not tell is as on a Zen 4: 32 KiB, 1 MiB and 32
/// MiB.
struct MachineReport {
  std::int64_t vector_bytes = 0;
  std::int64_t l1_bytes = 0;
  std::int64_t l2_bytes = 0;    ///< a core's share where several have one
  std::int64_t last_bytes = 0;  ///< the last level, of all cores that share it
};
MachineReport inspect_machine();

}  // namespace parallax
