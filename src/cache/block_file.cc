#include "cache/block_file.h"

#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/checked.h"
#include "base/files/replace_file.h"
#include "base/status.h"

namespace parallax {
namespace {

constexpr std::array<char, 8> kMagic = {'P', 'X', 'B', 'L', 'O', 'C', 'K', '1'};

// The file: Header, version, SourceRow[sources], BlockRow[blocks], then the blocks. Numbers are the
// machine's own: packed weights are of no use on another kind.
struct Header {
  std::array<char, 8> magic;
  std::uint64_t file_bytes;
  std::uint64_t version_bytes, sources, blocks;
  /// Time of modification that the finished file was given, in seconds: any other time means that a
  /// process has written to it since.
  std::int64_t sealed;
  std::uint64_t checksum;  ///< checksum of everything before the blocks, with this field being 0
};
struct SourceRow {
  std::uint64_t device, inode;
  std::int64_t size, modified_ns, changed_ns;
  std::uint64_t content_low, content_high;
};
struct BlockRow {
  std::uint64_t key_low, key_high;
  std::uint64_t offset, bytes;
  std::uint64_t checksum;
};
template <class T>
constexpr bool kPlain =
    std::is_trivially_copyable_v<T>&& std::has_unique_object_representations_v<T>;
static_assert(kPlain<Header> && kPlain<SourceRow> && kPlain<BlockRow>);

tl::unexpected<Error> damaged(const char* what) {
  return tl::unexpected(Error{Stage::kFiles,
                              ErrorCode::kInvalidInput,
                              {},
                              std::string("the cache file is damaged: ") + what});
}

/// Takes one thing after the other from the start of a file.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::optional<std::span<const std::byte>> take(std::uint64_t count, std::uint64_t size) {
    const std::uint64_t left = bytes_.size() - at_;
    if (size == 0 || count > left / size) return std::nullopt;
    const auto part = bytes_.subspan(at_, count * size);
    at_ += part.size();
    return part;
  }
  std::size_t at() const { return at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

template <class T>
std::vector<T> rows(std::span<const std::byte> bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

/// Returns the checksum of the `index_bytes` before the blocks.
std::uint64_t index_checksum(std::span<const std::byte> index) {
  std::vector<std::byte> copy(index.begin(), index.end());
  std::memset(copy.data() + offsetof(Header, checksum), 0, sizeof(Header::checksum));
  return hash64(copy);
}

Result<Block> block_of(const BlockRow& row, std::span<const std::byte> file, std::size_t index_end,
                       bool sealed) {
  const bool inside = row.offset >= index_end && row.offset <= file.size() &&
                      row.bytes <= file.size() - row.offset && row.offset % kAlignment == 0;
  if (!inside) return damaged("a block lies outside");
  const auto bytes = file.subspan(row.offset, row.bytes);
  if (!sealed && hash64(bytes) != row.checksum) return damaged("a block has changed");
  return Block{{row.key_low, row.key_high}, bytes};
}

/// Assigns offsets to the blocks of `contents`, after an index of `index_bytes`.
Result<std::vector<BlockRow>> place(const std::vector<Block>& blocks, std::int64_t index_bytes,
                                    std::int64_t& file_bytes) {
  std::vector<BlockRow> result;
  result.reserve(blocks.size());
  file_bytes = index_bytes;
  for (const Block& block : blocks) {
    const auto offset = checked_align(file_bytes, kAlignment);
    const auto end = offset ? checked_add(*offset, std::ssize(block.bytes)) : std::nullopt;
    if (!end)
      return tl::unexpected(
          Error{Stage::kFiles, ErrorCode::kIo, {}, "more blocks than a file holds"});
    result.push_back({block.key.low, block.key.high, static_cast<std::uint64_t>(*offset),
                      block.bytes.size(), hash64(block.bytes)});
    file_bytes = *end;
  }
  return result;
}

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  to.insert(to.end(), first, first + bytes);
}

/// Header and tables.
Result<std::vector<std::byte>> index_of(const BlockFile& contents, std::int64_t sealed) {
  std::vector<SourceRow> sources;
  for (const auto& [id, content] : contents.sources)
    sources.push_back(
        {id.device, id.inode, id.size, id.modified_ns, id.changed_ns, content.low, content.high});
  const std::size_t bytes = sizeof(Header) + contents.version.size() +
                            sources.size() * sizeof(SourceRow) +
                            contents.blocks.size() * sizeof(BlockRow);
  std::int64_t file_bytes = 0;
  PX_ASSIGN(const auto blocks,
            place(contents.blocks, static_cast<std::int64_t>(bytes), file_bytes));
  const Header header = {kMagic,
                         static_cast<std::uint64_t>(file_bytes),
                         contents.version.size(),
                         sources.size(),
                         blocks.size(),
                         sealed,
                         0};
  std::vector<std::byte> index;
  index.reserve(bytes);
  append(index, &header, sizeof header);
  append(index, contents.version.data(), contents.version.size());
  append(index, sources.data(), sources.size() * sizeof(SourceRow));
  append(index, blocks.data(), blocks.size() * sizeof(BlockRow));
  const std::uint64_t checksum = index_checksum(index);
  std::memcpy(index.data() + offsetof(Header, checksum), &checksum, sizeof checksum);
  return index;
}

}  // namespace

Result<BlockFile> read_block_file(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  Reader reader(bytes);
  const auto head = reader.take(1, sizeof(Header));
  if (!head) return damaged("it is too short");
  Header header = {};
  std::memcpy(&header, head->data(), sizeof header);
  if (header.magic != kMagic) return damaged("it is not a cache file");
  if (header.file_bytes != bytes.size()) return damaged("it is incomplete");
  const auto version = reader.take(header.version_bytes, 1);
  const auto sources = version ? reader.take(header.sources, sizeof(SourceRow)) : std::nullopt;
  const auto blocks = sources ? reader.take(header.blocks, sizeof(BlockRow)) : std::nullopt;
  if (!blocks) return damaged("its index is incomplete");
  const std::size_t index_end = reader.at();
  if (index_checksum(bytes.first(index_end)) != header.checksum)
    return damaged("its index has changed");
  BlockFile result;
  result.version.assign(reinterpret_cast<const char*>(version->data()), version->size());
  for (const SourceRow& row : rows<SourceRow>(*sources))
    result.sources.push_back({{row.device, row.inode, row.size, row.modified_ns, row.changed_ns},
                              {row.content_low, row.content_high}});
  const bool sealed = file.identity().modified_ns == checked_mul(header.sealed, kSecond);
  for (const BlockRow& row : rows<BlockRow>(*blocks)) {
    PX_ASSIGN(result.blocks.emplace_back(), block_of(row, bytes, index_end, sealed));
  }
  return result;
}

Result<bool> write_block_file(const std::filesystem::path& path, const BlockFile& contents) {
  const std::int64_t sealed = seal_time();
  PX_ASSIGN(const auto index, index_of(contents, sealed));
  std::vector<std::span<const std::byte>> parts = {index};
  static constexpr std::array<std::byte, kAlignment> kZeros = {};
  std::size_t at = index.size();
  for (const Block& block : contents.blocks) {
    const std::size_t gap = (kAlignment - at % kAlignment) % kAlignment;
    parts.push_back(std::span(kZeros).first(gap));
    parts.push_back(block.bytes);
    at += gap + block.bytes.size();
  }
  return replace_file(path, parts, sealed);
}

}  // namespace parallax
