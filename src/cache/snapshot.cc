#include "cache/snapshot.h"

#include <cstring>

#include "base/bytes.h"

namespace parallax {
namespace {

using Checksum = std::uint64_t;  // covers everything after it

}  // namespace

std::vector<std::byte> write_record(const SnapshotRecord& record) {
  ByteWriter out;
  out.raw(Checksum{});
  out.number(record.files.size());
  for (const auto& [name, content] : record.files) {
    out.text(name);
    out.raw(content);
  }
  out.number(record.constants.size());
  for (const SnapshotRecord::Constant& constant : record.constants) {
    out.raw(constant.content);
    out.number(constant.bytes);
  }
  out.append(record.bytes);
  std::vector<std::byte> block = out.take();
  const Checksum checksum = hash64(std::span(block).subspan(sizeof(Checksum)));
  std::memcpy(block.data(), &checksum, sizeof checksum);
  return block;
}

std::optional<SnapshotRecord> read_record(std::span<const std::byte> block) {
  ByteReader in(block);
  const auto checksum = in.raw<Checksum>();
  if (!in.ok() || hash64(in.rest()) != checksum) return std::nullopt;
  SnapshotRecord record;
  const std::size_t files = in.count(1 + sizeof(Hash128));
  for (std::size_t i = 0; i < files && in.ok(); ++i) {
    std::string name(in.text());
    record.files.emplace_back(std::move(name), in.raw<Hash128>());
  }
  const std::size_t constants = in.count(sizeof(Hash128) + 1);
  for (std::size_t i = 0; i < constants && in.ok(); ++i) {
    const auto content = in.raw<Hash128>();
    record.constants.push_back({content, in.number()});
  }
  if (!in.ok()) return std::nullopt;
  record.bytes = in.rest();
  return record;
}

}  // namespace parallax
