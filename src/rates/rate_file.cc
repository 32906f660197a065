#include "rates/rate_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/files/hash.h"
#include "base/files/mapped_file.h"
#include "base/files/replace_file.h"
#include "base/status.h"
#include "device/profile_toml.h"

namespace parallax {
namespace {

constexpr std::string_view kTitle = "# Rates of a delegate, timed by Parallax, version 2, ";

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Returns `text` as one line, without characters that would end a TOML comment or string.
std::string plain(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; }, '?');
  return line;
}

std::string head_of(std::string_view body) {
  return fmt::format("{}{:016x}\n", kTitle, hash64(bytes_of_text(body)));
}

std::string key_line(const std::string& key) { return fmt::format("# {}\n", plain(key)); }

constexpr std::string_view kSince = "# timed since ", kSinceWhen = " (seconds after 1970 began)\n";

std::optional<std::chrono::sys_seconds> since_of(std::string_view line) {
  if (!line.starts_with(kSince)) return std::nullopt;
  line.remove_prefix(kSince.size());
  std::int64_t seconds = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), seconds);
  if (read.ec != std::errc{}) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

tl::unexpected<Error> refuse_rates(const std::string& file, std::string_view why) {
  return tl::unexpected(
      Error{Stage::kPartition, ErrorCode::kInvalidInput, {}, fmt::format("{}: {}", file, why)});
}

}  // namespace

std::filesystem::path rate_file(const std::filesystem::path& folder, const std::string& key) {
  return folder / fmt::format("rates-{:016x}.toml", hash64(bytes_of_text(plain(key))));
}

std::string rates_text(const std::string& key, const KeptRates& kept) {
  const Calibration& calibration = kept.calibration;
  std::string body = key_line(key) + fmt::format("{}{}{}", kSince,
                                                 kept.since.time_since_epoch().count(), kSinceWhen);
  const auto out = std::back_inserter(body);
  if (calibration.launch_seconds)
    fmt::format_to(out, "launch_seconds = {:.6e}\n", *calibration.launch_seconds);
  if (calibration.bytes_per_second)
    fmt::format_to(out, "bytes_per_second = {:.6e}\n", *calibration.bytes_per_second);
  for (const auto& [op, rate] : calibration.rates)
    fmt::format_to(out, "[rates.{}]\ndelegate = {:.6e}\ncpu = {:.6e}\n", to_string(op),
                   rate.delegate, rate.cpu);
  for (const WorkSample& sample : calibration.samples)
    fmt::format_to(
        out, "[[samples]]\nkind = \"{}\"\npredicted = {:.6e}\ncpu = {:.6e}\ndelegate = {:.6e}\n",
        to_string(sample.kind), sample.predicted, sample.cpu, sample.delegate);
  for (const RegionSample& region : calibration.regions)
    fmt::format_to(out,
                   "[[regions]]\nkey = {}\nnode = \"{}\"\npredicted = {:.6e}\nseconds = {:.6e}\n",
                   static_cast<std::int64_t>(region.key), plain(region.node), region.predicted,
                   region.seconds);
  for (const SplitSample& split : calibration.splits)
    fmt::format_to(out, "[[splits]]\nkey = {}\nshare = {}\nseconds = {:.6e}\n",
                   static_cast<std::int64_t>(split.key), split.share, split.seconds);
  return head_of(body) + body;
}

Result<KeptRates> parse_rates(std::string_view text, const std::string& key,
                              const std::string& file) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(kTitle))
    return refuse_rates(file, "no rates of this version");
  const std::string_view body = text.substr(end + 1);
  if (text.substr(0, end + 1) != head_of(body)) return refuse_rates(file, "damaged");
  if (!body.starts_with(key_line(key))) return refuse_rates(file, "rates of another device");
  const auto since = since_of(body.substr(key_line(key).size()));
  if (!since) return refuse_rates(file, "damaged");
  PX_ASSIGN(Calibration calibration, parse_calibration(text, file));
  return KeptRates{std::move(calibration), *since};
}

Result<KeptRates> load_rates(const std::filesystem::path& path, const std::string& key) {
  PX_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return parse_rates({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, key,
                     path.string());
}

Status save_rates(const std::filesystem::path& path, const std::string& key,
                  const KeptRates& kept) {
  const std::string text = rates_text(key, kept);
  const std::array<std::span<const std::byte>, 1> parts = {bytes_of_text(text)};
  PX_ASSIGN([[maybe_unused]] const bool written, replace_file(path, parts, seal_time()));
  return {};
}

}  // namespace parallax
