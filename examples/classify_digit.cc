// Classifies a handwritten digit, drawn as 8 lines of 8 characters (' ' to '#' by ink), with the
// model of models/digits.
//
//     classify_digit models/digits/digits.onnx < digit.txt
#include <algorithm>
#include <array>
#include <iostream>
#include <span>
#include <string>

#include "parallax/session.h"

namespace {

constexpr std::string_view kInk = " .:-=+*#";  // eight shades

// Pixels in [0, 1], rows first; lines that are short or missing are blank.
std::array<float, 64> read_digit(std::istream& in) {
  std::array<float, 64> pixels{};
  std::string line;
  for (std::size_t row = 0; row < 8 && std::getline(in, line); ++row) {
    for (std::size_t column = 0; column < std::min<std::size_t>(8, line.size()); ++column) {
      const std::size_t shade = kInk.find(line[column]);
      if (shade != std::string_view::npos) pixels[row * 8 + column] = static_cast<float>(shade) / 7;
    }
  }
  return pixels;
}

int fail(const parallax::Error& error) {
  std::cerr << "classify_digit: " << error.to_string() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: classify_digit MODEL < digit.txt\n";
    return 2;
  }
  auto model = parallax::Model::load(argv[1]);
  if (!model) return fail(model.error());
  auto session = parallax::Session::create(*model);
  if (!session) return fail(session.error());

  const std::array<float, 64> pixels = read_digit(std::cin);
  const auto image = parallax::TensorView::of<float>(pixels, {1, 1, 8, 8});
  if (!image) return fail(image.error());
  const parallax::NamedInput input{"image", *image};
  auto outputs = session->run({&input, 1});
  if (!outputs) return fail(outputs.error());

  const std::span<const float> logits = outputs->front().data<float>();
  std::cout << std::ranges::max_element(logits) - logits.begin() << '\n';
  return 0;
}
