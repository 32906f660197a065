// `parallax info`: what a model holds, whether it can run or not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "files/pb_objects.h"
#include "inputs/known_inputs.h"
#include "options/example.h"
#include "parallax/model.h"
#include "reports/info_metadata.h"
#include "reports/info_need.h"
#include "reports/info_sections.h"
#include "reports/machine.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

// The file, and what became of it where it could be loaded.
struct Info {
  FileReport file;
  std::optional<Model> model;
  std::optional<Error> problem;  // why it was not loaded
  std::vector<UnsupportedNode> unsupported;
  std::optional<Need> need;  // nullopt if no values of its dimensions are known
  std::string command;       // that runs it; empty if there is no need
};

Info look_at(const Options& options, FileReport file) {
  Info info{std::move(file), std::nullopt, std::nullopt, {}, std::nullopt, {}};
  auto model = load_model(options, false);
  if (!model) {
    info.problem = model.error();
    if (info.problem->code == ErrorCode::kUnsupported) {
      LoadOptions load = options.load;
      load.inputs = known_inputs(options, model);
      info.unsupported = Model::check(options.model, load).value_or(info.unsupported);
    }
    return info;
  }
  auto need = need_of(options, *model);
  if (!need) {
    info.problem = need.error();
  } else if (*need) {
    info.need = **std::move(need);
    info.command = "parallax run " + shell_word(options.model);
    if (!options.load.section.empty())
      info.command += " --section " + shell_word(options.load.section);
    if (!options.load.signature.empty())
      info.command += " --signature " + shell_word(options.load.signature);
    info.command += dim_options(info.need->dims);
  }
  info.model = *std::move(model);
  return info;
}

// Shapes of a loaded model say more: outputs often have none in a file.
std::vector<FileTensor> tensors(const std::vector<FileTensor>& file,
                                const std::vector<TensorInfo>& loaded) {
  if (loaded.empty()) return file;
  std::vector<FileTensor> result;
  for (const TensorInfo& info : loaded) {
    result.push_back({info.name, type_text(info), info.shape});
    if (!info.containers.empty()) result.back().shape.reset();
  }
  return result;
}

std::vector<FileTensor> inputs_of(const Info& info) {
  auto inputs =
      tensors(info.file.inputs, info.model ? info.model->inputs() : std::vector<TensorInfo>());
  for (const FileTensor& input : info.file.inputs)
    if (input.has_default &&
        std::ranges::find(inputs, input.name, &FileTensor::name) == inputs.end())
      inputs.push_back(input);
  return inputs;
}

std::vector<FileTensor> outputs_of(const Info& info) {
  return tensors(info.file.outputs, info.model ? info.model->outputs() : std::vector<TensorInfo>());
}

