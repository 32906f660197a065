// Packed weights that outlive the process, and the snapshot of the graph that needs them: one file
// per model in a folder that the user names, mapped, so that processes share its memory.
//
// The key of a block is all that its bytes depend on: the contents of the file with the weights,
// their place in it (or, for computed weights, their own contents) and the layout. All blocks of a
// file are from one model and one `version`; a file of another is replaced. Hashing a model takes
// 25 ms for 265 MB and is done once; later the file's identity stands for the hash, unless the file
// was written to a moment before. A model in memory is hashed at each load.
//
// The key of a snapshot is a name that states the options of the load. A snapshot is valid while
// the model's files have the contents that it was made from. After one of them has changed nothing
// is written, because the mapped bytes, and so their hash, are no longer those that were loaded.
//
// Thread-safe. Nothing here fails: report() states what could not be read or written.
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

#include "base/files/hash.h"
#include "base/files/mapped_file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/block_file.h"
#include "cache/model_source.h"
#include "cache/snapshot.h"
#include "parallax/report.h"

namespace parallax {

class WeightCache {
 public:
  struct Options {
    std::filesystem::path folder;
    std::string machine;  ///< the instruction set: a part of the cache file's name
    std::string version;  ///< of the code that makes snapshots and packs
    Logger log = {};      ///< gets each problem of the report
  };
  /// Opens the cache of the model that `main` holds, or begins an empty one.
  WeightCache(Options options, ModelSource main);

  /// Opens a file of a snapshot, by its name.
  using OpenFile = std::function<Result<std::shared_ptr<const MappedFile>>(const std::string&)>;
  /// The snapshot of that name; its bytes and constants lie in the map of the cache's file. Nothing
  /// if there is none, or if one of its files has changed.
  std::optional<Snapshot> snapshot(const std::string& name, const OpenFile& open);
  /// Takes a new snapshot; the next save() writes it. Either this or snapshot() must come before
  /// the functions below: it names the constants that lie in no file.
  void keep_snapshot(const std::string& name, Snapshot snapshot);
  /// Adds a problem with a snapshot to the report.
  void report_problem(const std::string& problem);
  /// From now on finds, keeps and writes nothing. `problem` goes into the report.
  void close(const std::string& problem);

  /// The packing `layout` of the weights at `source`, `bytes` long; nothing if the file does not
  /// have it.
  std::optional<SharedBytes> find(const std::byte* source, const std::string& layout,
                                  std::int64_t bytes);
  /// Whether reading the file is as fast as reading memory in large pages; if not, copy large
  /// blocks.
  bool in_large_pages() const;
  /// Takes new packed weights; save() writes them. Ignores weights of no known constant.
  void keep(const std::byte* source, const std::string& layout, SharedBytes packed);
  /// Rewrites the file if a snapshot or an eighth of its bytes is new. The next process packs less
  /// than that again, so that not every new shape rewrites the file.
  void save();

  CacheReport report() const;

 private:
  /// The inode of what is no file, or may have changed since.
  static constexpr std::uint64_t kNoFile = 0;

  /// The place of weights: in a file, or in one of computed_.
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
    bool fresh = false;  ///< a later write may leave its identity as it is
  };

  void open() PX_REQUIRES(mutex_);
  void add_problem(const std::string& problem) PX_REQUIRES(mutex_);
  void tell_log();
  bool is_of_this_model(const BlockFile& file) PX_REQUIRES(mutex_);
  /// By address and length.
  using ComputedHashes = std::map<std::pair<const std::byte*, std::size_t>, Hash128>;

  std::filesystem::path file_name() PX_REQUIRES(mutex_);
  FileIdentity main_identity() const;
  Hash128 content_of_main() PX_REQUIRES(mutex_);
  std::optional<Place> place_of(const std::byte* source) const PX_REQUIRES(mutex_);
  Hash128 key_of(const Place& place, const std::string& layout) PX_REQUIRES(mutex_);
  Hash128 content_of(const FileIdentity& identity, std::span<const std::byte> file)
      PX_REQUIRES(mutex_);
  Hash128 content_of(std::span<const std::byte> computed) PX_REQUIRES(mutex_);
  bool find_constants(const SnapshotRecord& record, std::vector<SharedBytes>& constants,
                      ComputedHashes& hashes) const PX_REQUIRES(mutex_);
  std::optional<Snapshot> find_snapshot(const std::string& name, const OpenFile& open);
  bool is_unchanged(const std::vector<std::pair<std::string, Hash128>>& files, const OpenFile& open,
                    std::vector<NamedFile>& opened) PX_REQUIRES(mutex_);
  bool files_are_unchanged() const PX_REQUIRES(mutex_);
  void add_snapshot() PX_REQUIRES(mutex_);
  BlockFile contents() PX_REQUIRES(mutex_);
  void write() PX_REQUIRES(mutex_);

  const Options options_;
  const ModelSource main_;
  const std::filesystem::path folder_;  ///< of files beside the model, as an absolute path
  std::filesystem::path path_;          ///< set once

  mutable Mutex mutex_{LockOrder::kWeightCache};
  std::vector<std::pair<std::string, FileIdentity>> files_ PX_GUARDED_BY(mutex_);  // beside main_
  std::vector<SharedBytes> computed_ PX_GUARDED_BY(mutex_);                        // by address
  // What the first of blocks_ point into.
  std::shared_ptr<const MappedFile> file_ PX_GUARDED_BY(mutex_);
  std::vector<SourceFile> known_ PX_GUARDED_BY(mutex_);  // sources, as the file has them
  std::vector<Source> sources_ PX_GUARDED_BY(mutex_);    // those of this process
  ComputedHashes computed_hashes_ PX_GUARDED_BY(mutex_);
  // Of the file, and those that were written to it.
  std::map<Hash128, SharedBytes> blocks_ PX_GUARDED_BY(mutex_);
  std::optional<std::pair<std::string, Snapshot>> unsaved_snapshot_ PX_GUARDED_BY(mutex_);
  std::vector<Packed> unsaved_ PX_GUARDED_BY(mutex_);
  std::int64_t unsaved_bytes_ PX_GUARDED_BY(mutex_) = 0, saved_bytes_ PX_GUARDED_BY(mutex_) = 0;
  bool in_large_pages_ PX_GUARDED_BY(mutex_) = false;
  bool closed_ PX_GUARDED_BY(mutex_) = false;
  CacheReport report_ PX_GUARDED_BY(mutex_);
  std::vector<std::string> untold_ PX_GUARDED_BY(mutex_);  // problems, for the log
};

}  // namespace parallax
