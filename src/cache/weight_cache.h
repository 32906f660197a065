// Packed weights that outlive the process: one file per model in a folder that the user names,
// mapped, so that processes share its memory.
//
// A block is found by what its bytes depend on: the contents of the file that the weights lie in,
// their place in it (or, for weights that were computed, their own contents) and the layout. All
// blocks of a file are from one model and one `version`; a file of another is replaced. The hash of
// a model's contents is taken once, 25 ms for 265 MB; later it is known by the file's identity
// unless it was written to a moment before.
//
// Thread-safe. Nothing here fails: what cannot be read or written is said in stats().
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "cache/block_file.h"
#include "cache/hash.h"
#include "parallax/report.h"

namespace parallax {

/// Memory that somebody owns, read only.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

class WeightCache {
 public:
  struct Options {
    std::filesystem::path folder;
    std::filesystem::path model;  ///< its name is part of the cache file's name
    std::string machine;          ///< the instruction set: a part of the name too
    std::string version;          ///< of the code that packs
  };
  /// Opens the cache of the model whose main file is `main`, or begins an empty one. `computed`:
  /// the bytes of constants that do not lie in a file.
  WeightCache(Options options, std::shared_ptr<const MappedFile> main,
              std::vector<SharedBytes> computed);

  /// The packing `layout` of the weights at `source`, `bytes` long; nothing where the file does not
  /// have it.
  std::optional<SharedBytes> find(const std::byte* source, const std::string& layout,
                                  std::int64_t bytes);
  /// Whether that is as fast to read as memory in large pages; if not, large blocks are better
  /// copied.
  bool in_large_pages() const;
  /// What was packed instead: save() writes it. Weights of no known constant are left out.
  void keep(const std::byte* source, const std::string& layout, SharedBytes packed);
  /// Writes the file anew where more than an eighth of it would be new; less is packed again by the
  /// next process, so that a file is not written for each new shape.
  void save();

  CacheReport report() const;

 private:
  /// Where weights lie: in a file, or in one of computed_.
  struct Place {
    std::optional<MappedPlace> file;
    std::span<const std::byte> computed;
    std::int64_t offset = 0;
  };
  struct Packed {
    Place place;
    std::string layout;
    SharedBytes bytes;
  };
  struct Source {
    SourceFile file;
    bool fresh = false;  ///< its identity does not tell whether it is written to again
  };

  void open();
  bool is_of_this_model(const BlockFile& file);
  std::optional<Place> place_of(const std::byte* source) const;
  Hash128 key_of(const Place& place, const std::string& layout);
  Hash128 content_of(const FileIdentity& identity, std::span<const std::byte> file);
  BlockFile contents();

  const Options options_;
  const std::filesystem::path path_;
  const std::shared_ptr<const MappedFile> main_;
  const std::vector<SharedBytes> computed_;  // by address

  mutable std::mutex mutex_;
  // All guarded by mutex_:
  std::shared_ptr<const MappedFile> file_;  // what the first of blocks_ point into
  std::vector<SourceFile> known_;           // what the file says of its sources
  std::vector<Source> sources_;             // those of this process
  std::map<const std::byte*, Hash128> computed_hashes_;
  std::map<Hash128, SharedBytes> blocks_;  // of the file, and those that were written to it
  std::vector<Packed> unsaved_;
  std::int64_t unsaved_bytes_ = 0, saved_bytes_ = 0;
  bool in_large_pages_ = false;
  CacheReport report_;
};

}  // namespace parallax
