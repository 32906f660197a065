// One call of a function of the model: what names and attributes of the function's body stand for.
// Thread-safety: not thread-safe.
//
// Used by functions.cc alone: construct, check(), bind() for each node of the body, then
// passed_on().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_map.h"
#include "ir/load_quota.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// "function 'domain.name'" for messages.
std::string describe_function(const OnnxFunction& function);

/// Names that no value of the file has, one after the other. Names live as long as the deque, whose
/// elements never move.
class MadeNames {
 public:
  /// `names` keeps them.
  explicit MadeNames(std::deque<std::string>& names) : names_(names) {}
  /// Nothing that is made gets this name.
  void reserve(std::string_view name) { taken_.insert(name); }
  /// `name`, or that with a number behind it. Numbers count on over all names, so that n names need
  /// O(n) attempts whatever the file reserves.
  std::string_view make(std::string name);
  /// `name` as it is, kept.
  std::string_view keep(std::string name);
  /// Bytes of all names that were made or kept, which the inliner charges.
  std::size_t bytes() const { return bytes_; }

 private:
  std::deque<std::string>& names_;
  NameSet taken_;
  std::size_t bytes_ = 0;
  std::int64_t number_ = 0;
};

/// Values of the body get names that begin with the node's name, or its operator if it has none.
class FunctionCall {
 public:
  /// `node` calls `function`. All must outlive the call.
  FunctionCall(const OnnxNode& node, const OnnxFunction& function, MadeNames& names);
  /// The names of the function's own values, for one whose nodes read others from where it stands.
  void define(NameSet own) { own_ = std::move(own); }

  /// Whether the function can be called so. Errors: kInvalidModel; kUnsupported where the account
  /// is spent. kInvalidModel: more inputs or outputs than the function has, two inputs of one name,
  /// an attribute that the function lacks. Trailing inputs that the call leaves out stand for empty
  /// names.
  Status check(LoadQuota& quota);
  /// A node of the function's body as this call has it: with the names and attributes of the
  /// caller, graphs in it as OnnxAttribute::inlined. Errors: as parsing; kInvalidModel for
  /// attributes that the function lacks; kUnsupported if the account is spent. An attribute that
  /// refers to one that the caller leaves out is dropped. The operator set is the one that the
  /// function imports for the node's domain. REQUIRES: check() succeeded.
  Result<OnnxNode> bind(const OnnxNode& inner, LoadQuota& quota);
  /// Returns the name of a value of the function's body here.
  std::string_view name_of(std::string_view name) { return rename(name, nullptr); }
  /// Copies for outputs of the function that are inputs, or that are listed several times. Each is
  /// an Identity of ai.onnx. To be called after all nodes were bound.
  std::vector<OnnxNode> passed_on();

 private:
  /// Names that graphs inside the body define, which hide those of the function. Links of a chain
  /// on the stack, innermost first; at most kMaxNesting (else kUnsupported).
  struct Hidden {
    const Hidden* around;
    NameSet names;
    bool has(std::string_view name) const {
      return names.contains(name) || (around != nullptr && around->has(name));
    }
  };
  std::string_view rename(std::string_view name, const Hidden* hidden);
  Result<OnnxNode> bind(const OnnxNode& inner, const Hidden* hidden, LoadQuota& quota);
  Status bind_attributes(OnnxNode& bound, const Hidden* hidden, LoadQuota& quota);
  Result<OnnxGraph> bind_graph(OnnxGraph graph, const Hidden* hidden, LoadQuota& quota);
  /// Charges work to the quota; a unit is about a nanosecond. Errors: kUnsupported.
  Status take_work(LoadQuota& quota, std::int64_t work) const;
  Result<const OnnxAttribute*> referred(const OnnxAttribute& attribute) const;
  int depth_of(const Hidden* hidden) const;

  const OnnxNode& node_;
  const OnnxFunction& function_;
  MadeNames& names_;
  std::string_view label_;               ///< prefix of names of this call
  NameMap<std::string_view> arguments_;  ///< keyed by formal name; empty: left out
  NameMap<std::string_view> made_;
  std::vector<std::pair<std::string_view, std::string_view>> copies_;  ///< from, to
  std::optional<NameSet> own_;  ///< names that are renamed; nothing: all
};

}  // namespace parallax
