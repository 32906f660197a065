// Reads the text form of a graph, statement by statement.
#include <fmt/core.h>

#include <charconv>
#include <memory>
#include <unordered_map>

#include "base/status.h"
#include "ir/text/constant_reader.h"
#include "ir/text/text.h"

namespace parallax {
namespace {

/// Parses statement after statement into one graph. Values are known by name.
class Parser : private ConstantReader {
 public:
  /// `around`: the parser of the graph whose node the body belongs to; it outlives this one.
  explicit Parser(const Parser* around = nullptr) : around_(around) {}

  /// Whether `text` is the word alone.
  static bool is_alone(std::string_view text, std::string_view word) {
    const auto tokens = tokens_of(text);
    return tokens && tokens->size() == 2 && (*tokens)[0].is_word(word);
  }
  Status add_body(Graph body) {
    if (graph_.nodes.empty()) return syntax_error("a body without a node");
    graph_.nodes[NodeId{static_cast<std::int32_t>(graph_.nodes.size()) - 1}].bodies.push_back(
        std::make_shared<const Graph>(std::move(body)));
    return {};
  }

  Status line(std::string_view text) {
    PX_RETURN_IF_ERROR(begin(text));
    if (peek().kind == Kind::kEnd) return {};
    PX_RETURN_IF_ERROR(statement());
    if (peek().kind != Kind::kEnd) return syntax_error("unexpected '" + peek().text + "'");
    return {};
  }

  Graph take() { return std::move(graph_); }

 private:
  Status statement() {
    if (accept_word("graph")) {
      PX_ASSIGN(graph_.name, name());
      return {};
    }
    if (accept_word("symbols")) return symbols(SymbolKind::kInput);
    if (accept_word("data_symbols")) return symbols(SymbolKind::kData);
    if (accept_word("outer_symbols")) return outer_symbols();
    if (accept_word("input")) return input();
    if (accept_word("const")) return constant();
    if (accept_word("symbolic")) return symbolic();
    if (accept_word("output")) return outputs();
    return node();
  }

  Status symbols(SymbolKind kind) {
    while (peek().kind != Kind::kEnd) {
      PX_ASSIGN(const std::string text, name());
      if (symbols_.contains(text)) return syntax_error("symbol '" + text + "' exists");
      symbols_[text] = graph_.symbols.push_back(Symbol{text, kind});
    }
    return {};
  }

  /// seq "mine" = theirs
  Status outer_symbols() {
    while (peek().kind != Kind::kEnd) {
      PX_ASSIGN(const std::string text, name());
      std::string outer = text;
      if (accept("=")) {
        PX_ASSIGN(outer, name());
      }
      if (around_ == nullptr) return syntax_error("no graph is around this one");
      const auto found = around_->symbols_.find(outer);
      if (found == around_->symbols_.end())
        return syntax_error("unknown symbol '" + outer + "' outside");
      if (symbols_.contains(text)) return syntax_error("symbol '" + text + "' exists");
      const SymbolKind kind = around_->graph_.symbols[found->second].kind;
      symbols_[text] = graph_.symbols.push_back(Symbol{text, kind, found->second});
    }
    return {};
  }

  Result<ValueId> define(Value value) {
    if (values_.contains(value.name)) return syntax_error("value '" + value.name + "' exists");
    const std::string text = value.name;
    return values_[text] = graph_.values.push_back(std::move(value));
  }

  std::optional<Container> containers() {
    Container container;
    while (true) {
      if (accept_word("sequence")) {
        container.types.push_back(ObjectType::kSequence);
      } else if (accept_word("optional")) {
        container.types.push_back(ObjectType::kOptional);
      } else if (const bool strings = peek().is_word("map_string");
                 strings || peek().is_word("map_i64")) {
        (void)next();
        container.types.push_back(ObjectType::kMap);
        container.key = strings ? DType::kString : DType::kI64;
      } else {
        break;
      }
    }
    if (container.types.empty()) return std::nullopt;
    return container;
  }

