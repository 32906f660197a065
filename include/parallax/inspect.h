// What a model file holds, whether Parallax can run it or not; and what kernels take the machine to
// be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parallax/model.h"
#include "parallax/result.h"

namespace parallax {

/// An input or output as the file declares it.
struct FileTensor {
  std::string name;
  std::string type;  ///< ONNX's name, e.g. "float16"; "" if undeclared or no tensor
  std::optional<std::vector<Dimension>> shape;  ///< nothing if the rank is not declared
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
  std::vector<FileTensor> inputs;                            ///< initializers excepted
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
