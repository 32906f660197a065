// A delegate that is open: its table, its device and what it says of itself. Built-in delegates and
// those of shared objects are the same from here on.
//
// What a delegate says is checked: a table of another version or without a function that it needs,
// a name that no option could give, and a description that the reader of profiles refuses, are
// errors of one line, stage kPartition.
//
// Thread-safe: immutable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fork.h"
#include "base/lock_order.h"
#include "base/log.h"
#include "device/profile.h"
#include "parallax/delegate.h"
#include "parallax/result.h"

namespace parallax {

/// A delegate's table, checked. Null functions are those that it may leave out.
struct DelegateTable {
  px_delegate functions;
  std::string name;
  std::string file;  ///< of the shared object; empty: built in
};

/// Errors: kUnsupported for another version of the ABI, kInvalidInput for a table that lacks
/// something. `file` is for messages and for DelegateTable::file.
Result<DelegateTable> check_table(const px_delegate* table, const std::string& file);
/// The table of a shared object, which stays loaded until the process ends. Errors: kIo where it
/// does not load or has no px_delegate_entry; as check_table().
Result<DelegateTable> load_delegate_library(const std::string& file);

struct OpenDelegate {
  OpenDelegate(const DelegateTable& table_in, std::string wanted, Logger log_in);
  ~OpenDelegate();
  OpenDelegate(const OpenDelegate&) = delete;
  OpenDelegate& operator=(const OpenDelegate&) = delete;

  const DelegateTable table;
  const std::string spec;  ///< what the user wrote: "cores:opencl-mobile"
  const Logger log;
  void* device = nullptr;  ///< null: it did not open
  std::string device_name, driver;
  DeviceProfile profile;
  px_memory_kind memory = PX_MEMORY_HOST;
  bool in_host_memory = true;  ///< what it holds counts in the host's budget
  bool stores_half = false;    ///< floats, in regions that ask for no more

  const Delegate& description() const { return *profile.delegate; }
  /// REQUIRES: the thread holds no lock but turns.
  const px_delegate& functions() const {
    expect_unlocked();
    return table.functions;
  }
  /// Whether it was opened by this process: a child of fork() has none of its threads.
  bool is_here() const { return process == process_number(); }

  const std::uint64_t process = process_number();
};

/// Opens `table` with the text behind the colon of `spec`. Errors: of the delegate, with its name;
/// kInvalidInput for a description that makes no sense.
Result<std::shared_ptr<const OpenDelegate>> open_delegate(const DelegateTable& table,
                                                          const std::string& spec,
                                                          const std::string& cache_folder,
                                                          const Logger& log);

}  // namespace parallax