  /// Reads the description of the tensors in a container: `[2, _]`, `any` or `none`.
  Status tensors(Container& container) {
    if (accept_word("none")) return {};
    container.filled = true;
    if (accept_word("any")) return {};
    container.dims.emplace();
    PX_RETURN_IF_ERROR(expect("["));
    while (!accept("]")) {
      if (!container.dims->empty()) PX_RETURN_IF_ERROR(expect(","));
      container.dims->push_back(-1);
      if (accept_word("_")) continue;
      PX_ASSIGN(const Expr dim, sum(0));
      container.dims->back() = dim.constant().value_or(-1);
    }
    return {};
  }

  /// f32 [batch, 3]; sequence f32 [_, 3]
  Status type(Value& value) {
    auto container = containers();
    PX_ASSIGN(value.dtype, dtype());
    if (container) {
      PX_RETURN_IF_ERROR(tensors(*container));
      value.container = std::make_shared<const Container>(*std::move(container));
      return {};
    }
    PX_ASSIGN(value.shape, exprs());
    if (value.shape.size() > static_cast<std::size_t>(Dims::kMaxRank))
      return syntax_error("rank above 8");
    return {};
  }

  /// `NAME TYPE`
  Result<Value> typed_name(ValueKind kind) {
    Value value;
    value.kind = kind;
    PX_ASSIGN(value.name, name());
    PX_RETURN_IF_ERROR(type(value));
    return value;
  }

  Status input() {
    PX_ASSIGN(Value value, typed_name(ValueKind::kInput));
    PX_ASSIGN(const ValueId id, define(std::move(value)));
    graph_.inputs.push_back(id);
    return {};
  }

  Status constant() {
    PX_ASSIGN(Value value, typed_name(ValueKind::kConstant));
    PX_RETURN_IF_ERROR(expect("="));
    PX_ASSIGN(value.constant, elements(value.dtype, value.shape));
    return discard(define(std::move(value)));
  }

  Status symbolic() {
    PX_ASSIGN(Value value, typed_name(ValueKind::kSymbolic));
    PX_RETURN_IF_ERROR(expect("="));
    PX_ASSIGN(value.content, exprs());
    return discard(define(std::move(value)));
  }

  static Status discard(const Result<ValueId>& result) {
    if (!result) return tl::unexpected(result.error());
    return {};
  }

  Status outputs() {
    do {
      PX_ASSIGN(const ValueId id, use());
      if (!id.valid()) return syntax_error("an output needs a name");
      graph_.outputs.push_back(id);
    } while (accept(","));
    return {};
  }

  /// A value that exists, or the invalid id for `_`.
  Result<ValueId> use() {
    if (accept_word("_")) return ValueId{};
    PX_ASSIGN(const std::string text, name());
    const auto found = values_.find(text);
    if (found == values_.end()) return syntax_error("unknown value '" + text + "'");
    return found->second;
  }

