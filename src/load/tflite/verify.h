// The steps of open_tflite(). Each trusts what the steps before it have checked, in the order of
// this header; all trust that flatbuffers' verifier has seen every table.
// Thread-safety: each call belongs to one file and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "load/tflite/tflite_file.h"
#include "parallax/result.h"

namespace parallax {

/// The uses of a tensor in its subgraph.
struct TfliteUses {
  static constexpr std::int32_t kNone = -1;
  std::int32_t writer = kNone;  ///< the operator that makes it
  bool input = false;           ///< an input of the subgraph
  bool output = false;          ///< an output of the subgraph
  bool fixed = false;           ///< a constant or a variable: no operator may write it
  bool empty = false;           ///< without elements, always: needs no writer
};

/// A file under check. A vector of a flatbuffer may be part of many tables, so its size alone does
/// not bound the work: every step takes what it is about to read out of one allowance.
class TfliteChecks {
 public:
  explicit TfliteChecks(const TfliteFile& opened);

  /// Takes `elements` from the allowance, two per byte of the file. Errors: kInvalidModel.
  Status take(std::size_t elements);
  /// check_name() with that allowance.
  Status check_name(std::string_view owner, const flatbuffers::String* name);

  const TfliteFile& file;
  /// The uses of each tensor, by subgraph; check_tensors() sizes them.
  std::vector<std::vector<TfliteUses>> uses;

 private:
  std::size_t left_;
};

/// Checks the version, operator codes, buffers and the names of metadata.
Status check_model(TfliteChecks& checks);
/// Checks types, shapes, names and bytes of a subgraph's tensors, and notes which are stored.
Status check_tensors(TfliteChecks& checks, std::size_t subgraph);
/// Checks the quantization parameters of one tensor; `label` is its name for messages.
Status check_quantization(TfliteChecks& checks, const tflite_schema::SubGraph& graph,
                          const tflite_schema::Tensor& tensor, std::string_view label);
/// Returns the number of elements that a sparse tensor stores. Errors: kInvalidModel if its
/// parameters contradict its shape or themselves.
Result<std::int64_t> count_stored(TfliteChecks& checks, const tflite_schema::Tensor& tensor,
                                  std::string_view label);
/// Checks which tensors the subgraph and its operators read and write, and notes these uses.
Status check_operators(TfliteChecks& checks, std::size_t subgraph);
/// Returns TfliteSubgraph::order. Errors: kInvalidModel if a tensor is read that is not stored, no
/// input and never written, and if operators wait for each other.
Result<std::vector<std::int32_t>> operator_order(const TfliteChecks& checks, std::size_t subgraph);
/// Checks the subgraphs that operators call.
Status check_calls(TfliteChecks& checks);
/// Checks the names and tensors of signatures.
Status check_signatures(TfliteChecks& checks);

}  // namespace parallax
