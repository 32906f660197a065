// Serves several models on one runtime: starts a run of each, on inputs of zeros, without waiting
// for it, and prints the outputs' shapes as they come. Cancels what is not done after a number of
// seconds.
//
//     serve_models THREADS SECONDS MODEL...
#include <charconv>
#include <chrono>
#include <cstring>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "parallax/session.h"

namespace {

using Outputs = parallax::Result<std::vector<parallax::Tensor>>;

// What one model's run needs, for as long as it runs.
struct Service {
  std::string path;
  std::vector<parallax::TensorInfo> infos;  // hold the names of the inputs
  std::vector<parallax::Tensor> tensors;
  std::vector<parallax::NamedInput> inputs;
  std::future<Outputs> outputs;
  std::optional<parallax::Session> session;  // goes first, and waits for its run
};

parallax::Status start(Service& service, const parallax::Runtime& runtime, std::stop_token stop) {
  auto model = parallax::Model::load(service.path);
  if (!model) return tl::unexpected(model.error());
  auto session = parallax::Session::create(*model, {}, runtime);
  if (!session) return tl::unexpected(session.error());
  service.session.emplace(std::move(*session));
  std::vector<parallax::DimValue> dims;
  for (const std::string& symbol : model->symbols()) dims.push_back({symbol, 1});
  auto shapes = service.session->input_dims(dims);
  if (!shapes) return tl::unexpected(shapes.error());
  service.infos = model->inputs();
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    auto tensor = parallax::Tensor::allocate(service.infos[i].dtype, (*shapes)[i]);
    if (!tensor) return tl::unexpected(tensor.error());
    service.tensors.push_back(std::move(*tensor));
  }
  for (std::size_t i = 0; i < shapes->size(); ++i)
    service.inputs.push_back({service.infos[i].name, service.tensors[i].view()});
  auto outputs = service.session->run_async(service.inputs, {.stop = std::move(stop)});
  if (!outputs) return tl::unexpected(outputs.error());
  service.outputs = std::move(*outputs);
  return {};
}

bool fail(const Service& service, const parallax::Error& error) {
  std::cerr << "serve_models: " << service.path << ": " << error.to_string() << '\n';
  return false;
}

bool print(const Service& service, const Outputs& outputs) {
  if (!outputs) return fail(service, outputs.error());
  std::cout << service.path;
  for (const parallax::Tensor& tensor : *outputs) std::cout << ' ' << tensor.dims().to_string();
  std::cout << '\n';
  return true;
}

bool serve(const parallax::Runtime& runtime, std::chrono::seconds limit,
           std::vector<Service>& services) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::stop_source all;
  bool well = true;
  for (Service& service : services) {
    const auto started = start(service, runtime, all.get_token());
    if (!started) well = fail(service, started.error());
  }
  for (Service& service : services) {
    if (!service.outputs.valid()) continue;
    if (service.outputs.wait_until(until) == std::future_status::timeout) all.request_stop();
    well &= print(service, service.outputs.get());
  }
  return well;
}

// -1 for what is no number.
int number(const char* text) {
  int value = -1;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, value);
  return read.ec == std::errc() && read.ptr == end ? value : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || number(argv[1]) < 0 || number(argv[2]) < 0) {
    std::cerr << "usage: serve_models THREADS SECONDS MODEL...\n";
    return 2;
  }
  auto runtime = parallax::Runtime::create({.threads = number(argv[1])});
  if (!runtime) {
    std::cerr << "serve_models: " << runtime.error().to_string() << '\n';
    return 1;
  }
  std::vector<Service> services(static_cast<std::size_t>(argc - 3));
  for (std::size_t i = 0; i < services.size(); ++i) services[i].path = argv[i + 3];
  return serve(*runtime, std::chrono::seconds(number(argv[2])), services) ? 0 : 1;
}