std::string shape_text(const FileTensor& tensor) {
  if (!tensor.shape) return "of unknown rank";
  std::vector<std::string> dims;
  for (const Dimension& dim : *tensor.shape) {
    dims.push_back(dim.value >= 0 ? std::to_string(dim.value)
                                  : (dim.symbol.empty() ? "?" : dim.symbol));
  }
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

std::string qualified(const FileOperator& op) {
  return op.domain.empty() ? op.name : fmt::format("{} ({})", op.name, op.domain);
}

/// Operators of a format without operator sets become others, which have the kernels.
std::string kernels_text(const FileReport& file, const FileOperator& op) {
  if (!op.supported) return "NOT SUPPORTED";
  if (file.opsets.empty()) return "";
  return op.kernels.empty() ? "needs none" : fmt::format("{}", fmt::join(op.kernels, ", "));
}

std::string quantization_text(const FileQuantization& quantized) {
  if (quantized.scales.empty()) return "";
  if (quantized.scales.size() > 1) return fmt::format(", scales along axis {}", quantized.axis);
  return fmt::format(", scale {}, zero point {}", quantized.scales[0], quantized.zero_points[0]);
}

void print_tensors(const std::string& what, const std::vector<FileTensor>& list) {
  fmt::print("\n{}\n", what);
  std::size_t width = 0;
  for (const FileTensor& tensor : list) width = std::max(width, tensor.name.size());
  for (const FileTensor& tensor : list) {
    fmt::print("  {:<{}}  {} {}{}{}\n", tensor.name, std::min<std::size_t>(width, 40),
               tensor.type.empty() ? "no tensor type" : tensor.type, shape_text(tensor),
               quantization_text(tensor.quantization), tensor.has_default ? ", has a default" : "");
  }
}

void print_signatures(const FileReport& file) {
  for (const FileSignature& signature : file.signatures) {
    print_tensors(fmt::format("signature '{}', inputs", signature.name), signature.inputs);
    print_tensors(fmt::format("signature '{}', outputs", signature.name), signature.outputs);
  }
}

FileWeights all_weights(const FileReport& file) {
  FileWeights all;
  for (const FileWeights& weights : file.weights) {
    all.tensors += weights.tensors;
    all.parameters += weights.parameters;
    all.bytes += weights.bytes;
  }
  return all;
}

void print_weights(const FileReport& file) {
  const auto text = [](const FileWeights& w) {
    return fmt::format("{} parameters in {} tensors, {} bytes ({})", w.parameters, w.tensors,
                       w.bytes, format_bytes(w.bytes));
  };
  fmt::print("weights: {}\n", text(all_weights(file)));
  if (file.weights.size() < 2) return;
  for (const FileWeights& weights : file.weights)
    fmt::print("  {:<8}  {}\n", weights.type, text(weights));
}

void print_operators(const FileReport& file) {
  fmt::print("\n{} nodes\n{:>7}  {:<28}  {}\n", file.nodes, "count", "operator",
             file.opsets.empty() ? "" : "kernels, in order of preference");
  for (const FileOperator& op : file.operators)
    fmt::print("{:>7}  {:<28}  {}\n", op.count, qualified(op), kernels_text(file, op));
}

void print_bodies(const FileReport& file) {
  if (file.bodies.empty()) return;
  fmt::print("\ncontrol flow\n");
  for (const FileBody& body : file.bodies) {
    fmt::print("{:{}}{} '{}', {}: {} nodes\n", "", 2 * body.depth, body.op, body.node, body.body,
               body.nodes);
  }
}

std::string qualified(const UnsupportedNode& node) {
  return node.domain.empty() ? node.op : fmt::format("{} ({})", node.op, node.domain);
}

// Nodes of operators that print_operators() shows as missing are there too: this names them.
void print_unsupported(const std::vector<UnsupportedNode>& nodes) {
  constexpr std::size_t kMost = 20;
  if (nodes.empty()) return;
  fmt::print("\nnodes that cannot run\n");
  for (std::size_t i = 0; i < std::min(nodes.size(), kMost); ++i) {
    fmt::print("  {} '{}': {}\n", qualified(nodes[i]), nodes[i].node, nodes[i].reason);
  }
  if (nodes.size() > kMost) fmt::print("  ... and {} more\n", nodes.size() - kMost);
}

void print_what_runs(const Info& info) {
  fmt::print("\nmachine: {}\n", machine_text());
  if (info.problem) {
    fmt::print("\ncannot run: {}\n", info.problem->to_string());
    print_unsupported(info.unsupported);
    return;
  }
  fmt::print("\n{} nodes are left after constants are folded and operators fused\n",
             info.model->nodes());
  if (!info.model->symbols().empty())
    fmt::print("free dimensions: {}\n", fmt::join(info.model->symbols(), ", "));
  if (!info.need) {
    fmt::print(
        "kernels and memory of a run are not known: give each free dimension a value with --dim; "
        "none of the usual sizes fits\n");
    return;
  }
  print_need(*info.need);
  fmt::print("\nto run it: {}\n", info.command);
}

void print(const Options& options, const Info& info) {
  const FileReport& file = info.file;
  std::vector<std::string> opsets;  // those that nodes use
  for (const auto& [domain, version] : file.opsets) {
    if (std::ranges::find(file.operators, domain, &FileOperator::domain) != file.operators.end())
      opsets.push_back(fmt::format("{} {}", domain.empty() ? "ai.onnx" : domain, version));
  }
  fmt::print("{}: {}, {} version {}{}{}\n", options.model, file.format,
             file.opsets.empty() ? "schema" : "IR", file.format_version,
             file.opsets.empty() ? "" : ", operator sets ", fmt::join(opsets, ", "));
  print_sections(file);
  print_metadata(file.metadata);
  print_weights(file);
  print_tensors("inputs", inputs_of(info));
  print_tensors("outputs", outputs_of(info));
  print_signatures(file);
  print_operators(file);
  print_bodies(file);
  print_what_runs(info);
}

// A container of which no model is chosen: its sections are all that can be said.
Status show_sections(const Options& options, const FileReport& file) {
  if (options.json != "-") {
    fmt::print("{}: {}\n", options.model, file.container);
    print_sections(file);
    print_choice(file, options.model);
  }
  if (options.json.empty()) return {};
  return write_json(
      options.json,
      {{"model", options.model}, {"container", file.container}, {"sections", sections_json(file)}});
}

nlohmann::json tensors_json(const std::vector<FileTensor>& tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (const FileTensor& tensor : tensors) {
    nlohmann::json shape;  // null
    if (tensor.shape) {
      shape = nlohmann::json::array();
      for (const Dimension& dim : *tensor.shape)
        shape.push_back(dim.value >= 0 ? nlohmann::json(dim.value) : nlohmann::json(dim.symbol));
    }
    list.push_back({{"name", tensor.name}, {"type", tensor.type}, {"shape", shape}});
    const FileQuantization& quantized = tensor.quantization;
    if (!quantized.scales.empty())
      list.back()["quantization"] = {{"scales", quantized.scales},
                                     {"zero_points", quantized.zero_points},
                                     {"axis", quantized.axis}};
  }
  return list;
}

nlohmann::json signatures_json(const FileReport& file) {
  nlohmann::json list = nlohmann::json::array();
  for (const FileSignature& signature : file.signatures)
    list.push_back({{"name", signature.name},
                    {"inputs", tensors_json(signature.inputs)},
                    {"outputs", tensors_json(signature.outputs)}});
  return list;
}

nlohmann::json operators_json(const FileReport& file) {
  nlohmann::json list = nlohmann::json::array();
  for (const FileOperator& op : file.operators) {
    list.push_back({{"domain", op.domain.empty() ? "ai.onnx" : op.domain},
                    {"operator", op.name},
                    {"opset", op.opset},
                    {"nodes", op.count},
                    {"supported", op.supported},
                    {"kernels", op.kernels}});
  }
  return list;
}

nlohmann::json bodies_json(const FileReport& file) {
  nlohmann::json list = nlohmann::json::array();
  for (const FileBody& body : file.bodies) {
    list.push_back({{"node", body.node},
                    {"operator", body.op},
                    {"body", body.body},
                    {"depth", body.depth},
                    {"nodes", body.nodes}});
  }
  return list;
}

nlohmann::json unsupported_json(const std::vector<UnsupportedNode>& nodes) {
  nlohmann::json list = nlohmann::json::array();
  for (const UnsupportedNode& node : nodes) {
    list.push_back({{"node", node.node},
                    {"operator", node.op},
                    {"domain", node.domain.empty() ? "ai.onnx" : node.domain},
                    {"reason", node.reason}});
  }
  return list;
}

nlohmann::json weights_json(const FileReport& file) {
  nlohmann::json list = nlohmann::json::array();
  for (const FileWeights& weights : file.weights) {
    list.push_back({{"type", weights.type},
                    {"tensors", weights.tensors},
                    {"parameters", weights.parameters},
                    {"bytes", weights.bytes}});
  }
  return list;
}

nlohmann::json to_json(const Options& options, const Info& info) {
  const FileReport& file = info.file;
  const FileWeights all = all_weights(file);
  nlohmann::json opsets;
  for (const auto& [domain, version] : file.opsets)
    opsets[domain.empty() ? "ai.onnx" : domain] = version;
  nlohmann::json json = {{"model", options.model},
                         {"container", file.container},
                         {"sections", sections_json(file)},
                         {"format", file.format},
                         {"format_version", file.format_version},
                         {"opsets", opsets},
                         {"metadata", metadata_json(file.metadata)},
                         {"inputs", tensors_json(inputs_of(info))},
                         {"outputs", tensors_json(outputs_of(info))},
                         {"signatures", signatures_json(file)},
                         {"nodes", file.nodes},
                         {"operators", operators_json(file)},
                         {"bodies", bodies_json(file)},
                         {"weights", weights_json(file)},
                         {"parameters", all.parameters},
                         {"parameter_bytes", all.bytes},
                         {"machine", machine_json()},
                         {"unsupported_nodes", unsupported_json(info.unsupported)},
                         {"problem", info.problem ? info.problem->to_string() : ""}};
  if (!info.model) return json;
  json["nodes_after_passes"] = info.model->nodes();
  json["free_dimensions"] = info.model->symbols();
  json["command"] = info.command;
  json["need"] = info.need ? need_json(*info.need) : nlohmann::json();
  return json;
}

}  // namespace

Status info_command(const Options& options) {
  auto file = inspect_file(options.model, options.load.section);
  if (!file) return tl::unexpected(file.error());
  if (file->format.empty()) return show_sections(options, *file);
  const Info info = look_at(options, *std::move(file));
  if (options.json != "-") print(options, info);
  if (!options.json.empty()) {
    if (auto status = write_json(options.json, to_json(options, info)); !status) return status;
  }
  // An unsupported model was shown, which is all that was asked for; a damaged one is an error.
  const bool shown = !info.problem || info.problem->code == ErrorCode::kUnsupported;
  return shown ? Status{} : tl::unexpected(*info.problem);
}

}  // namespace parallax::cli
