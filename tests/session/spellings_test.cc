// What exporters write for one operator: tests/spellings has graphs, and which operators are left
// of each. Their outputs are those of the canonical graph on the reference kernels.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "parallax/session.h"
#include "session/numbers_test_util.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

struct Spelling {
  std::string name, operators, graph;
};

void PrintTo(const Spelling& spelling, std::ostream* out) { *out << spelling.name; }

/// "## NAME -> OPERATORS" and a graph, again and again.
std::vector<Spelling> spellings_in(const std::filesystem::path& path) {
  std::vector<Spelling> spellings;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      const std::size_t arrow = line.find(" -> ");
      if (arrow == std::string::npos) throw std::runtime_error(path.string() + ": " + line);
      spellings.push_back(
          {path.stem().string() + ": " + line.substr(3, arrow - 3), line.substr(arrow + 4), ""});
    } else if (!spellings.empty()) {
      spellings.back().graph += line + "\n";
    }
  }
  return spellings;
}

std::vector<Spelling> all_spellings() {
  std::vector<std::filesystem::path> files;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(PX_SOURCE_DIR) + "/tests/spellings"))
    files.push_back(file.path());
  std::ranges::sort(files);
  std::vector<Spelling> all;
  for (const auto& file : files)
    for (Spelling& spelling : spellings_in(file)) all.push_back(std::move(spelling));
  return all;
}

/// "MatMul+bias Conv[Relu]".
std::string operators_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    if (!text.empty()) text += " ";
    text += to_string(node.op);
    if (node.op == OpKind::kMatMul && node.inputs.size() > 2) text += "+bias";
  }
  return text;
}

class Spellings : public testing::TestWithParam<Spelling> {};

TEST_P(Spellings, BecomeOneOperatorThatGivesTheSame) {
  const Model model = unchained_model_of(GetParam().graph);
  EXPECT_EQ(operators_of(impl_of(model).graph()), GetParam().operators);
  auto session = Session::create(model, {.threads = 2});
  auto oracle = Session::create(model, {.threads = 1, .kernels = Kernels::kReference});
  ASSERT_TRUE(session && oracle);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const auto special :
       {std::optional<float>{}, std::optional(-0.0F), std::optional(kInf), std::optional(-kInf),
        std::optional(std::numeric_limits<float>::quiet_NaN())}) {
    std::vector<Tensor> tensors;
    std::vector<NamedInput> inputs;
    for (const TensorInfo& info : model.inputs()) {
      Dims dims;
      for (const Dimension& dim : info.shape) dims.push_back(dim.symbol.empty() ? dim.value : 5);
      tensors.push_back(test_input(info.dtype, dims, tensors.empty() ? special : std::nullopt,
                                   false, static_cast<unsigned>(tensors.size())));
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
      inputs.push_back({model.inputs()[i].name, tensors[i].view()});
    const auto got = session->run(inputs), wanted = oracle->run(inputs);
    ASSERT_TRUE(got) << got.error().to_string();
    ASSERT_TRUE(wanted) << wanted.error().to_string();
    for (std::size_t i = 0; i < wanted->size(); ++i)
      EXPECT_EQ(problem((*got)[i], (*wanted)[i], false, true), "") << special.value_or(1);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Spellings, testing::ValuesIn(all_spellings()), [](const auto& row) {
  std::string name;
  for (const char c : row.param.name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
});

}  // namespace
}  // namespace parallax
