#include "inputs/image_decoder.h"

#include <fmt/core.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "inputs/exif.h"
#include "inputs/stb_heap.h"

namespace parallax::cli {
namespace {

constexpr std::uintmax_t kMaxFileBytes = 64U << 20U;
constexpr rlim_t kMaxSeconds = 20;
// Memory that stb needs: samples of 16 bits of four channels, before and after their filter.
constexpr std::size_t kHeapBytes = std::size_t{kMaxImagePixels} * 24;

// The child's answer.
struct Answer {
  bool decoded = false, confined = false;
  int width = 0, height = 0;
  char problem[64] = {};
};
constexpr std::size_t kAnswerBytes = 4096;  // pixels follow

// Memory that is taken from the system as it is touched.
class Mapping {
 public:
  Mapping(std::size_t bytes, int sharing)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (ok()) munmap(data_, bytes_);
  }
  bool ok() const { return data_ != MAP_FAILED; }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

// From here on the process may end itself and make no other call of the system.
bool confine() {
  const rlimit seconds{kMaxSeconds, kMaxSeconds}, none{0, 0};
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{std::size(rules), rules};
  return setrlimit(RLIMIT_CPU, &seconds) == 0 && setrlimit(RLIMIT_CORE, &none) == 0 &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The life of the child. Allocates nothing but from `heap`: other threads of the parent may have
// held locks.
[[noreturn]] void decode_and_end(std::span<const std::byte> file, int channels,
                                 std::span<std::byte> heap, Answer& answer, std::byte* pixels) {
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU})
    std::signal(signal, SIG_DFL);
  answer.confined = confine();
  if (answer.confined) {
    const char* problem = decode_with_stb(file, channels, heap, kMaxImageSide, kMaxImagePixels,
                                          {&answer.width, &answer.height, pixels});
    answer.decoded = problem == nullptr;
    for (std::size_t i = 0; problem != nullptr && problem[i] != 0 && i + 1 < sizeof answer.problem;
         ++i)
      answer.problem[i] = problem[i];
  }
  for (;;) syscall(SYS_exit_group, 0);
}

std::string reason(int error) { return std::generic_category().message(error); }

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path) {
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    return tl::unexpected(
        Error{Stage::kFiles, code, {}, fmt::format("{}: {}", path.string(), why)});
  };
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return refuse(ErrorCode::kIo, error ? error.message() : "No such file or directory");
  if (!std::filesystem::is_regular_file(path, error))
    return refuse(ErrorCode::kIo, "is not a file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return refuse(ErrorCode::kIo, error.message());
  if (size > kMaxFileBytes) return refuse(ErrorCode::kInvalidInput, "is larger than 64 MiB");
  std::vector<std::byte> bytes(size);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    return refuse(ErrorCode::kIo, errno != 0 ? reason(errno) : "cannot be read to its end");
  return bytes;
}

bool is_known(std::span<const std::byte> file) {
  constexpr std::string_view kStarts[] = {"\xFF\xD8\xFF", "\x89PNG\r\n\x1A\n", "BM"};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  return std::ranges::any_of(kStarts, [&](std::string_view s) { return text.starts_with(s); });
}

// Returns why the child gave no image; empty if it did.
std::string problem_of(int status, const Answer& answer) {
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
    return fmt::format("takes longer than {} s to decode", kMaxSeconds);
  if (WIFSIGNALED(status)) return "is damaged: the decoder failed on it";
  if (!answer.confined) return "the decoder cannot be confined on this system (seccomp)";
  if (answer.decoded) return {};
  std::string why(answer.problem, strnlen(answer.problem, sizeof answer.problem));
  std::ranges::replace_if(
      why, [](char c) { return c < ' ' || c > '~'; }, '?');  // parts of the file
  return fmt::format("cannot be decoded: {}", why);
}

}  // namespace

Result<Image> decode_image(const std::filesystem::path& path, int channels) {
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    return tl::unexpected(
        Error{Stage::kFiles, code, {}, fmt::format("{}: {}", path.string(), why)});
  };
  auto file = read_file(path);
  if (!file) return tl::unexpected(file.error());
  if (!is_known(*file)) return refuse(ErrorCode::kInvalidInput, "is not a JPEG, PNG or BMP file");
  const std::size_t most = std::size_t{kMaxImagePixels} * static_cast<std::size_t>(channels);
  const Mapping heap(kHeapBytes, MAP_PRIVATE), shared(kAnswerBytes + most, MAP_SHARED);
  if (!heap.ok() || !shared.ok()) return refuse(ErrorCode::kOutOfMemory, "no memory to decode it");
  auto* const answer = new (shared.bytes().data()) Answer;
  std::byte* const pixels = shared.bytes().data() + kAnswerBytes;

  const pid_t child = fork();
  if (child < 0) return refuse(ErrorCode::kOutOfMemory, reason(errno));
  if (child == 0) decode_and_end(*file, channels, heap.bytes(), *answer, pixels);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // A copy: nothing writes it any more, but what wrote it is not to be trusted.
  const Answer got = *answer;
  if (const std::string problem = problem_of(status, got); !problem.empty())
    return refuse(ErrorCode::kInvalidInput, problem);
  const auto size = std::int64_t{got.width} * got.height;
  if (got.width <= 0 || got.height <= 0 || size > kMaxImagePixels)
    return refuse(ErrorCode::kInvalidInput, "is damaged");
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(pixels);
  const int orientation = exif_orientation(*file);
  return oriented({got.width, got.height, channels, {begin, begin + size * channels}, orientation});
}

}  // namespace parallax::cli