  Status node() {
    const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
    Node node;
    std::vector<Value> results;
    do {
      Value value;
      value.producer = id;
      if (!accept_word("_")) {
        PX_ASSIGN(value.name, name());
        if (accept(":")) PX_RETURN_IF_ERROR(type(value));
      }
      results.push_back(std::move(value));
    } while (accept(","));
    PX_RETURN_IF_ERROR(expect("="));
    PX_RETURN_IF_ERROR(call(node));
    node.name = fmt::format("{}_{}", to_string(node.op), id.value);
    if (accept("@")) {
      PX_ASSIGN(node.name, name());
    }
    if (!node_names_.emplace(node.name, id).second)
      return syntax_error("node '" + node.name + "' exists");
    for (Value& value : results) {
      if (value.name.empty()) {
        node.outputs.push_back(ValueId{});
        continue;
      }
      PX_ASSIGN(const ValueId output, define(std::move(value)));
      node.outputs.push_back(output);
    }
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  /// MatMul(x, w) {axis = 1} then Relu
  Status call(Node& node) {
    PX_ASSIGN(const std::string op, name());
    const auto kind = op_from_string(op);
    if (!kind) return syntax_error("unknown operator '" + op + "'");
    node.op = *kind;
    PX_RETURN_IF_ERROR(expect("("));
    bool captures = false;
    while (!accept(")")) {
      if (!captures && accept(";")) {
        captures = true;
      } else if (!node.inputs.empty()) {
        PX_RETURN_IF_ERROR(expect(","));
      }
      PX_ASSIGN(const ValueId value, use());
      node.inputs.push_back(value);
      if (captures) ++node.captures;
    }
    PX_RETURN_IF_ERROR(attributes(node));
    return accept_word("then") ? activation(node.epilogue.activation) : Status();
  }

  Status attributes(Node& node) {
    if (!accept("{")) return {};
    while (!accept("}")) {
      if (!node.attributes.empty()) PX_RETURN_IF_ERROR(expect(","));
      PX_ASSIGN(std::string key, name());
      PX_RETURN_IF_ERROR(expect("="));
      PX_ASSIGN(AttributeValue value, attribute());
      node.attributes.set(std::move(key), std::move(value));
    }
    return {};
  }

  /// Clip {low = 0.0, high = 6.0}
  Status activation(Activation& activation) {
    PX_ASSIGN(const std::string op, name());
    const auto kind = op_from_string(op);
    if (!kind || !is_activation(*kind)) return syntax_error("unknown activation '" + op + "'");
    activation.op = *kind;
    if (!accept("{")) return {};
    for (bool first = true; !accept("}"); first = false) {
      if (!first) PX_RETURN_IF_ERROR(expect(","));
      PX_ASSIGN(const std::string key, name());
      PX_RETURN_IF_ERROR(expect("="));
      PX_ASSIGN(const std::string text, number());
      bool known = false;
      for_each_parameter(activation, [&](std::string_view parameter, float& value) {
        if (parameter != key) return;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        known = code == std::errc{} && end == text.data() + text.size();
      });
      if (!known) return syntax_error(fmt::format("no parameter '{} = {}'", key, text));
    }
    return {};
  }

  Result<AttributeValue> attribute() {
    if (peek().kind == Kind::kQuoted) return AttributeValue(next().text);
    if (peek().is("[")) {
      PX_ASSIGN(auto ints, numbers<std::int64_t>());
      return AttributeValue(std::move(ints));
    }
    if (accept_word("floats")) {
      PX_ASSIGN(auto floats, numbers<float>());
      return AttributeValue(std::move(floats));
    }
    if (accept_word("strings")) {
      PX_ASSIGN(auto strings, texts());
      return AttributeValue(std::move(strings));
    }
    if (accept_word("tensor")) {
      PX_ASSIGN(const DType element_type, dtype());
      PX_ASSIGN(const Shape shape, exprs());
      PX_ASSIGN(Constant tensor, elements(element_type, shape));
      return AttributeValue(std::move(tensor));
    }
    PX_ASSIGN(const std::string text, number());
    if (const auto value = number_in<std::int64_t>(text)) return AttributeValue(*value);
    float value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) {
      return syntax_error("bad number '" + text + "'");
    }
    return AttributeValue(value);
  }

  const Parser* const around_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, NodeId> node_names_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) {
  // A graph and the bodies that are open in it. Pointers stay: each parser refers to the one
  // around.
  std::vector<std::unique_ptr<Parser>> parsers;
  parsers.push_back(std::make_unique<Parser>());
  const auto read = [&](std::string_view line) -> Status {
    if (Parser::is_alone(line, "body")) {
      if (parsers.size() > kMaxNesting) return syntax_error("bodies nested too deeply");
      parsers.push_back(std::make_unique<Parser>(parsers.back().get()));
      return {};
    }
    if (!Parser::is_alone(line, "end")) return parsers.back()->line(line);
    if (parsers.size() == 1) return syntax_error("'end' without 'body'");
    Graph body = parsers.back()->take();
    parsers.pop_back();
    return parsers.back()->add_body(std::move(body));
  };
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    if (auto status = read(text.substr(0, end)); !status) {
      Error failure = std::move(status).error();
      failure.message = fmt::format("line {}: {}", line, failure.message);
      return tl::unexpected(std::move(failure));
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  if (parsers.size() > 1) return syntax_error("a body without 'end'");
  return parsers.front()->take();
}

}  // namespace parallax
