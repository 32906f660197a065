#include <gmock/gmock.h>

#include <random>
#include <string>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// Little-endian numbers of 4 and 2 bytes.
void add_4(Bytes& to, std::uint32_t x) {
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<std::uint8_t>(x >> (8 * i)));
}
void add_2(Bytes& to, std::uint32_t x) {
  for (int i = 0; i < 2; ++i) to.push_back(static_cast<std::uint8_t>(x >> (8 * i)));
}

Tensor decoded(const Bytes& file, const char* format = "RGB") {
  const KernelRun run{OpKind::kImageDecoder, test_inputs(row<std::uint8_t>(file)),
                      test_attributes({{"pixel_format", std::string(format)}})};
  auto result = run_kernel(run, KernelLibrary::kReference);
  EXPECT_TRUE(result) << result.error().to_string();
  return std::move(result->at(0));
}

/// 1 x 2 pixels, red and blue.
Bytes bmp_file() {
  Bytes file = {'B', 'M'};
  add_4(file, 62);
  add_4(file, 0);
  for (const std::uint32_t x : {54U, 40U, 2U, 1U}) add_4(file, x);
  add_2(file, 1);
  add_2(file, 24);
  for (int i = 0; i < 6; ++i) add_4(file, 0);
  for (const std::uint8_t x : {0, 0, 255, 255, 0, 0, 0, 0}) file.push_back(x);
  return file;
}

Bytes tiff_file() {
  Bytes file = {'I', 'I', 42, 0};
  add_4(file, 14);
  for (const std::uint8_t x : {255, 0, 0, 0, 0, 255}) file.push_back(x);
  const std::uint32_t fields[][4] = {{256, 3, 1, 2}, {257, 3, 1, 1}, {262, 3, 1, 2},
                                     {273, 4, 1, 8}, {277, 3, 1, 3}, {258, 3, 3, 92}};
  add_2(file, 6);
  for (const auto& field : fields) {
    add_2(file, field[0]);
    add_2(file, field[1]);
    add_4(file, field[2]);
    add_4(file, field[3]);
  }
  add_4(file, 0);
  for (int i = 0; i < 3; ++i) add_2(file, 8);
  return file;
}

Bytes png_file() {
  return {137, 80, 78,  71, 13, 10,  26,  10, 0,   0,   0,  13,  73,  72,  68,  82, 0, 0,
          0,   2,  0,   0,  0,  1,   8,   2,  0,   0,   0,  123, 64,  232, 221, 0,  0, 0,
          13,  73, 68,  65, 84, 120, 156, 99, 248, 207, 0,  4,   255, 1,   7,   0,  1, 255,
          226, 35, 158, 89, 0,  0,   0,   0,  73,  69,  78, 68,  174, 66,  96,  130};
}

TEST(ImageFiles, Decode) {
  const Bytes binary = {'P', '6',  '\n', '2', ' ', '1', '\n', '2', '5',
                        '5', '\n', 255,  0,   0,   0,   0,    255};
  for (const Bytes& file :
       {bmp_file(), tiff_file(), png_file(), binary, bytes_of("P3 # text\n2 1 1 1 0 0 0 0 1")}) {
    EXPECT_EQ(decoded(file).dims(), (Dims{1, 2, 3}));
    EXPECT_THAT(test_values<std::uint8_t>(decoded(file)), ElementsAre(255, 0, 0, 0, 0, 255));
    EXPECT_THAT(test_values<std::uint8_t>(decoded(file, "BGR")), ElementsAre(0, 0, 255, 255, 0, 0));
    EXPECT_THAT(test_values<std::uint8_t>(decoded(file, "Grayscale")), ElementsAre(76, 29));
  }
  EXPECT_THAT(test_values<std::uint8_t>(decoded(bytes_of("P1 2 1 10"), "Grayscale")),
              ElementsAre(0, 255));
  EXPECT_THAT(test_values<std::uint8_t>(decoded(bytes_of("P2 2 1 15 0 99"), "Grayscale")),
              ElementsAre(0, 255));
}

TEST(ImageFiles, WithoutPixelsWhereTheyAreDamaged) {
  for (const Bytes& whole : {bmp_file(), tiff_file(), bytes_of("P3 2 1 1 1 0 0 0 0 1")}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const Tensor image = decoded(part);
      EXPECT_EQ(image.dims(), (Dims{0, 0, 3})) << size;
    }
  }
}

TEST(ImageFiles, AnyBytesAreSafe) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    Bytes file = i % 4 == 3   ? png_file()
                 : i % 3 == 0 ? bmp_file()
                 : i % 3 == 1 ? tiff_file()
                              : bytes_of("P5 20 3 255 abcdef");
    for (int k = 0; k < 3; ++k) file[random() % file.size()] = static_cast<std::uint8_t>(random());
    const KernelRun run{OpKind::kImageDecoder, test_inputs(row<std::uint8_t>(file))};
    (void)run_kernel(run, KernelLibrary::kReference);
  }
}

TEST(ImageFiles, FormatsThatAreNotCovered) {
  EXPECT_EQ(
      error_of(OpKind::kImageDecoder, test_inputs(row<std::uint8_t>({0xFF, 0xD8, 0xFF}))).code,
      ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace parallax
