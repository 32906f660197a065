#include "reports/machine.h"

#include <commit.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "parallax/model.h"
#include "parallax/session.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

// "model name : AMD EPYC 9654". Arm's kernels do not give one.
std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    if (line.starts_with("model name") && value != std::string::npos) return line.substr(value);
  }
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace

std::string machine_text() {
  const MachineReport machine = inspect_machine();
  return fmt::format(
      "{}, {} with vectors of {} bytes; caches: {} and {} of a core, {} in the last level",
      cpu_model(), Session::instruction_set(), machine.vector_bytes, format_bytes(machine.l1_bytes),
      format_bytes(machine.l2_bytes), format_bytes(machine.last_bytes));
}

nlohmann::json machine_json() {
  const MachineReport machine = inspect_machine();
  return {{"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"instruction_set", Session::instruction_set()},
          {"vector_bytes", machine.vector_bytes},
          {"cache_bytes",
           {{"l1", machine.l1_bytes}, {"l2", machine.l2_bytes}, {"last", machine.last_bytes}}}};
}

nlohmann::json commit_json() {
  const std::string_view commit = kCommit;
  return commit.empty() ? nlohmann::json() : nlohmann::json(commit);
}

}  // namespace parallax::cli
