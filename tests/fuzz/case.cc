#include "case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

namespace parallax::fuzz {
namespace {

constexpr std::size_t kMaxPrinted = 24;

template <class T>
std::string elements_of(const Constant& tensor) {
  std::string text;
  const std::size_t count = tensor.bytes.size() / sizeof(T);
  for (std::size_t i = 0; i < std::min(count, kMaxPrinted); ++i) {
    T element;
    std::memcpy(&element, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    text += fmt::format("{}{}", i == 0 ? "" : ", ", +element);
  }
  return text + (count > kMaxPrinted ? ", ..." : "");
}

std::string attribute_text(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Constant>) {
          return to_string(v);
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

void print(const CaseGraph& graph, const Case& fuzzed, const std::string& indent,
           std::string& text) {
  const auto dtype = [&](const std::string& name) {
    const auto found = fuzzed.dtypes.find(name);
    return found == fuzzed.dtypes.end() ? std::string_view("?") : to_string(found->second);
  };
  for (const CaseInput& input : graph.inputs) {
    std::vector<std::string> dims;
    for (const CaseDim& dim : input.dims) {
      const auto* number = std::get_if<std::int64_t>(&dim);
      const auto* symbol = std::get_if<std::string>(&dim);
      dims.push_back(number != nullptr ? std::to_string(*number)
                                       : (symbol != nullptr ? *symbol : "?"));
    }
    text += fmt::format("{}input {}: {} [{}]\n", indent, input.name, to_string(input.dtype),
                        fmt::join(dims, ", "));
  }
  for (const auto& [name, constant] : graph.constants)
    text += fmt::format("{}const {}: {}\n", indent, name, to_string(constant));
  for (const CaseNode& node : graph.nodes) {
    std::vector<std::string> outputs, attributes;
    for (const std::string& output : node.outputs)
      outputs.push_back(fmt::format("{}: {}", output.empty() ? "_" : output, dtype(output)));
    for (const auto& [name, value] : node.attributes)
      attributes.push_back(fmt::format("{} = {}", name, attribute_text(value)));
    text += fmt::format("{}{} = {}({})", indent, fmt::join(outputs, ", "), to_string(node.op),
                        fmt::join(node.inputs, ", "));
    text += attributes.empty() ? "\n" : fmt::format(" {{{}}}\n", fmt::join(attributes, ", "));
    for (const CaseGraph& body : node.bodies) {
      text += indent + "  body\n";
      print(body, fuzzed, indent + "    ", text);
    }
  }
  text += fmt::format("{}output {}\n", indent, fmt::join(graph.outputs, ", "));
}

/// Adds the names that `graph` reads, those of its bodies and outputs included.
void add_reads(const CaseGraph& graph, std::set<std::string, std::less<>>& reads) {
  reads.insert(graph.outputs.begin(), graph.outputs.end());
  for (const CaseNode& node : graph.nodes) {
    reads.insert(node.inputs.begin(), node.inputs.end());
    for (const CaseGraph& body : node.bodies) add_reads(body, reads);
  }
}

/// Adds the names that nodes of `graph` read and give, those of its bodies included.
void add_all(const CaseGraph& graph, std::set<std::string, std::less<>>& names) {
  add_reads(graph, names);
  for (const CaseNode& node : graph.nodes) {
    names.insert(node.outputs.begin(), node.outputs.end());
    for (const CaseGraph& body : node.bodies) add_all(body, names);
  }
}

}  // namespace

std::string to_string(const Constant& tensor) {
  if (!info_of(tensor.dtype).native)
    return fmt::format("{} {}", to_string(tensor.dtype), tensor.dims.to_string());
  const std::string elements = dispatch<kNativeTypes>(
      tensor.dtype, [&](auto type) { return elements_of<typename decltype(type)::type>(tensor); });
  return fmt::format("{} {} {{{}}}", to_string(tensor.dtype), tensor.dims.to_string(), elements);
}

std::string to_string(const Case& fuzzed) {
  std::string text = fmt::format("seed {}, operator set {}\n", fuzzed.seed, fuzzed.opset);
  print(fuzzed.graph, fuzzed, "", text);
  for (std::size_t run = 0; run < fuzzed.runs.size(); ++run) {
    text += fmt::format("run {}\n", run);
    for (std::size_t i = 0; i < fuzzed.runs[run].size(); ++i)
      text +=
          fmt::format("  {} = {}\n", fuzzed.graph.inputs[i].name, to_string(fuzzed.runs[run][i]));
  }
  return text;
}

void remove_dead(CaseGraph& graph) {
  std::set<std::string, std::less<>> reads(graph.outputs.begin(), graph.outputs.end());
  std::vector<CaseNode> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool read = std::ranges::any_of(
        node->outputs, [&](const std::string& output) { return reads.contains(output); });
    if (!read) continue;
    for (CaseGraph& body : node->bodies) {
      remove_dead(body);
      add_reads(body, reads);
    }
    reads.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  std::erase_if(graph.constants, [&](const auto& entry) { return !reads.contains(entry.first); });
}

std::set<std::string, std::less<>> values_behind(const CaseGraph& graph, const std::string& value) {
  std::set<std::string, std::less<>> behind = {value};
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool read = std::ranges::any_of(
        node->outputs, [&](const std::string& output) { return behind.contains(output); });
    if (!read) continue;
    behind.insert(node->inputs.begin(), node->inputs.end());
    for (const CaseGraph& body : node->bodies) add_all(body, behind);
  }
  return behind;
}

void count_operators(const CaseGraph& graph, std::map<OpKind, int>& counts) {
  for (const CaseNode& node : graph.nodes) {
    ++counts[node.op];
    for (const CaseGraph& body : node.bodies) count_operators(body, counts);
  }
}

}  // namespace parallax::fuzz
