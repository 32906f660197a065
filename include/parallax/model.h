// Loaded models, each ready for any number of sessions. Also reports on the contents of a model
// file, whether Parallax can run it or not, and on the machine as kernels see it.
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
  std::int64_t value = -1;  ///< >= 0 if the dimension is fixed, -1 otherwise
  /// The expression; empty if fixed. For a dimension without a name in the file it is empty in a
  /// FileTensor. A Model has a symbol for it, "x_dim_0" of input x, which Model::symbols() lists.
  std::string symbol;
};

/// The value of a free dimension (Model::symbols()), >= 0: for Planner, and Session::input_dims()
/// and output_dims().
struct DimValue {
  std::string name;
  std::int64_t value = 0;
};

/// The type of an input or output of a loaded model.
struct TensorInfo {
  std::string name;           ///< unique among the inputs, and among the outputs
  DType dtype = DType::kF32;  ///< element type; in a sequence, optional or map that of its tensors
  /// Outermost dimension first. Empty for scalars and if there are `containers`; the rank of other
  /// tensors is always known, if need be from LoadOptions::inputs.
  std::vector<Dimension> shape;
  /// The types around the tensors, outermost first: {kOptional, kSequence} is an optional sequence.
  /// Empty: a tensor.
  std::vector<ObjectType> containers = {};
  DType key = DType::kI64;  ///< type of a map's keys: i64 or string
};

/// An input, by name, and the output that becomes its value in the next run.
struct Tie {
  std::string input;   ///< name of a model input, as in Model::inputs()
  std::string output;  ///< name of a model output of the same dtype and rank
};

/// Milliseconds spent on each part of loading: `map_ms` on opening files, and on preparing a
/// snapshot for the cache, `parse_ms` on reading the graph from the file or the cache, `passes_ms`
/// on rewriting it (0 if it came from the cache).
struct LoadTimes {
  double map_ms = 0, parse_ms = 0, passes_ms = 0;
};

/// Statements of a model's file about itself, none of which decide how it runs. The texts are
/// UTF-8, with U+FFFD instead of bytes that are not, and may have line breaks and other control
/// characters: escape them before they are printed.
struct ModelMetadata {
  std::string producer_name, producer_version;  ///< the program that wrote the file
  std::string domain;              ///< reverse domain of the model's namespace, "com.acme"
  std::int64_t model_version = 0;  ///< 0 if the file has none
  std::string doc_string;          ///< description for a person
  std::string graph_name;          ///< name of the main graph
  /// Keys and values of `metadata_props`, in the file's order. Keys may repeat.
  std::vector<std::pair<std::string, std::string>> properties;
  /// Whether something is cut or left out: all texts together have at most kMaxBytes, and there are
  /// at most kMaxProperties pairs.
  bool truncated = false;

  static constexpr std::int64_t kMaxBytes = 1 << 20;
  static constexpr std::int64_t kMaxProperties = 4096;
};

/// The contents of a model file, in the caller's memory.
struct ModelBytes {
  std::span<const std::byte> bytes;  ///< at any address, of any alignment
  /// Keeps the bytes alive. It is held as long as the model, a copy of it or a session of it lives.
  /// Null: the caller must keep the bytes for that long.
  std::shared_ptr<const void> owner = nullptr;
  /// The folder of files with external weights. Links in it may lead to regular files inside it.
  /// Empty: a model that has such files is refused (kUnsupported).
  std::filesystem::path folder = {};
  /// A second folder: links in `folder` may also lead to regular files directly in this one. Empty:
  /// they may not. Model::load(path) sets it to the folder of the file that `path` resolves to,
  /// because download caches made of links keep the weights there.
  std::filesystem::path linked_folder = {};
};

/// A node of a file that Parallax cannot run.
struct UnsupportedNode {
  std::string node;  ///< its name; the operator and the node's number if it has none, "Relu_7"
  /// Operator and domain ("" for ai.onnx, "tflite"); texts above 120 bytes lack their middle.
  std::string op, domain;
  /// One line of at most 500 bytes: the missing operator, or the attribute or type at fault.
  std::string reason;
};

