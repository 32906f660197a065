#include "ir/text/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/strings.h"
#include "ir/text/lexer.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

/// Longer constants are abbreviated unless all their elements are the same.
constexpr std::int64_t kMaxPrinted = 32;

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// Names as they are where the parser would read them back, in quotes otherwise.
std::string name_text(std::string_view name) {
  bool bare = !name.empty() && starts_name(name[0]) && name != "_";
  for (const char c : name) bare = bare && (starts_name(c) || (c >= '0' && c <= '9') || c == '.');
  for (const std::string_view word : {"graph", "symbols", "data_symbols", "outer_symbols", "input",
                                      "const", "symbolic", "output", "body", "end"}) {
    bare = bare && name != word;
  }
  for (const std::string_view word : {"floor_div", "mod", "min", "max", "broadcast", "overflow"}) {
    bare = bare && name != word;
  }
  return bare ? std::string(name) : quoted_text(name);
}

template <class T>
std::string float_text(T x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string element_text(const Constant& constant, std::int64_t i) {
  const std::byte* const bytes = constant.bytes.data();
  switch (info_of(constant.dtype).kind) {
    case DTypeClass::kFloat:
      return constant.dtype == DType::kF64
                 ? float_text(read_element<double>(constant.dtype, bytes, i))
                 : float_text(read_element<float>(constant.dtype, bytes, i));
    case DTypeClass::kSigned:
      return std::to_string(read_element<std::int64_t>(constant.dtype, bytes, i));
    case DTypeClass::kBool:  // as it is: a file may hold any byte
      return std::to_string(std::to_integer<unsigned>(bytes[i]));
    default:
      return std::to_string(read_element<std::uint64_t>(constant.dtype, bytes, i));
  }
}

bool all_equal(const Constant& constant, std::int64_t count) {
  const DTypeInfo& info = info_of(constant.dtype);
  const auto size = static_cast<std::size_t>(std::max(info.bits / 8, 1));
  for (std::size_t i = size; i + size <= constant.bytes.size(); i += size) {
    if (std::memcmp(constant.bytes.data(), constant.bytes.data() + i, size) != 0) return false;
  }
  if (info.bits >= 8) return true;
  // Elements after the first in its byte; the last byte may have unused bits.
  for (std::int64_t i = 1; i < std::min<std::int64_t>(count, 8 / info.bits); ++i) {
    if (element_text(constant, i) != element_text(constant, 0)) return false;
  }
  return true;
}

template <class Items, class Text>
std::string list(const Items& items, Text text_of) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ", ";
    text += text_of(item);
  }
  return text + "]";
}

std::string strings_text(const Constant& constant) {
  const auto strings = strings_of(constant);
  if (!strings || strings->size() > kMaxPrinted) return "...";
  return list(*strings, quoted_text);
}

std::string elements_text(const Constant& constant) {
  if (constant.dtype == DType::kString) return strings_text(constant);
  if (!contains(kSizedTypes, constant.dtype)) return "...";
  const std::int64_t count = constant.dims.elements();
  if (count > 1 && all_equal(constant, count)) return "fill " + element_text(constant, 0);
  if (count > kMaxPrinted) return "...";
  std::string text = "[";
  for (std::int64_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + element_text(constant, i);
  }
  return text + "]";
}

/// Silu {alpha = 1.702}: parameters that are not at their defaults.
std::string activation_text(const Activation& activation) {
  const Activation plain;
  std::vector<float> defaults;
  for_each_parameter(plain, [&](std::string_view, float value) { defaults.push_back(value); });
  std::string parameters;
  std::size_t next = 0;
  for_each_parameter(activation, [&](std::string_view name, float value) {
    if (value == defaults[next++]) return;
    parameters += fmt::format("{}{} = {}", parameters.empty() ? "" : ", ", name, float_text(value));
  });
  const std::string op(to_string(activation.op));
  return parameters.empty() ? op : op + " {" + parameters + "}";
}

struct AttributeText {
  std::string operator()(std::int64_t x) const { return std::to_string(x); }
  std::string operator()(float x) const { return float_text(x); }
  std::string operator()(const std::string& x) const { return quoted_text(x); }
  std::string operator()(const std::vector<std::int64_t>& x) const {
    return list(x, [](std::int64_t i) { return std::to_string(i); });
  }
  std::string operator()(const std::vector<float>& x) const {
    return "floats " + list(x, float_text<float>);
  }
  std::string operator()(const std::vector<std::string>& x) const {
    return "strings " + list(x, [](const std::string& s) { return quoted_text(s); });
  }
  std::string operator()(const Constant& x) const {
    return fmt::format("tensor {} {} {}", info_of(x.dtype).text,
                       list(x.dims, [](std::int64_t i) { return std::to_string(i); }),
                       elements_text(x));
  }
};

