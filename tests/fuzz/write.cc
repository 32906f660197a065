#include "write.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "../../tools/parallax/files/npy.h"
#include "cache/block_file.h"
#include "ir/snapshot.h"
#include "load/containers/container_test_util.h"
#include "load/onnx/onnx.h"
#include "load/tflite_test_util.h"

namespace parallax::fuzz {

namespace {

constexpr const char* kStable[] = {"type", "shape", "elements"};

std::vector<std::string> names_of(const std::set<OpKind>& operators) {
  std::vector<std::string> names;
  for (const OpKind op : operators) names.emplace_back(to_string(op));
  return names;
}

void add_operators(const CaseGraph& graph, const std::set<std::string, std::less<>>& values,
                   std::set<OpKind>& operators) {
  for (const CaseNode& node : graph.nodes) {
    for (const std::string& output : node.outputs)
      if (values.contains(output)) operators.insert(node.op);
    for (const CaseGraph& body : node.bodies) add_operators(body, values, operators);
  }
}

/// The operators that an output descends from.
std::vector<std::string> names_behind(const CaseGraph& graph, std::size_t output) {
  std::set<OpKind> operators;
  add_operators(graph, values_behind(graph, graph.outputs[output]), operators);
  return names_of(operators);
}

}  // namespace

void write_case(const Case& fuzzed, const Outcome& outcome, const std::filesystem::path& folder) {
  const std::filesystem::path place = folder / std::to_string(fuzzed.seed);
  std::filesystem::create_directories(place);
  std::ofstream(place / "model.onnx", std::ios::binary) << onnx_bytes(fuzzed);
  std::map<OpKind, int> counts;
  count_operators(fuzzed.graph, counts);
  nlohmann::json json = {{"seed", fuzzed.seed}, {"opset", fuzzed.opset}};
  for (const auto& [op, count] : counts) json["operators"].push_back(to_string(op));
  if (outcome.refusal) json["refusal"] = outcome.refusal->to_string();
  json["runs"] = nlohmann::json::array();
  const auto write = [&](const std::string& name, const TensorView& tensor) {
    const auto written = cli::write_npy(place / name, tensor);
    return written ? name : std::string();
  };
  for (std::size_t run = 0; run < fuzzed.runs.size(); ++run) {
    nlohmann::json entry = {{"inputs", nlohmann::json::object()},
                            {"outputs", nlohmann::json::array()}};
    for (std::size_t i = 0; i < fuzzed.runs[run].size(); ++i) {
      const Constant& value = fuzzed.runs[run][i];
      const std::string& name = fuzzed.graph.inputs[i].name;
      entry["inputs"][name] =
          write(fmt::format("{}.{}.npy", run, name), {value.dtype, value.dims, value.bytes});
    }
    if (run < outcome.runs.size()) {
      const RunResult& result = outcome.runs[run];
      if (result.error) entry["error"] = result.error->to_string();
      for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        const std::string name = fmt::format("{}.output{}.npy", run, i);
        const Expected& expected = outcome.expected[run];
        entry["outputs"].push_back({{"file", write(name, result.outputs[i].view())},
                                    {"stable", kStable[static_cast<int>(expected.stable[i])]},
                                    {"operators", names_behind(fuzzed.graph, i)},
                                    {"open", names_of(expected.open[i])}});
      }
    }
    json["runs"].push_back(std::move(entry));
  }
  std::ofstream(place / "case.json") << json.dump(1) << '\n';
}

void write_corpus(const Case& fuzzed, const std::filesystem::path& folder) {
  const std::string name = std::to_string(fuzzed.seed);
  for (const char* format : {"onnx", "tflite", "container", "npy", "snapshot", "block_file"})
    std::filesystem::create_directories(folder / format);
  std::ofstream(folder / "tflite" / "example", std::ios::binary) << tflite_bytes(tflite_example());
  std::ofstream(folder / "container" / "task", std::ios::binary) << zip_bytes(
      {{"a", tflite_bytes(tflite_example())}, {.name = "b", .padding = 3, .wide = true}}, true);
  std::ofstream(folder / "container" / "litertlm", std::ios::binary)
      << litertlm_bytes({{.bytes = tflite_bytes(tflite_example()), .model_type = "a"},
                         {LitertlmType::SP_Tokenizer, "b"}});
  const std::string model = onnx_bytes(fuzzed);
  constexpr std::size_t kMaxBytes = 1 << 14;
  if (model.size() > kMaxBytes || fuzzed.graph.inputs.empty()) return;
  std::ofstream(folder / "onnx" / name, std::ios::binary) << model;
  const Constant& input = fuzzed.runs[0][0];
  (void)cli::write_npy(folder / "npy" / name, {input.dtype, input.dims, input.bytes});
  const auto bytes = std::as_bytes(std::span(model));
  const auto graph = load_onnx({bytes, nullptr, {}});
  if (!graph) return;
  const GraphSnapshot snapshot = snapshot_of(*graph);
  std::ofstream(folder / "snapshot" / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(snapshot.bytes.data()), std::ssize(snapshot.bytes));
  const BlockFile blocks{"version", {{}}, {{{1, 2}, bytes.first(64)}, {{3, 4}, input.bytes}}};
  (void)write_block_file(folder / "block_file" / name, blocks);
}

}  // namespace parallax::fuzz