/// A loaded model: its graph after the passes, and its weights. Immutable and cheap to copy (copies
/// share contents); thread-safe. One that was moved from may only be destroyed or assigned to. In a
/// child of fork(): as Session (session.h).
class Model {
 public:
  /// Loads an ONNX or TFLite file, or the TFLite model in a container; the bytes tell which.
  /// Weights stay mapped, those in external files too. While the model or a session of it lives,
  /// its files may be removed or replaced, but not written to: if one is truncated, the system ends
  /// the process (SIGBUS). `runtime` provides the cache, and is the runtime of sessions that are
  /// created without one, unless they need more threads than it has; the model keeps it alive.
  /// Without `runtime` there is no cache, and these sessions use Runtime::shared(). Errors:
  /// kIo; kInvalidModel; kUnsupported, which lists all that is missing; kInvalidInput for options
  /// out of range, unknown passes, signatures or sections, and KnownInputs that the model cannot
  /// have; kOutOfMemory.
  static Result<Model> load(const std::filesystem::path& path, const LoadOptions& options = {});
  static Result<Model> load(const std::filesystem::path& path, const LoadOptions& options,
                            const Runtime& runtime);
  /// Loads a model file from memory, which must stay unchanged while the model or a session of it
  /// lives: its weights are used there. Errors: as above; kUnsupported also for external weights
  /// without a folder, and kInvalidInput also for bytes without memory.
  static Result<Model> load(ModelBytes model, const LoadOptions& options = {});
  static Result<Model> load(ModelBytes model, const LoadOptions& options, const Runtime& runtime);
  /// Lists all nodes of a file that Parallax cannot run, those in bodies included, nodes of missing
  /// operators first. If a node reads the result of an unsupported one, whose type is not
  /// known, only its operator is checked. Keeps nothing, and uses no cache; files of external
  /// weights must be there. Errors: as load(), but kUnsupported only for what concerns no single
  /// node, such as the type of an input.
  static Result<std::vector<UnsupportedNode>> check(const std::filesystem::path& path,
                                                    const LoadOptions& options = {});
  static Result<std::vector<UnsupportedNode>> check(ModelBytes model,
                                                    const LoadOptions& options = {});
  /// Returns the names of all passes, for LoadOptions::disabled_passes, in the order in which they
  /// run. May throw std::bad_alloc.
  static std::vector<std::string> passes();

  /// All inputs, in the file's order. A run must give each one that is tied neither by ties() nor
  /// by the State of the run. References stay valid while the model lives.
  const std::vector<TensorInfo>& inputs() const;
  /// Outputs in the order in which Session::run() returns them.
  const std::vector<TensorInfo>& outputs() const;
  /// The state that the model itself keeps from run to run: variables of a TFLite file, which are
  /// the last of inputs() and outputs(). A run need not give these inputs: without a State it reads
  /// what the last run of its session left (state.h). Empty for ONNX models.
  const std::vector<Tie>& ties() const;
  /// Names of the free dimensions, which the shapes of a run's inputs give their values, e.g.
  /// {"batch", "seq"}; in the order in which the inputs first name them.
  const std::vector<std::string>& symbols() const;
  /// Number of nodes of the main graph as read, before the passes (a TFLite operator may become
  /// several); those in bodies excluded.
  int file_nodes() const;
  /// Number of nodes after the passes; those in bodies excluded.
  int nodes() const;
  /// Time that load() spent on each part.
  const LoadTimes& load_times() const;
  /// The file's statements about itself; the reference stays valid while the model lives.
  const ModelMetadata& metadata() const;
  /// Returns the use of the cache by this model's sessions so far; empty without a cache, if
  /// memory runs out, and in a child of an unsafe fork.
  CacheReport cache() const;

  struct Impl;

