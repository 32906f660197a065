#include "cache/weight_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <functional>
#include <utility>

#include "base/files/replace_file.h"
#include "base/machine/large_pages.h"
#include "base/status.h"

namespace parallax {
namespace {

/// Returns whether a write now could leave the same times as the latest one. Linux counts in ticks
/// of at most 10 ms, some file systems in up to two seconds.
bool is_fresh(const FileIdentity& identity) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t changed = std::max(identity.modified_ns, identity.changed_ns);
  const bool whole_seconds = identity.modified_ns % kSecond == 0;
  return now.tv_sec * kSecond + now.tv_nsec - changed <
         (whole_seconds ? 3 * kSecond : kSecond / 50);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Returns the canonical path, which is the same for all names of a file.
std::string one_name(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, code);
  return (code ? path : whole).string();
}

std::filesystem::path whole_path(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::path whole = std::filesystem::absolute(path, code);
  return code ? path : whole;
}

std::vector<std::pair<std::string, FileIdentity>> identities(const std::vector<NamedFile>& files) {
  std::vector<std::pair<std::string, FileIdentity>> result;
  for (const NamedFile& one : files) result.emplace_back(one.name, one.file->identity());
  return result;
}

std::vector<SharedBytes> by_address(std::vector<SharedBytes> constants) {
  const auto order = [](const SharedBytes& a, const SharedBytes& b) {
    return std::less<>{}(a.bytes.data(), b.bytes.data()) ||
           (a.bytes.data() == b.bytes.data() && a.bytes.size() > b.bytes.size());
  };
  std::erase_if(constants, [](const SharedBytes& c) { return c.bytes.empty(); });
  std::sort(constants.begin(), constants.end(), order);
  const auto hidden =
      std::unique(constants.begin(), constants.end(),
                  [](const auto& a, const auto& b) { return a.bytes.data() == b.bytes.data(); });
  constants.erase(hidden, constants.end());
  return constants;
}

Hash128 snapshot_key(const std::string& name) { return hash128(bytes_of("snapshot " + name)); }

Hash128 constant_key(Hash128 content) {
  return hash128(bytes_of(fmt::format("{:016x}{:016x} constant", content.high, content.low)));
}

}  // namespace

WeightCache::WeightCache(Options options, ModelSource main)
    : options_(std::move(options)),
      main_(std::move(main)),
      folder_(whole_path(main_.model.folder)) {
  path_ = options_.folder / file_name();
  report_.file = path_;
  open();
  tell_log();
}

/// MODEL-1f2e3d4c5b6a7988-AVX3.cache. The hash is that of the whole path. A model in memory has no
/// path: its contents stand for it, with the folder whose weights it takes.
std::filesystem::path WeightCache::file_name() {
  std::string stem = "memory", name;
  if (main_.file) {
    stem = main_.file->path.stem().string().substr(0, 64);
    name = one_name(main_.file->path);
  } else {
    const Hash128 content = content_of_main();
    name = fmt::format("{:016x}{:016x} {}", content.high, content.low,
                       main_.model.folder.empty() ? "" : one_name(main_.model.folder));
  }
  return fmt::format("{}-{:016x}-{}.cache", stem, hash64(bytes_of(name)), options_.machine);
}

/// Memory has no identity but its size.
FileIdentity WeightCache::main_identity() const {
  if (main_.file) return main_.file->identity;
  FileIdentity memory;
  memory.size = std::ssize(main_.model.bytes);
  return memory;
}

Hash128 WeightCache::content_of_main() { return content_of(main_identity(), main_.model.bytes); }

void WeightCache::open() {
  std::error_code code;
  if (!std::filesystem::exists(path_, code) && !code) return;
  auto file = MappedFile::open(path_);
  if (!file) {
    add_problem(file.error().message);
    return;
  }
  auto contents = read_block_file(**file);
  if (!contents) {
    add_problem(contents.error().message);
    return;
  }
  if (contents->version != options_.version || !is_of_this_model(*contents)) return;
  file_ = *std::move(file);
  in_large_pages_ = map_in_large_pages(file_->bytes()) > std::ssize(file_->bytes()) / 2;
  for (const Block& block : contents->blocks) {
    saved_bytes_ += std::ssize(block.bytes);
    blocks_.emplace(block.key, SharedBytes{block.bytes, file_});
  }
}

