// An open delegate: its functions, its device and its description. Built-in delegates and those of
// shared objects are treated alike.
//
// A delegate's data is checked: a table of another version or without a required function, a name
// that no option could contain, and a description that parse_profile() rejects, are errors of one
// line, with stage kPartition.
//
// Thread-safe: immutable, but for the lock of questions about nodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/lock_order.h"
#include "base/log.h"
#include "base/machine/fork.h"
#include "base/mutex.h"
#include "device/support.h"
#include "parallax/delegate.h"
#include "parallax/result.h"

namespace parallax {

/// The functions of a delegate, checked. Only optional functions are null.
struct DelegateTable {
  px_delegate functions;  ///< a copy; fields beyond its size are null
  std::string name;       ///< letters, digits, '-' and '_', at most 64
  std::string file;       ///< path of the shared object; empty: built in
};

/// Copies and checks a table. Errors: kUnsupported for null or another version of the ABI;
/// kInvalidInput if a required function is missing or the name is invalid. `file` is for messages
/// and DelegateTable::file.
Result<DelegateTable> check_table(const px_delegate* table, const std::string& file);
/// Loads a shared object, which is never unloaded. A name without a slash is a file of the current
/// folder. Errors: kIo if it does not load or has no px_delegate_entry; those of check_table().
/// Runs code of the library: load only files that the user named.
Result<DelegateTable> load_delegate_library(const std::string& file);

/// A device that a delegate has opened. The destructor closes it.
struct OpenDelegate {
  /// Opens nothing: open_delegate() does.
  OpenDelegate(const DelegateTable& table_in, std::string wanted, Logger log_in);
  /// Closes the device, unless this is a child of fork(), which must not call the delegate.
  ~OpenDelegate();
  OpenDelegate(const OpenDelegate&) = delete;
  OpenDelegate& operator=(const OpenDelegate&) = delete;

  const DelegateTable table;        ///< a copy of the checked table
  const std::string spec;           ///< the option that the user wrote: "cores:opencl-mobile"
  const Logger log;                 ///< receives messages of the delegate
  void* device = nullptr;           ///< the delegate's handle; null: opening failed
  std::string device_name, driver;  ///< for reports; at most 256 characters each
  DeviceProfile profile;            ///< `delegate` is always set
  px_memory_kind memory = PX_MEMORY_HOST;  ///< whether regions need copies of values
  bool in_host_memory = true;              ///< whether its memory counts in the host's budget
  bool stores_half = false;                ///< whether regions may store floats as f16

  /// Returns its limits, rates and operators.
  const Delegate& description() const { return *profile.delegate; }
  /// Returns the functions. REQUIRES: the thread holds no locks but turns.
  const px_delegate& functions() const {
    expect_only_turns();
    return table.functions;
  }
  /// Returns whether this process opened it: a child of fork() has none of its threads and must not
  /// call it.
  bool is_here() const { return process == process_number(); }

  const std::uint64_t process = process_number();  ///< process_number() of the opener
  mutable Mutex asking{LockOrder::kAsking};        ///< held during calls of supports
};

/// Asks the device about a node: px_delegate::supports. Returns the reason why it refuses the node,
/// one line; empty: it runs it, or it has no such function. A failed call counts as a refusal.
/// Calls about one device wait for each other. REQUIRES: the thread holds no locks but turns.
std::string refusal_of_node(const OpenDelegate& opened, const Graph& graph,
                            const ConcreteShapes& shapes, NodeId node);

/// Opens `table` with the text after the colon of `spec`. `cache_folder`: where the delegate may
/// keep files; empty: nowhere. Messages of the delegate go to `log`. Errors, with the delegate's
/// name: those of the delegate; kInvalidInput for an invalid description.
Result<std::shared_ptr<const OpenDelegate>> open_delegate(const DelegateTable& table,
                                                          const std::string& spec,
                                                          const std::string& cache_folder,
                                                          const Logger& log);

}  // namespace parallax
