#include "machine.h"

#include <commit.h>
#include <sys/utsname.h>

#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "parallax/session.h"

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

nlohmann::json machine_json() {
  return {{"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"instruction_set", Session::instruction_set()}};
}

nlohmann::json commit_json() {
  const std::string_view commit = kCommit;
  return commit.empty() ? nlohmann::json() : nlohmann::json(commit);
}

}  // namespace parallax::cli
