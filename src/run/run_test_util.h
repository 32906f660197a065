// Helpers for tests that run graphs: inputs and outputs as vectors, everything else as Settings.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bind/bind.h"
#include "compile/compile_test_util.h"
#include "run/execute.h"

namespace parallax {

struct Settings {
  std::vector<std::optional<std::int64_t>> symbols = {};
  bool reference_only = true;
  std::optional<bool> parallel = {};  ///< nullopt: true if there are several threads
  int threads = 1;
  std::optional<std::int64_t> budget = {};
  std::int64_t max_trips = 1000;
  RunTrace* trace = nullptr;
  std::optional<std::chrono::nanoseconds> time_limit = {};
  Scheduler scheduler = Scheduler::kDataflow;
  std::int64_t* peak = nullptr;  ///< receives the most bytes held
  /// The budget of the rest of the run, read before every branch.
  std::function<RunBudget()> budget_later = {};
  std::stop_token stop = {};
  Device* device = nullptr;
  const Logger* log = nullptr;
  std::shared_ptr<const void> lease_owner = nullptr;
  std::chrono::nanoseconds region_time{0};
  bool* late = nullptr;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& elements) {
  std::vector<std::byte> bytes(elements.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}
using Inputs = std::vector<std::vector<std::byte>>;

template <class T>
std::vector<T> values(const Tensor& tensor) {
  const T* data = tensor.view().as<T>();
  return {data, data + tensor.dims().elements()};
}
inline std::vector<float> floats(const Tensor& tensor) { return values<float>(tensor); }

inline Result<std::shared_ptr<const Program>> program_of(
    const std::shared_ptr<GraphContext>& context, const Settings& settings) {
  Binding binding{settings.symbols};
  binding.symbols.resize(context->graph.symbols.size());
  PX_ASSIGN(auto compiled, compile(context, binding, {settings.reference_only}));
  PX_ASSIGN(auto bound, make_bound(std::move(compiled)));
  PX_RETURN_IF_ERROR(bind(*bound));
  return lay_out(std::move(bound), {settings.parallel.value_or(settings.threads > 1),
                                    settings.threads, settings.budget});
}

inline Result<std::vector<Tensor>> run(const Program& program, WorkerPool& pool, RunMemory& memory,
                                       const Inputs& inputs, const Settings& settings) {
  std::vector<const std::byte*> pointers;
  for (const auto& input : inputs) pointers.push_back(input.data());
  std::vector<Tensor> outputs(program.compiled().graph().outputs.size());
  const PlaceOutput place = [&](int i, DType dtype, const Dims& dims) -> Result<std::byte*> {
    Tensor& tensor = outputs[static_cast<std::size_t>(i)];
    PX_ASSIGN(tensor, Tensor::allocate(dtype, dims));
    return tensor.mutable_view().bytes.data();
  };
  PX_ASSIGN(RunMemory::Lease lease, memory.acquire({program.bytes, settings.budget,
                                                    program.compiled().has_run_time_nodes}));
  ExecuteOptions options;
  options.poison = settings.trace == nullptr;
  options.trace = settings.trace;
  options.scheduler = settings.scheduler;
  options.max_loop_trips = settings.max_trips;
  options.deadline.stop = settings.stop;
  if (settings.time_limit)
    options.deadline.time = std::chrono::steady_clock::now() + *settings.time_limit;
  options.device = settings.device;
  options.log = settings.log;
  options.lease_owner = settings.lease_owner;
  options.region_time = settings.region_time;
  options.late = settings.late;
  std::optional<BudgetWatch> watch;
  if (settings.budget_later) {
    watch.emplace(lease, settings.budget_later, true, std::chrono::nanoseconds(0));
    options.watch = &*watch;
  }
  PX_RETURN_IF_ERROR(execute(program, pointers, place, pool, lease, options));
  return outputs;
}

inline Result<std::vector<Tensor>> run(const std::shared_ptr<GraphContext>& context,
                                       const Inputs& inputs, const Settings& settings = {}) {
  PX_ASSIGN(const auto program, program_of(context, settings));
  WorkerPool pool(settings.threads);
  RunMemory memory;
  auto outputs = run(*program, pool, memory, inputs, settings);
  if (settings.peak != nullptr) *settings.peak = memory.peak_bytes();
  return outputs;
}

/// Runs twice: the second run reuses the block of the first.
inline Result<std::vector<Tensor>> run_twice(const std::shared_ptr<GraphContext>& context,
                                             const Inputs& inputs, const Settings& settings) {
  PX_ASSIGN(const auto program, program_of(context, settings));
  WorkerPool pool(settings.threads);
  RunMemory memory;
  PX_RETURN_IF_ERROR(run(*program, pool, memory, inputs, settings));
  auto outputs = run(*program, pool, memory, inputs, settings);
  if (settings.peak != nullptr) *settings.peak = memory.peak_bytes();
  return outputs;
}

inline const std::vector<std::byte> kYes{std::byte{1}}, kNo{std::byte{0}};

}  // namespace parallax
