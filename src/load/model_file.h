// Model files of all formats: which one a file has follows from its bytes. Other folders reach the
// loaders through this header alone. The file is an attacker's: every count, size, offset, name and
// path in it is checked. Thread-safety: pure functions.
//
// Order of calls: find_model() once for the file, then load_model(), check_model() or
// read_metadata() with what it returned. describe_model() stands alone and starts from the whole
// file. Formats are tried in a fixed order: TFLite by its identifier "TFL3" at byte 4, and all
// other files as ONNX, which has no identifier.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/files/mapped_file.h"
#include "ir/graph.h"
#include "ir/load_quota.h"
#include "parallax/model.h"
#include "parallax/options.h"

namespace parallax {

/// Returns the model in a file, which is the file itself unless it is a container; the other
/// members stay. `section`: as LoadOptions::section. Errors: those of Model::load() for containers.
/// In detail: kInvalidInput for a section that the file lacks, also if the file is no container,
/// and for an empty `section` if there are several models; kOutOfMemory. The result shares the
/// owner of the bytes.
Result<ModelBytes> find_model(ModelBytes file, std::string_view section);

/// Returns the graph of a model, which find_model() found: canonical operators, shapes inferred.
/// Weights stay where the file has them. `external`, unless null: gets the files besides the
/// model's that were opened (open_external() of external_files.h opens them again). `quota`, unless
/// null: grows by what the file allows, and is charged with what is made. Errors: those of
/// Model::load(). Bytes of weights keep ModelBytes::owner alive through Constant::owner; a null
/// owner means that the caller keeps the bytes as long as the graph. `external` is written only on
/// success. `quota` must not be in use by another thread; a null one is replaced by one of this
/// call. Exceptions for a lack of memory become kOutOfMemory.
Result<Graph> load_model(const ModelBytes& model, const LoadOptions& options,
                         std::vector<NamedFile>* external = nullptr, LoadQuota* quota = nullptr);

/// Loads the graph, drops it and returns the nodes that cannot run, also those behind the first.
/// Errors: as load_model(), for what is no single node's. An empty list means that the model loads.
/// Nodes that read the result of one that cannot run are not listed. Charges a quota of its own.
Result<std::vector<UnsupportedNode>> check_model(const ModelBytes& model,
                                                 const LoadOptions& options);

/// Contents of a file, with operators and types that cannot be loaded.
struct DescribedModel {
  FileReport report;  ///< without FileOperator::kernels
  /// For each of report.operators the node that it becomes first; nullopt if it becomes none.
  /// TFLite operators have nullopt throughout, since a rule may write any nodes.
  std::vector<std::optional<OpKind>> kinds;
};
/// Describes a file, and the model in `section` if the file is a container; only the sections if
/// it has several models and `section` is empty. Errors: kInvalidModel for a file of no known
/// format or a damaged one; kUnsupported for bodies nested more than kMaxNesting deep; those of
/// find_model(). Operators without a rule are listed, not refused. The result copies its texts:
/// `bytes` may go.
Result<DescribedModel> describe_model(std::span<const std::byte> bytes,
                                      std::string_view section = {});

/// Returns the statements about itself of a model that was loaded, whose main graph is called
/// `graph_name`. Errors: kInvalidModel if the file cannot be read. Parses the outermost message
/// again (ONNX), or checks the whole file again (TFLite). Texts have at most
/// ModelMetadata::kMaxBytes together.
Result<ModelMetadata> read_metadata(std::span<const std::byte> bytes, std::string_view graph_name);

}  // namespace parallax