bool WeightCache::is_of_this_model(const BlockFile& file) {
  if (file.sources.empty() || file.sources[0].identity.size != std::ssize(main_.model.bytes))
    return false;
  known_ = file.sources;
  if (content_of_main() == file.sources[0].content) return true;
  known_.clear();
  return false;
}

/// Returns the hash of a whole file, by its identity if that is known.
Hash128 WeightCache::content_of(const FileIdentity& identity, std::span<const std::byte> file) {
  for (const Source& source : sources_)
    if (source.file.identity == identity) return source.file.content;
  for (const SourceFile& source : known_) {
    if (source.identity != identity || identity.inode == kNoFile) continue;
    sources_.push_back({source, false});
    return source.content;
  }
  const bool fresh = is_fresh(identity);
  sources_.push_back({{identity, hash_mapped(file)}, fresh});
  return sources_.back().file.content;
}

/// Returns the hash of a constant that is in no file.
Hash128 WeightCache::content_of(std::span<const std::byte> computed) {
  const auto [hash, fresh] =
      computed_hashes_.try_emplace(std::pair(computed.data(), computed.size()));
  if (fresh) hash->second = hash128(computed);
  return hash->second;
}

/// Opens the files of a snapshot. Returns whether they still have the same contents.
bool WeightCache::is_unchanged(const std::vector<std::pair<std::string, Hash128>>& files,
                               const OpenFile& open, std::vector<NamedFile>& opened) {
  for (const auto& [name, content] : files) {
    auto file = open(name);
    if (!file || content_of((*file)->identity(), (*file)->bytes()) != content) return false;
    opened.push_back({name, *std::move(file)});
  }
  return true;
}

/// Finds the constants of a snapshot, with their hashes. Returns false if one is missing.
bool WeightCache::find_constants(const SnapshotRecord& record, std::vector<SharedBytes>& constants,
                                 ComputedHashes& hashes) const {
  for (const SnapshotRecord::Constant& constant : record.constants) {
    const auto found = blocks_.find(constant_key(constant.content));
    if (found == blocks_.end() || found->second.bytes.size() != constant.bytes) return false;
    const std::span<const std::byte> bytes = found->second.bytes;
    constants.push_back(found->second);
    hashes.emplace(std::pair(bytes.data(), bytes.size()), constant.content);
  }
  return true;
}

std::optional<Snapshot> WeightCache::snapshot(const std::string& name, const OpenFile& open) {
  auto found = find_snapshot(name, open);
  tell_log();
  return found;
}

std::optional<Snapshot> WeightCache::find_snapshot(const std::string& name, const OpenFile& open) {
  const MutexLock lock(mutex_);
  const auto block = blocks_.find(snapshot_key(name));
  if (block == blocks_.end()) return std::nullopt;
  const auto record = read_record(block->second.bytes);
  Snapshot snapshot;
  ComputedHashes hashes;
  if (!record || !find_constants(*record, snapshot.constants, hashes)) {
    add_problem("the cache file is damaged: its graph has changed");
    return std::nullopt;
  }
  if (!is_unchanged(record->files, open, snapshot.files)) return std::nullopt;
  snapshot.bytes = {record->bytes, block->second.owner};
  files_ = identities(snapshot.files);
  computed_ = by_address(snapshot.constants);
  computed_hashes_ = std::move(hashes);
  return snapshot;
}

void WeightCache::keep_snapshot(const std::string& name, Snapshot snapshot) {
  const MutexLock lock(mutex_);
  files_ = identities(snapshot.files);
  computed_ = by_address(snapshot.constants);
  computed_hashes_.clear();
  unsaved_snapshot_.emplace(name, std::move(snapshot));
}

void WeightCache::report_problem(const std::string& problem) {
  {
    const MutexLock lock(mutex_);
    add_problem(problem);
  }
  tell_log();
}

void WeightCache::close(const std::string& problem) {
  std::vector<Packed> gone;  // destroyed without the mutex
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    unsaved_snapshot_.reset();
    gone.swap(unsaved_);
    unsaved_bytes_ = 0;
    add_problem(problem);
  }
  tell_log();
}

