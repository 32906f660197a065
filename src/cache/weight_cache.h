// Packed weights that outlive the process, and the graph that needs them: one file per model in a
// folder that the user names, mapped, so that processes share its memory.
//
// A block is found by what its bytes depend on: the contents of the file that the weights lie in,
// their place in it (or, for weights that were computed, their own contents) and the layout. All
// blocks of a file are from one model and one `version`; a file of another is replaced. The hash of
// a model's contents is taken once, 25 ms for 265 MB; later it is known by the file's identity
// unless it was written to a moment before.
//
// A snapshot is found by a name that says under which options it was made. It is good as long as
// the model's file and all others that it was made from have the same contents. Nothing is written
// after one of them has changed: the bytes of its map are others then, and so is their hash.
//
// Thread-safe. Nothing here fails: what cannot be read or written is said in stats().
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/mutex.h"
#include "cache/block_file.h"
#include "cache/hash.h"
#include "cache/snapshot.h"
#include "parallax/report.h"

namespace parallax {

class WeightCache {
 public:
  struct Options {
    std::filesystem::path folder;
    std::filesystem::path model;  ///< its name is part of the cache file's name; others lie beside
    std::string machine;          ///< the instruction set: a part of the name too
    std::string version;          ///< of the code that makes snapshots and packs
  };
  /// Opens the cache of the model whose main file is `main`, or begins an empty one.
  WeightCache(Options options, std::shared_ptr<const MappedFile> main);

  /// Opens a file of a snapshot, by its name.
  using OpenFile = std::function<Result<std::shared_ptr<const MappedFile>>(const std::string&)>;
  /// The snapshot of that name, its bytes and constants in the map of the cache's file. Nothing
  /// where there is none, or where one of its files is another now.
  std::optional<Snapshot> snapshot(const std::string& name, const OpenFile& open);
  /// What was made instead, or without a cache's help: the next save() writes it. Either this or
  /// snapshot() comes before what follows, and tells the constants that do not lie in a file.
  void keep_snapshot(const std::string& name, Snapshot snapshot);
  /// The user should know: a snapshot was not what it should be.
  void report_problem(const std::string& problem);

  /// The packing `layout` of the weights at `source`, `bytes` long; nothing where the file does not
  /// have it.
  std::optional<SharedBytes> find(const std::byte* source, const std::string& layout,
                                  std::int64_t bytes);
  /// Whether that is as fast to read as memory in large pages; if not, large blocks are better
  /// copied.
  bool in_large_pages() const;
  /// What was packed instead: save() writes it. Weights of no known constant are left out.
  void keep(const std::byte* source, const std::string& layout, SharedBytes packed);
  /// Writes the file anew where a snapshot or more than an eighth of the file is new; less is
  /// packed again by the next process, so that a file is not written for each new shape.
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

  void open() PX_REQUIRES(mutex_);
  void add_problem(const std::string& problem) PX_REQUIRES(mutex_);
  bool is_of_this_model(const BlockFile& file) PX_REQUIRES(mutex_);
  /// By address and length.
  using ComputedHashes = std::map<std::pair<const std::byte*, std::size_t>, Hash128>;

  std::optional<Place> place_of(const std::byte* source) const PX_REQUIRES(mutex_);
  Hash128 key_of(const Place& place, const std::string& layout) PX_REQUIRES(mutex_);
  Hash128 content_of(const FileIdentity& identity, std::span<const std::byte> file)
      PX_REQUIRES(mutex_);
  Hash128 content_of(std::span<const std::byte> computed) PX_REQUIRES(mutex_);
  bool find_constants(const SnapshotRecord& record, std::vector<SharedBytes>& constants,
                      ComputedHashes& hashes) const PX_REQUIRES(mutex_);
  bool is_unchanged(const std::vector<std::pair<std::string, Hash128>>& files, const OpenFile& open,
                    std::vector<NamedFile>& opened) PX_REQUIRES(mutex_);
  bool files_are_unchanged() const PX_REQUIRES(mutex_);
  void add_snapshot() PX_REQUIRES(mutex_);
  BlockFile contents() PX_REQUIRES(mutex_);
  void write() PX_REQUIRES(mutex_);

  const Options options_;
  const std::filesystem::path path_;
  const std::shared_ptr<const MappedFile> main_;
  const std::filesystem::path folder_;  ///< of the model, wherever the process goes

  mutable Mutex mutex_;
  std::vector<std::pair<std::string, FileIdentity>> files_ PX_GUARDED_BY(mutex_);  // beside main_
  std::vector<SharedBytes> computed_ PX_GUARDED_BY(mutex_);                        // by address
  // What the first of blocks_ point into.
  std::shared_ptr<const MappedFile> file_ PX_GUARDED_BY(mutex_);
  std::vector<SourceFile> known_ PX_GUARDED_BY(mutex_);  // what the file says of its sources
  std::vector<Source> sources_ PX_GUARDED_BY(mutex_);    // those of this process
  ComputedHashes computed_hashes_ PX_GUARDED_BY(mutex_);
  // Of the file, and those that were written to it.
  std::map<Hash128, SharedBytes> blocks_ PX_GUARDED_BY(mutex_);
  std::optional<std::pair<std::string, Snapshot>> unsaved_snapshot_ PX_GUARDED_BY(mutex_);
  std::vector<Packed> unsaved_ PX_GUARDED_BY(mutex_);
  std::int64_t unsaved_bytes_ PX_GUARDED_BY(mutex_) = 0, saved_bytes_ PX_GUARDED_BY(mutex_) = 0;
  bool in_large_pages_ PX_GUARDED_BY(mutex_) = false;
  CacheReport report_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
