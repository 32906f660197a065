// Files next to the model that hold bytes of its tensors. The name of such a file is relative and
// has no "..": its text stays inside the model's folder. Links are followed if they end in the
// folder or in ExternalFolders::linked, and only regular files are read. Thread-safety: not
// thread-safe; one per load.
//
// The account of the load grows by the bytes that tensors name, each byte once, and for each file
// by at most what the system stores of it, whatever names it has: a file may be far larger than
// what a model uses of it, and sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files/mapped_file.h"
#include "base/shared_bytes.h"
#include "ir/load_quota.h"

namespace parallax {

/// Which bytes of a file tensors name.
class NamedBytes {
 public:
  /// How many of [begin, end) none named before. O(log n) on average.
  std::int64_t add(std::uint64_t begin, std::uint64_t end);

 private:
  std::map<std::uint64_t, std::uint64_t> end_of_;  ///< keyed by begin; the ranges are disjoint
};

/// Folders of external files.
struct ExternalFolders {
  std::filesystem::path own;          ///< the model's; empty: every external tensor is refused
  std::filesystem::path linked = {};  ///< ModelBytes::linked_folder
};

/// The place of a tensor's bytes.
struct ExternalLocation {
  std::string_view path;               ///< file, relative to the model's folder
  std::int64_t offset = 0;             ///< not negative
  std::optional<std::int64_t> length;  ///< as the model states it; must be what is read
};

class ExternalFiles {
 public:
  /// `quota` outlives this.
  ExternalFiles(ExternalFolders folders, LoadQuota& quota)
      : folders_(std::move(folders)), quota_(quota) {}

  /// Returns the `size` bytes at a location; each file is mapped once. Errors: kInvalidModel for a
  /// location that contradicts the file or `size`, and for paths that may leave the folder;
  /// kUnsupported if there is no folder; kIo.
  Result<SharedBytes> read(const ExternalLocation& location, std::int64_t size);
  /// All that were opened.
  std::vector<NamedFile> files() const;

 private:
  /// Account of a file, whatever names it has.
  struct Account {
    std::int64_t not_counted = 0;  ///< stored bytes that were not counted yet; holes do not count
    NamedBytes named = {};
  };
  struct OpenFile {
    std::shared_ptr<const MappedFile> file;
    std::shared_ptr<const void> owner;  ///< owner of the file, marked as weights
    Account* account = nullptr;
  };
  /// Device, inode, size and time of modification: some file systems number files badly.
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;

  Result<OpenFile*> open(std::vector<std::string> components);

  ExternalFolders folders_;
  LoadQuota& quota_;
  std::map<std::vector<std::string>, OpenFile> files_;
  std::map<FileKey, Account> accounts_;
};

/// The external file of that name. Errors: as ExternalFiles::read.
Result<std::shared_ptr<const MappedFile>> open_external(const ExternalFolders& folders,
                                                        std::string_view name);

}  // namespace parallax
