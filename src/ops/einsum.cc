// Einsum.
#include "ops/einsum.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "ops/common.h"
#include "ops/params/einsum.h"

namespace parallax {

namespace {

constexpr std::string_view kEllipsis = "...";

/// In the order of ASCII: capitals first.
std::optional<int> label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return 26 + (c - 'a');
  return std::nullopt;
}

/// A term as it is written.
struct WrittenTerm {
  EinsumTerm before, after;  ///< labels around an ellipsis
  bool ellipsis = false;
  std::size_t letters() const { return before.size() + after.size(); }
};

Result<WrittenTerm> read_term(const Node& node, std::string_view text) {
  WrittenTerm term;
  while (!text.empty()) {
    if (text.starts_with(kEllipsis)) {
      if (term.ellipsis) return refuse(node, "a term has two ellipses");
      term.ellipsis = true;
      text.remove_prefix(kEllipsis.size());
      continue;
    }
    const auto label = label_of(text.front());
    if (!label) return refuse(node, "the equation has a character that is not allowed there");
    (term.ellipsis ? term.after : term.before).push_back(*label);
    if (term.letters() > Dims::kMaxRank) return refuse(node, "a term has too many axes");
    text.remove_prefix(1);
  }
  return term;
}

/// The labels of a term whose ellipsis stands for `axes` axes.
EinsumTerm labels_of(const WrittenTerm& term, int axes) {
  EinsumTerm labels = term.before;
  for (int back = axes; back > 0; --back) labels.push_back(kEinsumLetters + back - 1);
  labels.insert(labels.end(), term.after.begin(), term.after.end());
  return labels;
}

/// Without "->": the ellipsis, then each letter that occurs once, in order.
WrittenTerm implicit_output(const std::vector<EinsumTerm>& inputs) {
  std::array<int, kEinsumLabels> count{};
  for (const EinsumTerm& term : inputs)
    for (const int label : term) ++count[static_cast<std::size_t>(label)];
  WrittenTerm output;
  output.ellipsis = true;
  for (int label = 0; label < kEinsumLetters; ++label)
    if (count[static_cast<std::size_t>(label)] == 1) output.after.push_back(label);
  return output;
}

/// Checks that the output has each label once, and that some input has it too.
Status check_output_labels(const Node& node, const EinsumEquation& equation) {
  std::array<bool, kEinsumLabels> known{};
  for (const EinsumTerm& term : equation.inputs)
    for (const int label : term) known[static_cast<std::size_t>(label)] = true;
  for (const int label : equation.output) {
    if (!std::exchange(known[static_cast<std::size_t>(label)], false))
      return refuse(node, "the result has a label twice, or one that no input has");
  }
  return {};
}

/// Terms between commas; an empty text is one empty term.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  while (true) {
    const std::size_t comma = text.find(',');
    terms.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<int> EinsumEquation::summed() const {
  std::vector<int> labels;
  for (const EinsumTerm& term : inputs) {
    for (const int label : term) {
      if (std::ranges::find(output, label) == output.end() &&
          std::ranges::find(labels, label) == labels.end())
        labels.push_back(label);
    }
  }
  return labels;
}

Result<EinsumEquation> einsum_equation(const Node& node, std::span<const int> ranks) {
  std::string text = params_of<EinsumParams>(node).equation;
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const auto terms = split_terms(std::string_view(text).substr(0, arrow));
  if (terms.size() != ranks.size()) {
    return refuse(node, fmt::format("{} terms for {} inputs", terms.size(), ranks.size()));
  }
  EinsumEquation equation;
  int most_axes = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    PX_ASSIGN(const WrittenTerm term, read_term(node, terms[i]));
    const int axes = ranks[i] - static_cast<int>(term.letters());
    if (axes < 0 || (axes > 0 && !term.ellipsis)) {
      return refuse(node, fmt::format("term {} does not name {} axes", i, ranks[i]));
    }
    most_axes = std::max(most_axes, axes);
    equation.inputs.push_back(labels_of(term, axes));
  }
  WrittenTerm output = implicit_output(equation.inputs);
  if (arrow != std::string::npos) {
    PX_ASSIGN(output, read_term(node, std::string_view(text).substr(arrow + 2)));
  }
  equation.output = labels_of(output, output.ellipsis ? most_axes : 0);
  if (equation.output.size() > Dims::kMaxRank) return refuse(node, "the result has too many axes");
  PX_RETURN_IF_ERROR(check_output_labels(node, equation));
  return equation;
}