/// Adds a problem. The first one is the cause of later ones: a file that cannot be read is
/// replaced, say.
void WeightCache::add_problem(const std::string& problem) {
  report_.problem += (report_.problem.empty() ? "" : "; ") + problem;
  untold_.push_back(problem);
}

/// Reports new problems. Without the mutex, as the log is foreign code.
void WeightCache::tell_log() {
  std::vector<std::string> problems;
  {
    const MutexLock lock(mutex_);
    problems.swap(untold_);
  }
  for (const std::string& problem : problems) options_.log.warn(problem);
}

/// Makes blocks of the snapshot that is not yet written.
void WeightCache::add_snapshot() {
  const auto& [name, snapshot] = *unsaved_snapshot_;
  SnapshotRecord record{{}, {}, snapshot.bytes.bytes};
  for (const NamedFile& file : snapshot.files)
    record.files.emplace_back(file.name, content_of(file.file->identity(), file.file->bytes()));
  for (const SharedBytes& constant : snapshot.constants) {
    const Hash128 content = content_of(constant.bytes);
    record.constants.push_back({content, constant.bytes.size()});
    blocks_.insert_or_assign(constant_key(content), constant);
  }
  auto block = std::make_shared<const std::vector<std::byte>>(write_record(record));
  blocks_.insert_or_assign(snapshot_key(name), SharedBytes{*block, block});
  unsaved_snapshot_.reset();
}

/// Finds the place of weights. Constants are checked first: those of a snapshot are also in a map,
/// that of the cache file.
std::optional<WeightCache::Place> WeightCache::place_of(const std::byte* source) const {
  const auto after = std::upper_bound(
      computed_.begin(), computed_.end(), source,
      [](const std::byte* at, const SharedBytes& c) { return std::less<>{}(at, c.bytes.data()); });
  if (after != computed_.begin()) {
    const std::span<const std::byte> holder = std::prev(after)->bytes;
    const std::int64_t offset = source - holder.data();
    if (offset < std::ssize(holder)) return Place{std::nullopt, holder, offset};
  }
  const std::span<const std::byte> main = main_.model.bytes;
  if (!std::less<>{}(source, main.data()) && std::less<>{}(source, main.data() + main.size())) {
    const std::int64_t offset = source - main.data();
    return Place{MappedPlace{main_identity(), main, offset}, {}, offset};
  }
  if (const auto place = mapped_place(source)) return Place{place, {}, place->offset};
  return std::nullopt;
}

Hash128 WeightCache::key_of(const Place& place, const std::string& layout) {
  const Hash128 holder =
      place.file ? content_of(place.file->identity, place.file->file) : content_of(place.computed);
  return hash128(
      bytes_of(fmt::format("{:016x}{:016x} {} {}", holder.high, holder.low, place.offset, layout)));
}

std::optional<SharedBytes> WeightCache::find(const std::byte* source, const std::string& layout,
                                             std::int64_t bytes) {
  const MutexLock lock(mutex_);
  // Without blocks the key is not needed; computing it would mean reading the model.
  const auto place = closed_ || blocks_.empty() ? std::nullopt : place_of(source);
  const auto found = place ? blocks_.find(key_of(*place, layout)) : blocks_.end();
  if (found == blocks_.end() || std::ssize(found->second.bytes) != bytes) {
    ++report_.misses;
    return std::nullopt;
  }
  ++report_.hits;
  report_.bytes += bytes;
  return found->second;
}

bool WeightCache::in_large_pages() const {
  const MutexLock lock(mutex_);
  return in_large_pages_;
}

void WeightCache::keep(const std::byte* source, const std::string& layout, SharedBytes packed) {
  const MutexLock lock(mutex_);
  auto place = closed_ ? std::nullopt : place_of(source);
  if (!place) return;
  const std::int64_t bytes = std::ssize(packed.bytes);
  unsaved_.push_back({*place, layout, std::move(packed)});
  unsaved_bytes_ += bytes;
}

CacheReport WeightCache::report() const {
  const MutexLock lock(mutex_);
  return report_;
}

}  // namespace parallax