class Printer {
 public:
  /// `outer`: the symbols of the graph around it, as text.
  explicit Printer(const Graph& graph, std::span<const std::string> outer = {}, int depth = 0)
      : graph_(graph), outer_(outer), depth_(depth) {
    for (const Symbol& symbol : graph.symbols) symbols_.push_back(name_text(symbol.name));
  }

  std::string run() {
    if (!graph_.name.empty()) text_ += "graph " + name_text(graph_.name) + "\n";
    print_symbols();
    for (const ValueId id : graph_.inputs) text_ += "input " + typed(id, " ") + "\n";
    for (const ValueId id : graph_.values.ids()) {
      const Value& value = graph_.values[id];
      if (value.kind == ValueKind::kConstant && value.constant) {
        text_ += "const " + typed(id, " ") + " = " + elements_text(*value.constant) + "\n";
      } else if (value.kind == ValueKind::kSymbolic && value.content) {
        text_ += "symbolic " + typed(id, " ") + " = " + exprs(*value.content) + "\n";
      }
    }
    for (const NodeId id : graph_.nodes.ids()) print_node(id);
    if (!graph_.outputs.empty()) text_ += "output " + names(graph_.outputs, false) + "\n";
    return std::move(text_);
  }

 private:
  /// One line per run of symbols of a kind, so that ids survive.
  void print_symbols() {
    std::string_view line;
    for (const SymbolId id : graph_.symbols.ids()) {
      const Symbol& symbol = graph_.symbols[id];
      std::string_view word = symbol.kind == SymbolKind::kInput ? "symbols" : "data_symbols";
      if (symbol.outer.valid()) word = "outer_symbols";
      if (line != word) {
        if (!line.empty()) text_ += "\n";
        text_ += word;
        line = word;
      }
      text_ += " " + symbols_[static_cast<std::size_t>(id.value)];
      if (const auto index = static_cast<std::size_t>(symbol.outer.value);
          symbol.outer.valid() && index < outer_.size() &&
          outer_[index] != symbols_[static_cast<std::size_t>(id.value)])
        text_ += " = " + outer_[index];
    }
    if (!line.empty()) text_ += "\n";
  }

  std::string exprs(const std::vector<Expr>& items) const {
    return list(items, [&](const Expr& e) { return e.to_string(symbols_); });
  }

  std::string name(ValueId id) const {
    return graph_.values.contains(id) ? name_text(graph_.values[id].name) : "_";
  }

  std::string typed(ValueId id, std::string_view separator) const {
    const Value& value = graph_.values[id];
    if (value.container != nullptr)
      return name(id) + std::string(separator) + to_string(*value.container, value.dtype);
    return fmt::format("{}{}{} {}", name(id), separator, info_of(value.dtype).text,
                       exprs(value.shape));
  }

  std::string names(const std::vector<ValueId>& ids, bool types) const {
    std::string text;
    for (const ValueId id : ids) {
      if (!text.empty()) text += ", ";
      text += types && graph_.values.contains(id) ? typed(id, ": ") : name(id);
    }
    return text;
  }

  void print_node(NodeId id) {
    const Node& node = graph_.nodes[id];
    text_ += names(node.outputs, true) + " = " + std::string(to_string(node.op)) + "(" +
             input_names(node) + ")";
    if (!node.attributes.empty()) {
      std::string attributes;
      for (const auto& [key, value] : node.attributes) {
        if (!attributes.empty()) attributes += ", ";
        attributes += name_text(key) + " = " + std::visit(AttributeText{}, value);
      }
      text_ += " {" + attributes + "}";
    }
    if (!node.epilogue.empty()) text_ += " then " + activation_text(node.epilogue.activation);
    text_ += " @" + name_text(node.name) + "\n";
    if (depth_ >= kMaxNesting) return;
    for (const auto& body : node.bodies) {
      if (body != nullptr)
        text_ += "body\n" + indented(Printer(*body, symbols_, depth_ + 1).run()) + "end\n";
    }
  }

  /// Captures stand behind a semicolon.
  std::string input_names(const Node& node) const {
    const auto own = node.inputs.end() -
                     static_cast<std::ptrdiff_t>(std::min(node.captures, node.inputs.size()));
    const std::string text = names({node.inputs.begin(), own}, false);
    return own == node.inputs.end() ? text : text + "; " + names({own, node.inputs.end()}, false);
  }

  static std::string indented(std::string_view text) {
    std::string result;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      result += "  " + std::string(text.substr(0, end)) + "\n";
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return result;
  }

  const Graph& graph_;
  const std::span<const std::string> outer_;
  const int depth_;
  std::vector<std::string> symbols_;
  std::string text_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

}  // namespace parallax
