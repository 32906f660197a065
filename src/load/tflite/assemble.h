// Builds the graph of a TFLite file that was checked (tflite_file.h). Thread-safety: calls that
// share neither a quota nor `noted` may run concurrently.
//
// Limits: each operator is charged about 1.5 KiB of memory, each further node of it 768 bytes; the
// quota is raised by the former for every operator of the file.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/load_quota.h"
#include "load/tflite/entry.h"
#include "load/tflite/tflite_file.h"
#include "parallax/model.h"
#include "parallax/options.h"

namespace parallax {

/// Returns the graph of the subgraph that `entry` names, in canonical operators, shapes inferred.
/// Images stay NHWC. Constants point into the file, which `owner` keeps alive; null: the caller
/// does. `known`: sizes of inputs, under the names in `entry`; they may be others than the file's.
/// `quota` is charged for each operator and constant, those before an error too. `noted`, unless
/// null: gets the nodes that cannot run; if there are any, the result is an error. Errors: stage
/// kLoad; kInvalidModel, for sizes in `known` that an operator refuses too; kInvalidInput for names
/// and ranks in `known`; kUnsupported (all operators without a rule listed with counts).
Result<Graph> assemble_tflite(const TfliteFile& file, const TfliteEntry& entry,
                              std::span<const KnownInput> known, std::shared_ptr<const void> owner,
                              LoadQuota& quota, std::vector<UnsupportedNode>* noted = nullptr);

}  // namespace parallax
