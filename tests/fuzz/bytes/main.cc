// Gives files to a libFuzzer program that is built without libFuzzer: whole ones, beginnings of
// them, and some with a changed byte. Sanitizers and the program itself judge.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCuts = 16, kChanges = 32;

void read_all_forms(std::vector<char> file) {
  const auto give = [](const std::vector<char>& bytes, std::size_t size) {
    // Memory of exactly that size, so that the sanitizer sees every byte too far.
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  };
  for (std::size_t cut = 0; cut <= kCuts; ++cut) give(file, file.size() * cut / kCuts);
  if (file.empty()) return;
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same changes each time
  for (std::size_t i = 0; i < kChanges; ++i) {
    char& byte = file[random() % file.size()];
    const char before = byte;
    byte = static_cast<char>(random());
    give(file, file.size());
    byte = before;
  }
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    std::ifstream stream(arguments[i], std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "cannot read %s\n", arguments[i]);
      return 1;
    }
    read_all_forms({std::istreambuf_iterator<char>(stream), {}});
  }
  return 0;
}