 private:
  friend struct Access;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// The real numbers for which a TFLite file's integers stand: (element - zero point) * scale.
struct FileQuantization {
  std::vector<float> scales;              ///< one, or one for each index along `axis`; empty: none
  std::vector<std::int64_t> zero_points;  ///< as many as scales
  std::int64_t axis = 0;
};

/// An input or output as the file declares it.
struct FileTensor {
  std::string name;
  std::string type;  ///< "float16", "sequence of float32"; "" if undeclared
  std::optional<std::vector<Dimension>> shape;  ///< nullopt if the rank is not declared
  /// An input with an initializer of its name. The initializer is a constant unless
  /// LoadOptions::inputs names the input; then each run must give a value.
  bool has_default = false;
  std::int64_t index = -1;             ///< its number in a subgraph of a TFLite file; otherwise -1
  FileQuantization quantization = {};  ///< TFLite only: in ONNX files nodes hold it
};

/// All nodes of one operator, bodies included.
struct FileOperator {
  std::string domain;      ///< "" for ai.onnx
  std::string name;        ///< operator type, "Conv"
  std::int64_t opset = 0;  ///< version of its domain, in TFLite its own; 0 if the file has none
  int count = 0;           ///< number of nodes
  /// Whether the loader has a rule for it. It may still refuse a node for an attribute or a type.
  bool supported = false;
  /// Names of all kernels of the operator, whatever the type, precision or CPU, in the order in
  /// which they are tried; a node gets one of them. Empty if it is not supported, for If, Loop,
  /// Scan and Constant, which need none, and for TFLite's operators, which become nodes of others.
  std::vector<std::string> kernels;
};

/// A graph inside an If, Loop, Scan or another operator of ONNX.
struct FileBody {
  std::string node, op;  ///< the node that has it, and that node's operator
  std::string body;      ///< "then_branch", "else_branch", "body", ...
  int depth = 1;         ///< 2: inside a body
  int nodes = 0;         ///< number of nodes; those in bodies inside it excluded
};

/// One of the computations that a TFLite file offers, for LoadOptions::signature.
struct FileSignature {
  std::string name;
  /// The tensors that the signature lists, under the names that it gives them.
  std::vector<FileTensor> inputs, outputs;
};

/// All weights of one element type: initializers, Constant nodes, TFLite's constant tensors. A
/// sparse initializer counts with the values that the file has, without its zeros.
struct FileWeights {
  std::string type;             ///< as FileTensor::type
  int tensors = 0;              ///< number of tensors
  std::int64_t parameters = 0;  ///< number of elements of all these tensors
  std::int64_t bytes = 0;       ///< 0 for strings
};

/// A part of a container: a ZIP archive such as MediaPipe's .task, or a LiteRT-LM file.
struct FileSection {
  /// Unique in the file, UTF-8 without control characters: a file with other names is refused. An
  /// entry of an archive inside the archive has both names, "inner.task/model.tflite".
  std::string name;
  /// "TFLiteModel", other types of LiteRT-LM such as "SP_Tokenizer", or in an archive "file",
  /// "compressed file", "folder" or "ZIP archive".
  std::string type;
  std::int64_t bytes = 0;  ///< size in the file
  bool is_model = false;   ///< whether LoadOptions::section may name it
};

/// The contents of a model file. For a container they are those of the chosen or only model; if
/// there are several and none is chosen, only `container` and `sections` have values.
struct FileReport {
  std::string format;               ///< "ONNX" or "TFLite"; "" if no model is chosen
  std::int64_t format_version = 0;  ///< ir_version or schema version; 0 if the file has none
  std::vector<std::pair<std::string, std::int64_t>> opsets;  ///< domain ("" for ai.onnx), version
  /// The inputs as declared; before IR version 4, without those that an initializer makes a
  /// constant.
  std::vector<FileTensor> inputs;
  std::vector<FileTensor> outputs;
  int nodes = 0;                          ///< bodies and other subgraphs included
  std::vector<FileOperator> operators;    ///< most frequent first
  std::vector<FileBody> bodies;           ///< in order of nodes, outer ones first
  std::vector<FileSignature> signatures;  ///< in the file's order; TFLite only
  std::vector<FileWeights> weights;       ///< most bytes first
  ModelMetadata metadata;                 ///< as Model::metadata()
  std::string container;  ///< "ZIP archive", "LiteRT-LM 1.4.0"; "" for a file that is one model
  std::vector<FileSection> sections;  ///< those of a container, in the file's order
};

/// Reads names, types and counts of a model file, but no weights. `section`: as
/// LoadOptions::section, but without one a container of several models is no error. Thread-safe.
/// Errors: kIo; kInvalidModel if the file is damaged, not a model, or a container without one;
/// kUnsupported if the container's models are compressed, and for bodies nested more than 64 deep;
/// kOutOfMemory; those of LoadOptions::section. In a child of fork(): as Session (session.h).
Result<FileReport> inspect_file(const std::filesystem::path& path, const std::string& section = {});
/// Does the same for the contents of a file, which it reads during the call only. Errors: as above;
/// kInvalidInput for bytes without memory.
Result<FileReport> inspect_file(std::span<const std::byte> file, const std::string& section = {});

/// The sizes that kernels are tuned for, in bytes: the vectors of Session::instruction_set() and
/// the data caches of the system's first CPU. Sizes that the system does not report are those of a
/// Zen 4: 32 KiB, 1 MiB and 32 MiB.
struct MachineReport {
  std::int64_t vector_bytes = 0;
  std::int64_t l1_bytes = 0;
  std::int64_t l2_bytes = 0;    ///< one core's part if several cores share it
  std::int64_t last_bytes = 0;  ///< size of the last level, for all cores that share it
};
/// Describes this machine. Thread-safe; never fails.
MachineReport inspect_machine();

}  // namespace parallax
