#include "delegates/cores/cores_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/machine/cpu.h"
#include "base/status.h"
#include "cost/kernel_seconds.h"
#include "device/profile_toml.h"
#include "kernels/registry.h"
#include "ops/op.h"

namespace parallax {
namespace {

constexpr int kMaxThreads = 256;
/// From a region's start until its first kernel runs: a sleeping thread is woken.
constexpr double kWakeSeconds = 2e-5;
/// Nothing is copied, and this is what a core reads anyway.
constexpr double kBytesPerSecond = 1e12;

tl::unexpected<Error> refuse_text(std::string message) {
  return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, {}, std::move(message)});
}

/// Returns all canonical operators that have kernels.
std::map<OpKind, OperatorLimits> all_operators() {
  std::map<OpKind, OperatorLimits> result;
  OperatorLimits limits;
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].bits >= 8) limits.dtypes.push_back(static_cast<DType>(i));
  for (const KernelRow& row : kernel_rows())
    if (!op_def(row.op).internal && !op_def(row.op).control_flow) result.emplace(row.op, limits);
  return result;
}

std::string quoted(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
  return list;
}

std::string limits_text(std::string_view op, const OperatorLimits& limits) {
  std::vector<std::string> dtypes;
  for (const DType dtype : limits.dtypes) dtypes.emplace_back(info_of(dtype).text);
  std::string text = fmt::format("[delegate.limits.{}]\ndtypes = [{}]\nmax_rank = {}\n", op,
                                 quoted(dtypes), limits.max_rank);
  for (const AttributeLimit& limit : limits.attributes) {
    text += fmt::format("[delegate.limits.{}.attributes.{}]\n", op, limit.name);
    if (limit.min) text += fmt::format("min = {:.17g}\n", *limit.min);
    if (limit.max) text += fmt::format("max = {:.17g}\n", *limit.max);
    if (!limit.one_of.empty()) text += fmt::format("one_of = [{}]\n", quoted(limit.one_of));
  }
  return text;
}

std::string profile_text(const CoresOptions& options, std::int64_t memory_bytes,
                         bool dynamic_shapes, const std::map<OpKind, OperatorLimits>& operators) {
  std::vector<std::string> own, bridges;
  std::string limits;
  for (const auto& [op, limit] : operators) {
    (limit.bridge ? bridges : own).emplace_back(to_string(op));
    limits += limits_text(to_string(op), limit);
  }
  const double core = kMeasuredCore.macs_per_second;
  const int others = std::max(1, usable_cpus() - options.threads);
  return fmt::format(
      "name = \"cores\"\n[delegate]\nname = \"cores\"\nlaunch_seconds = {}\nmacs_per_second = {}\n"
      "bytes_per_second = {}\ncpu_macs_per_second = {}\nmemory_bytes = {}\n"
      "images = \"channels_last\"\ndynamic_shapes = {}\ndtypes = []\noperators = [{}]\n"
      "bridges = [{}]\n{}",
      kWakeSeconds, options.threads * core, kBytesPerSecond, others * core, memory_bytes,
      dynamic_shapes, quoted(own), quoted(bridges), limits);
}

}  // namespace

Result<CoresOptions> parse_cores_options(const std::string& text) {
  CoresOptions options;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    at = end + 1;
    int threads = 0;
    const auto [last, error] = std::from_chars(item.data(), item.data() + item.size(), threads);
    if (error != std::errc{} || last != item.data() + item.size()) {
      if (!options.profile.empty() || item.empty())
        return refuse_text(fmt::format("'{}' is not a number of threads and a profile", text));
      options.profile = item;
    } else if (threads < 1 || threads > kMaxThreads) {
      return refuse_text(fmt::format("{} threads, there may be 1 to {}", threads, kMaxThreads));
    } else {
      options.threads = threads;
    }
  }
  return options;
}

Result<std::string> describe_cores(const CoresOptions& options) {
  const std::int64_t memory = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  if (options.profile.empty()) return profile_text(options, memory, true, all_operators());
  PX_ASSIGN(const DeviceProfile profile, load_profile(options.profile));
  if (!profile.delegate)
    return refuse_text(fmt::format("'{}' describes a device without a delegate", options.profile));
  return profile_text(options, profile.delegate->memory_bytes, profile.delegate->dynamic_shapes,
                      profile.delegate->operators);
}

}  // namespace parallax
