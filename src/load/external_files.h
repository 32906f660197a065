// Files next to the model that hold bytes of its tensors. The name of such a file is relative and
// has no "..": its text stays inside the model's folder. Links are followed if they end in the
// folder or in ExternalFolders::linked, and only regular files are read. Thread-safety: not
// thread-safe; one per load.
//
// The account of the load grows by the bytes that tensors name, each byte once, and for each file
// by at most what the system stores of it, whatever names it has: a file may be far larger than
// what a model uses of it, and sparse.
//
// Called by the ONNX loader for tensors whose data_location is EXTERNAL. TFLite models with bytes
// in other files are refused. Text of a path: slashes separate folders; empty parts and "." are
// dropped; colons and backslashes are plain characters. Each part is opened in turn without
// following links, so that the file that was checked is the file that is opened. Opening never
// waits: a FIFO or a folder is refused with kInvalidModel.
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
  /// How many of [begin, end) none named before. O(log n) on average. Units: bytes from the
  /// beginning of the file. Returns 0 if begin >= end. Memory grows with the number of disjoint
  /// ranges; ranges that touch become one.
  std::int64_t add(std::uint64_t begin, std::uint64_t end);

 private:
  std::map<std::uint64_t, std::uint64_t> end_of_;  ///< keyed by begin; the ranges are disjoint
};

/// Folders of external files. A model of bytes in memory has neither, unless its caller gives them.
struct ExternalFolders {
  std::filesystem::path own;  ///< the model's; empty: every external tensor is refused
  /// ModelBytes::linked_folder: a link may also end directly in this folder, not below it. Empty:
  /// links must end inside `own`. A cache of downloads (a folder of blobs that links point to)
  /// needs it.
  std::filesystem::path linked = {};
};

/// The place of a tensor's bytes. `path` points into the model file, which must stay while the
/// location is in use.
struct ExternalLocation {
  std::string_view path;               ///< file, relative to the model's folder
  std::int64_t offset = 0;             ///< not negative
  std::optional<std::int64_t> length;  ///< as the model states it; must be what is read
};

/// The files that a load has opened, each mapped read-only. The mappings end when this object and
/// every SharedBytes that it returned are gone.
class ExternalFiles {
 public:
  /// `quota` outlives this.
  ExternalFiles(ExternalFolders folders, LoadQuota& quota)
      : folders_(std::move(folders)), quota_(quota) {}

  /// Returns the `size` bytes at a location; each file is mapped once. Errors: kInvalidModel for a
  /// location that contradicts the file or `size`, and for paths that may leave the folder;
  /// kUnsupported if there is no folder; kIo. REQUIRES: location.offset >= 0, location.path is not
  /// empty, size >= 0. The bytes may begin at any address: nothing aligns an offset.
  /// SharedBytes::owner keeps the mapping alive, so the bytes outlive this object. kInvalidModel
  /// also names a file that is a Git LFS pointer or another foreign file; kIo covers a missing file
  /// and one without permission. The quota grows only on success, by LoadQuota::allow_weights().
  /// Bytes are not read here: a page is first read by the operator that uses it.
  Result<SharedBytes> read(const ExternalLocation& location, std::int64_t size);
  /// All that were opened. Sorted by the parts of their paths. A name is the path with "." and
  /// empty parts dropped; two names of one file are listed twice.
  std::vector<NamedFile> files() const;

 private:
  /// Account of a file, whatever names it has. `named` and `not_counted` together make the
  /// allowance the smaller of the bytes that tensors name and the bytes that the file system
  /// stores.
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

  /// Returns the open file of that path; opens it first if no tensor named it before. The pointer
  /// stays valid for the life of this object.
  Result<OpenFile*> open(std::vector<std::string> components);

  ExternalFolders folders_;
  LoadQuota& quota_;
  std::map<std::vector<std::string>, OpenFile> files_;
  std::map<FileKey, Account> accounts_;
};

/// The external file of that name. Errors: as ExternalFiles::read. Also kInvalidModel for an empty
/// name. Maps the file again, also if it is open elsewhere; charges no quota. Used for files that
/// NamedFile lists.
Result<std::shared_ptr<const MappedFile>> open_external(const ExternalFolders& folders,
                                                        std::string_view name);

}  // namespace parallax
