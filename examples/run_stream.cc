// Runs a streaming model step by step. What it keeps from step to step, such as caches or the state
// of an LSTM, goes in and out of it as inputs and outputs, which are tied here. Inputs that are not
// tied are made up; the mean of each output is printed.
//
//     run_stream MODEL STEPS [INPUT=OUTPUT | SYMBOL=N ...]
#include <charconv>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "parallax/elements.h"
#include "parallax/state.h"

namespace {

struct Arguments {
  std::vector<parallax::Tie> ties;
  std::vector<parallax::DimValue> dims;
};

// What stands behind '=' is a number or the name of an output.
Arguments read(int count, char** texts) {
  Arguments arguments;
  for (int i = 0; i < count; ++i) {
    const char* text = texts[i];
    const char* equals = std::strchr(text, '=');
    if (equals == nullptr) continue;
    const char* end = equals + std::strlen(equals);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(equals + 1, end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end)
      arguments.dims.push_back({std::string(text, equals), number});
    else
      arguments.ties.push_back({std::string(text, equals), std::string(equals + 1, end)});
  }
  return arguments;
}

bool is_tied(const std::vector<parallax::Tie>& ties, const std::string& input) {
  for (const parallax::Tie& tie : ties)
    if (tie.input == input) return true;
  return false;
}

double mean(const parallax::TensorView& view) {
  double sum = 0;
  for (std::int64_t i = 0; i < view.dims.elements(); ++i)
    sum += parallax::read_element<double>(view.dtype, view.bytes.data(), i);
  return sum / static_cast<double>(view.dims.elements());
}

parallax::Status run(const std::string& path, int steps, const Arguments& arguments) {
  auto model = parallax::Model::load(path);
  if (!model) return tl::unexpected(model.error());
  auto session = parallax::Session::create(*model);
  if (!session) return tl::unexpected(session.error());
  auto dims = session->input_dims(arguments.dims);
  if (!dims) return tl::unexpected(dims.error());
  auto state = parallax::State::create(*session, arguments.ties);
  if (!state) return tl::unexpected(state.error());

  std::vector<parallax::Tensor> tensors;
  std::vector<parallax::NamedInput> inputs;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const parallax::TensorInfo& info = model->inputs()[i];
    auto tensor = parallax::Tensor::allocate(info.dtype, (*dims)[i]);
    if (!tensor) return tl::unexpected(tensor.error());
    // Zeros of a size that is given here: keys and values that grow begin with none.
    if (is_tied(arguments.ties, info.name)) {
      if (auto status = state->set(info.name, tensor->view()); !status) return status;
      continue;
    }
    tensors.push_back(std::move(*tensor));
    inputs.push_back({info.name, tensors.back().view()});
  }
  for (int step = 0; step < steps; ++step) {
    for (parallax::Tensor& tensor : tensors) {
      const parallax::MutableTensorView view = tensor.mutable_view();
      for (std::int64_t i = 0; i < view.dims.elements(); ++i)
        parallax::write_element(view.dtype, static_cast<double>((step + i) % 2), view.bytes.data(),
                                i);
    }
    auto outputs = session->run(inputs, {.state = &*state});
    if (!outputs) return tl::unexpected(outputs.error());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const parallax::TensorView view = (*outputs)[i].view();
      if (view.bytes.empty()) continue;  // tied: the state has it
      std::cout << step << ' ' << model->outputs()[i].name << ' ' << mean(view) << '\n';
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 0;
  if (argc >= 3) std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), steps);
  if (steps <= 0) {
    std::cerr << "usage: run_stream MODEL STEPS [INPUT=OUTPUT | SYMBOL=N ...]\n";
    return 2;
  }
  const auto status = run(argv[1], steps, read(argc - 3, argv + 3));
  if (status) return 0;
  std::cerr << "run_stream: " << status.error().to_string() << '\n';
  return 1;
}
