#include "load/onnx/graph_memory.h"

#include <algorithm>
#include <iterator>

#include "base/name_map.h"

namespace parallax {
namespace {

constexpr std::int64_t kNode = 720, kNodeInput = 25, kNodeOutput = 600;

}  // namespace

std::int64_t memory_of_nodes(std::size_t count) {
  return static_cast<std::int64_t>(count) * (kNode + kNodeInput + kNodeOutput);
}

// Measured as the growth of the peak of `plan` from 10,000 to 20,000 of each: 1,310 B for a node of
// one input and one output that no other absorbs, half of it while planning; 630 for one that ends
// in a chain, 570 while loading. Before nodes became smaller: 440 for an attribute, 640 for an
// initializer that nothing reads, 690 where it lies in another file, 1,440 for one and its use, 720
// for an input and its use, 600 for an output; 13,700 for an If with two attributes, two outputs
// and two bodies of one node and one capture; 1,500 for a value that one of its two bodies
// captures. A Concat of 200,000 inputs takes 320 for each: lists grow by doubling, and its kernel
// has tables.
std::int64_t memory_of_graph(const CheckedGraph& checked) {
  constexpr std::int64_t kAttribute = 450;
  constexpr std::int64_t kFewInputs = 16, kFurtherInput = 300;
  constexpr std::int64_t kInput = 700, kOutput = 600, kInitializer = 700, kInitializerUse = 700;
  constexpr std::int64_t kCapture = 750, kBody = 2500;
  const OnnxGraph& file = checked.graph;
  std::int64_t bytes =
      std::ssize(file.nodes) * kNode + std::ssize(file.inputs) * kInput +
      std::ssize(file.outputs) * kOutput +
      (std::ssize(file.initializers) + std::ssize(file.sparse_initializers)) * kInitializer;
  for (const OnnxTensor& initializer : file.initializers)
    if (checked.names.at(initializer.name).read) bytes += kInitializerUse;
  for (const OnnxNode& node : file.nodes) {
    bytes += std::ssize(node.inputs) * kNodeInput + std::ssize(node.outputs) * kNodeOutput +
             std::ssize(node.attributes) * kAttribute +
             std::max<std::int64_t>(std::ssize(node.inputs) - kFewInputs, 0) * kFurtherInput;
  }
  for (const auto& [node, bodies] : checked.bodies) {
    NameSet captured;  // names captured by any body: each of them gets an input
    for (const CheckedBody& body : bodies) {
      bytes += kBody + memory_of_graph(body.checked);
      captured.insert(body.checked.captures.begin(), body.checked.captures.end());
    }
    bytes += std::ssize(captured) * std::ssize(bodies) * kCapture;
  }
  return bytes;
}

}  // namespace parallax
