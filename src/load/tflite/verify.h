// The steps of open_tflite(). Each trusts what the steps before it have checked, in the order of
// this header; all trust that flatbuffers' verifier has seen every table.
// Thread-safety: each call belongs to one file and one thread.
//
// Errors, unless stated otherwise: kInvalidModel, with the tensor, operator or subgraph in the
// message; kUnsupported for what the format allows and Parallax lacks. After an error the content
// of TfliteChecks is unspecified.
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
/// not bound the work: every step takes what it is about to read out of one allowance. `opened`
/// must outlive this.
class TfliteChecks {
 public:
  explicit TfliteChecks(const TfliteFile& opened);

  /// Takes `elements` from the allowance, two per byte of the file. Errors: kInvalidModel.
  Status take(std::size_t elements);
  /// check_name() with that allowance. The characters are taken from the allowance.
  Status check_name(std::string_view owner, const flatbuffers::String* name);

  const TfliteFile& file;
  /// The uses of each tensor, by subgraph; check_tensors() sizes them.
  std::vector<std::vector<TfliteUses>> uses;

 private:
  std::size_t left_;
};

/// Checks the version, operator codes, buffers and the names of metadata. kUnsupported for another
/// schema version than 3; kInvalidModel for a model without subgraphs.
Status check_model(TfliteChecks& checks);
/// Checks types, shapes, names and bytes of a subgraph's tensors, and notes which are stored.
/// kUnsupported: ranks above Dims::kMaxRank, unknown element types, bytes in other files, variables
/// with bytes, constants of types without a fixed size.
Status check_tensors(TfliteChecks& checks, std::size_t subgraph);
/// Checks the quantization parameters of one tensor; `label` is its name for messages. Scales must
/// be finite and >= 0, one or one for each index of the axis, with a zero point for each or one for
/// all. Tensors that hold the scales of blocks must exist.
Status check_quantization(TfliteChecks& checks, const tflite_schema::SubGraph& graph,
                          const tflite_schema::Tensor& tensor, std::string_view label);
/// Returns the number of elements that a sparse tensor stores. Errors: kInvalidModel if its
/// parameters contradict its shape or themselves. Also kInvalidModel for an allowance that is
/// spent. Segments must ascend and indices must ascend strictly within each.
Result<std::int64_t> count_stored(TfliteChecks& checks, const tflite_schema::Tensor& tensor,
                                  std::string_view label);
/// Checks which tensors the subgraph and its operators read and write, and notes these uses. An
/// operator's options of large size must lie inside the file. To be called after check_tensors()
/// for the subgraph.
Status check_operators(TfliteChecks& checks, std::size_t subgraph);
/// Returns TfliteSubgraph::order. Errors: kInvalidModel if a tensor is read that is not stored, no
/// input and never written, and if operators wait for each other. To be called after
/// check_operators() for the subgraph.
Result<std::vector<std::int32_t>> operator_order(const TfliteChecks& checks, std::size_t subgraph);
/// Checks the subgraphs that operators call. Errors: kInvalidModel for a subgraph that is missing
/// or calls itself, directly or through others; kUnsupported for calls more than kMaxNesting deep.
Status check_calls(TfliteChecks& checks);
/// Checks the names and tensors of signatures. Keys differ; names of inputs differ and so do those
/// of outputs; each is an input or output of the signature's subgraph.
Status check_signatures(TfliteChecks& checks);

}  // namespace parallax
