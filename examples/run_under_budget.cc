// Runs any model once on made-up input, within a memory budget, and prints what the plan takes:
//
//     run_under_budget MODEL MEBIBYTES [SYMBOL=N ...]
#include <charconv>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "parallax/planner.h"
#include "parallax/session.h"

namespace {

int fail(const parallax::Error& error) {
  std::cerr << "run_under_budget: " << error.to_string() << '\n';
  return 1;
}

std::vector<parallax::DimValue> read_dims(int count, char** texts) {
  std::vector<parallax::DimValue> dims;
  for (int i = 0; i < count; ++i) {
    const char* text = texts[i];
    const char* equals = std::strchr(text, '=');
    if (equals == nullptr) continue;
    std::int64_t value = 0;
    std::from_chars(equals + 1, equals + std::strlen(equals), value);
    dims.push_back({std::string(text, equals), value});
  }
  return dims;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: run_under_budget MODEL MEBIBYTES [SYMBOL=N ...]\n";
    return 2;
  }
  std::int64_t mebibytes = 0;
  std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), mebibytes);
  const auto dims = read_dims(argc - 3, argv + 3);

  auto model = parallax::Model::load(argv[1]);
  if (!model) return fail(model.error());
  parallax::SessionOptions options;
  options.budget = parallax::MemoryBudget::of_bytes(mebibytes * 1024 * 1024);
  auto session = parallax::Session::create(*model, options);
  if (!session) return fail(session.error());
  auto plan =
      parallax::Planner(*session).plan(dims);  // an error here says how many bytes are missing
  if (!plan) return fail(plan.error());
  std::cout << plan->branches << " branches in " << plan->layers << " layers take "
            << plan->arena_bytes.parallax / 1024 << " KiB\n";

  auto shapes = session->input_dims(dims);
  if (!shapes) return fail(shapes.error());
  std::vector<parallax::Tensor> tensors;  // all zero: fine for any index, too
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    auto tensor = parallax::Tensor::allocate(model->inputs()[i].dtype, (*shapes)[i]);
    if (!tensor) return fail(tensor.error());
    tensors.push_back(std::move(*tensor));
  }
  std::vector<parallax::NamedInput> inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back({model->inputs()[i].name, tensors[i].view()});
  auto outputs = session->run(inputs);
  if (!outputs) return fail(outputs.error());
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    std::cout << model->outputs()[i].name << ' ' << (*outputs)[i].dims().to_string() << '\n';
  }
  std::cout << "at most " << session->peak_arena_bytes() / 1024 << " KiB were held, of "
            << mebibytes * 1024 << " allowed\n";
  return 0;
}