namespace {

/// The size of each label; axes of one element broadcast to the others of their label.
Result<std::vector<Expr>> label_sizes(const InferContext& context, const EinsumEquation& equation) {
  std::vector<Expr> sizes(kEinsumLabels, Expr(1));
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    const EinsumTerm& term = equation.inputs[i];
    const Shape& shape = context.inputs[i].shape;
    for (std::size_t axis = 0; axis < term.size(); ++axis) {
      const auto twin =
          std::ranges::find(term.begin(), term.begin() + static_cast<std::ptrdiff_t>(axis),
                            term[axis]) -
          term.begin();
      if (!unify(shape[static_cast<std::size_t>(twin)], shape[axis]))
        return fail(context, fmt::format("a diagonal of input {} is not square", i));
      Expr& size = sizes[static_cast<std::size_t>(term[axis])];
      PX_ASSIGN(const Shape both, broadcast(Shape{size}, Shape{shape[axis]}, context));
      size = both[0];
    }
  }
  return sizes;
}

/// More than any model has, few enough that strides of every label take little.
constexpr std::size_t kMaxEinsumInputs = 256;

InferResult infer_einsum(const InferContext& context) {
  if (context.inputs.size() > kMaxEinsumInputs)
    return fail(context, "too many inputs", ErrorCode::kUnsupported);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kNumericTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    ranks.push_back(rank_of(context.inputs[i]));
  }
  PX_ASSIGN(const EinsumEquation equation, einsum_equation(context.node, ranks));
  PX_ASSIGN(const std::vector<Expr> sizes, label_sizes(context, equation));
  Shape shape;
  for (const int label : equation.output) shape.push_back(sizes[static_cast<std::size_t>(label)]);
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// A product of all inputs for every value of every label.
std::int64_t macs_einsum(const Node& node, std::span<const Dims> inputs, std::span<const Dims>) {
  std::vector<int> ranks;
  for (const Dims& dims : inputs) ranks.push_back(dims.rank());
  const auto equation = einsum_equation(node, ranks);
  if (!equation) return 0;
  std::array<std::int64_t, kEinsumLabels> sizes;
  sizes.fill(1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (int axis = 0; axis < inputs[i].rank(); ++axis) {
      std::int64_t& size =
          sizes[static_cast<std::size_t>(equation->inputs[i][static_cast<std::size_t>(axis)])];
      if (size == 1) size = inputs[i][axis];
    }
  }
  std::int64_t macs = static_cast<std::int64_t>(std::max<std::size_t>(inputs.size(), 2)) - 1;
  for (const std::int64_t size : sizes) macs = saturating_mul(macs, size);
  return macs;
}

}  // namespace

const OpDef& op_def_Einsum() {
  static const OpDef def = [] {
    OpDef d(OpKind::kEinsum, {.work = WorkKind::kProduct,
                              .flops = PaperFlops::kTwiceMacs,
                              .nhwc = NhwcRule::kNone,
                              .rows = RowRule::kNone,
                              .form = ConformanceForm::kOwn});
    d.since = 12;
    d.max_inputs = -1;
    d.attributes = attributes_of<EinsumParams>();
    d.infer = infer_einsum;
    d.macs = macs_einsum;
    return d;
  }();
  return def;
}

}  // namespace parallax
