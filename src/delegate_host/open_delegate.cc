#include "delegate_host/open_delegate.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/c_types.h"
#include "base/status.h"
#include "delegate_host/answers.h"
#include "delegate_host/c_region.h"
#include "device/profile_toml.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse_table(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kPartition, code, {}, std::move(message)});
}

bool may_be_named(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

std::string text_of(const char* text) {
  constexpr std::size_t kLongestText = 256;
  return one_line(text, kLongestText);
}

/// Returns the name of a missing function; empty if all are there.
std::string_view missing_function(const px_delegate& table) {
  if (table.open == nullptr) return "open";
  if (table.close == nullptr) return "close";
  if (table.describe == nullptr) return "describe";
  if (table.compile == nullptr) return "compile";
  if (table.bind == nullptr) return "bind";
  if (table.run == nullptr) return "run";
  if (table.unbind == nullptr) return "unbind";
  if (table.discard == nullptr) return "discard";
  return {};
}

void write_log(void* context, std::int32_t level, const char* line) {
  const Logger& log = *static_cast<const Logger*>(context);
  try {
    const std::string text = text_of(line);
    if (level > 0) {
      log.warn(text);
    } else {
      log.info(text);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): no line is worth an end
  }
}

Error of_delegate(const OpenDelegate& opened, Error error) {
  error.stage = Stage::kPartition;
  error.message = fmt::format("delegate '{}': {}", opened.spec, error.message);
  return error;
}

/// Stores the delegate's description in `opened`.
Status describe(OpenDelegate& opened) {
  const px_delegate& table = opened.functions();
  px_description given{};
  given.size = sizeof given;
  PX_RETURN_IF_ERROR(call_delegate(
      [&](px_status* status) { return table.describe(opened.device, &given, status); }));
  opened.device_name = text_of(given.device);
  opened.driver = text_of(given.driver);
  opened.memory = given.memory;
  if (given.profile == nullptr) return refuse_table(ErrorCode::kInvalidInput, "no description");
  PX_ASSIGN(opened.profile, parse_profile(given.profile, "its description"));
  if (!opened.profile.delegate)
    return refuse_table(ErrorCode::kInvalidInput, "its description has no [delegate]");
  if (given.memory != PX_MEMORY_HOST && given.memory != PX_MEMORY_DEVICE)
    return refuse_table(ErrorCode::kInvalidInput, fmt::format("memory of kind {}", given.memory));
  if (given.in_host_memory != 0 && given.in_host_memory != 1)
    return refuse_table(ErrorCode::kInvalidInput,
                        fmt::format("in_host_memory is {}, not 0 or 1", given.in_host_memory));
  opened.in_host_memory = given.memory == PX_MEMORY_HOST || given.in_host_memory == 1;
  if (given.storage != 0 && given.storage != PX_FLOAT32 && given.storage != PX_FLOAT16)
    return refuse_table(ErrorCode::kInvalidInput, fmt::format("storage of type {}", given.storage));
  opened.stores_half = given.storage == PX_FLOAT16;
  const bool copies = table.allocate != nullptr && table.release != nullptr &&
                      table.write != nullptr && table.read != nullptr;
  if (given.memory == PX_MEMORY_DEVICE && !copies)
    return refuse_table(ErrorCode::kInvalidInput,
                        "memory of its own without allocate, release, write and read");
  return {};
}

}  // namespace

Result<DelegateTable> check_table(const px_delegate* table, const std::string& file) {
  const std::string where = file.empty() ? "a built-in delegate" : fmt::format("'{}'", file);
  if (table == nullptr)
    return refuse_table(ErrorCode::kUnsupported, fmt::format("{}: no delegate here", where));
  auto given = of_this_version(table);
  if (!given || table->size < offsetof(px_delegate, abi) + sizeof(table->abi))
    return refuse_table(ErrorCode::kInvalidInput, fmt::format("{}: a table without a size", where));
  if (given->abi != PX_DELEGATE_ABI)
    return refuse_table(ErrorCode::kUnsupported,
                        fmt::format("{} is for version {} of delegate.h, this is version {}", where,
                                    given->abi, PX_DELEGATE_ABI));
  DelegateTable result{*given, text_of(given->name), file};
  if (!may_be_named(result.name))
    return refuse_table(
        ErrorCode::kInvalidInput,
        fmt::format("{}: a delegate may not have the name '{}'", where, result.name));
  if (const std::string_view missing = missing_function(result.functions); !missing.empty())
    return refuse_table(
        ErrorCode::kInvalidInput,
        fmt::format("{}: delegate '{}' has no function {}", where, result.name, missing));
  return result;
}

Result<DelegateTable> load_delegate_library(const std::string& file) {
  // A name without a slash would be looked for in the system's folders.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // glibc's text is the thread's own.
    const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    return refuse_table(ErrorCode::kIo, fmt::format("'{}' does not load: {}", file,
                                                    text_of(why == nullptr ? "no reason" : why)));
  }
  void* const symbol = ::dlsym(library, PX_DELEGATE_ENTRY);
  if (symbol == nullptr) {
    (void)::dlclose(library);
    return refuse_table(ErrorCode::kIo,
                        fmt::format("'{}' has no function " PX_DELEGATE_ENTRY, file));
  }
  // From now on its code may run at any time: it is never unloaded.
  const auto entry = reinterpret_cast<px_delegate_entry_function>(symbol);
  return check_table(entry(), file);
}

OpenDelegate::OpenDelegate(const DelegateTable& table_in, std::string wanted, Logger log_in)
    : table(table_in), spec(std::move(wanted)), log(std::move(log_in)) {}

OpenDelegate::~OpenDelegate() {
  if (device != nullptr && is_here()) functions().close(device);
}

Result<std::shared_ptr<const OpenDelegate>> open_delegate(const DelegateTable& table,
                                                          const std::string& spec,
                                                          const std::string& cache_folder,
                                                          const Logger& log) {
  const std::shared_ptr<OpenDelegate> opened(
      new OpenDelegate(table, spec, log),
      [](const OpenDelegate* old) { destroy_outside_answers([old] { delete old; }); });
  const auto colon = spec.find(':');
  const std::string text = colon == std::string::npos ? "" : spec.substr(colon + 1);
  const px_open_options options = {sizeof options, text.c_str(),
                                   cache_folder.empty() ? nullptr : cache_folder.c_str(), write_log,
                                   const_cast<Logger*>(&opened->log)};
  void* device = nullptr;
  Status done = call_delegate(
      [&](px_status* status) { return opened->functions().open(&options, &device, status); });
  if (done && device == nullptr)
    done = refuse_table(ErrorCode::kInvalidInput, "it returned no device");
  if (done) {
    opened->device = device;
    done = describe(*opened);
  }
  if (!done) return tl::unexpected(of_delegate(*opened, std::move(done).error()));
  return opened;
}

std::string refusal_of_node(const OpenDelegate& opened, const Graph& graph,
                            const ConcreteShapes& shapes, NodeId node) {
  // A child of fork() leaves all regions to the CPU.
  if (opened.table.functions.supports == nullptr || !opened.is_here()) return {};
  const auto region = CRegion::of_node(graph, node);
  const auto sizes = CSizes::of_node(graph, shapes, *region);
  Status answer;
  {
    const MutexLock turn(opened.asking);
    answer = call_delegate([&](px_status* status) {
      return opened.functions().supports(opened.device, &region->get(), &sizes->get(), status);
    });
  }
  if (answer) return {};
  const Error& error = answer.error();
  if (error.code == ErrorCode::kUnsupported) return error.message;
  return fmt::format("the delegate failed when asked: {}", error.message);
}

}  // namespace parallax
