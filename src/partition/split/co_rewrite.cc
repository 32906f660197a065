#include "partition/split/co_rewrite.h"

#include "ops/params/movement.h"
#include "ops/params/window.h"

#include <algorithm>
#include <utility>

namespace parallax {
namespace {

/// One node that is being changed.
class RowRewriter {
 public:
  RowRewriter(const Graph& graph, const ConcreteShapes& shapes, const SplitRule& rule,
              const Rows& made, Graph& into, UniqueNames& names, Node& node)
      : graph_(graph),
        shapes_(shapes),
        rule_(rule),
        made_(made),
        into_(into),
        names_(names),
        node_(node),
        before_(node) {}

  void window();
  void shape(std::size_t input);
  void slice();
  void pad();

 private:
  std::size_t axis() const { return static_cast<std::size_t>(rule_.axis); }
  /// Returns the numbers of rows of input 0 that are outside of it, before and after.
  std::pair<std::int64_t, std::int64_t> outside() const {
    const Rows wanted = rule_.inputs[0].of(made_);
    const std::int64_t all = (*shapes_[before_.inputs[0]])[rule_.inputs[0].axis];
    return {std::max<std::int64_t>(0, -wanted.begin), std::max<std::int64_t>(0, wanted.end - all)};
  }
  void set(std::size_t input, const std::vector<std::int64_t>& elements) {
    node_.inputs[input] = add_constant(into_, names_, node_.name + "_rows", make_i64(elements));
  }

  const Graph& graph_;
  const ConcreteShapes& shapes_;
  const SplitRule& rule_;
  const Rows& made_;
  Graph& into_;
  UniqueNames& names_;
  Node& node_;
  const Node before_;
};

/// Padding stays only at the ends of the image.
void RowRewriter::window() {
  if (rule_.axis < 2) return;
  const std::size_t axes = static_cast<std::size_t>(shapes_[before_.inputs[0]]->rank()) - 2;
  auto pads = params_of<WindowParams>(node_).pads;
  pads.resize(2 * axes, 0);
  const auto [front, behind] = outside();
  pads[axis() - 2] = front;
  pads[axis() - 2 + axes] = behind;
  set_param(node_, &WindowParams::pads, std::move(pads));
}

/// Input `input` is the shape of the result.
void RowRewriter::shape(std::size_t input) {
  const Dims& out = *shapes_[before_.outputs[0]];
  std::vector<std::int64_t> dims(out.begin(), out.end());
  dims[axis()] = made_.count();
  set(input, dims);
}

void RowRewriter::slice() {
  const auto bounds = slice_bounds(graph_, shapes_, before_);
  std::vector<std::int64_t> starts, ends, axes, steps;
  for (std::size_t i = 0; i < bounds->size(); ++i) {
    const SliceAlong& along = (*bounds)[i];
    const bool cut = i == axis();
    const std::int64_t all = (*shapes_[before_.inputs[0]])[static_cast<int>(i)];
    if (!cut && along.start == 0 && along.end == all && along.step == 1) continue;
    starts.push_back(cut ? 0 : along.start);
    ends.push_back(cut ? rule_.inputs[0].of(made_).count() : along.end);
    axes.push_back(static_cast<std::int64_t>(i));
    steps.push_back(along.step);
  }
  node_.inputs.resize(5);
  set(1, starts);
  set(2, ends);
  set(3, axes);
  set(4, steps);
}

void RowRewriter::pad() {
  auto pads = *known_integers(graph_, before_, 1);
  const auto [front, behind] = outside();
  pads[axis()] = front;
  pads[axis() + pads.size() / 2] = behind;
  set(1, pads);
}

}  // namespace

void rewrite_for_rows(const Graph& graph, const ConcreteShapes& shapes, const SplitRule& rule,
                      const Rows& made, Graph& into, UniqueNames& names, Node& node) {
  RowRewriter rewriter(graph, shapes, rule, made, into, names, node);
  switch (node.op) {
    case OpKind::kConv:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
      return rewriter.window();
    case OpKind::kReshape:
      erase_param(node, &ReshapeParams::allowzero);
      return rewriter.shape(1);
    case OpKind::kExpand:
      return rewriter.shape(1);
    case OpKind::kResize:
      if (node.inputs.size() > 3 && node.inputs[3].valid()) rewriter.shape(3);
      return;
    case OpKind::kSlice:
      return rewriter.slice();
    case OpKind::kPad:
      return rewriter.pad();
    default:
      return;
  }
}

}  // namespace parallax
