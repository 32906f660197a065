// Prints the lines of text in a picture: a detector finds them, a recogniser reads them, on one
// runtime under one memory budget. For PaddleOCR's models in PyPI's rapidocr-onnxruntime.
//
//     read_text DETECTOR RECOGNISER CHARACTERS PICTURE.ppm MEBIBYTES
//
// CHARACTERS: the recogniser's metadata "character", one a line. PICTURE: binary PPM.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "parallax/session.h"

namespace {

using parallax::Model, parallax::Runtime, parallax::Session, parallax::Tensor;

struct Picture {
  int width = 0, height = 0;
  std::string rgb;
};
using Box = std::array<double, 4>;  // left, top, right, bottom in pixels

bool read_picture(const char* path, Picture& picture) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  unsigned width = 0, height = 0, most = 0;
  file >> magic >> width >> height >> most;
  if (magic != "P6" || most != 255 || file.get() < 0 || width > 9999 || height > 9999) return false;
  picture = {int(width), int(height), std::string(std::size_t{3} * width * height, 0)};
  return width * height > 0 && file.read(picture.rgb.data(), std::ssize(picture.rgb));
}

// The first output for a part of the picture, as 1x3xHEIGHTxWIDTH: blue, green, red from -1 to 1.
Tensor run(Session& session, const Picture& picture, const Box& part, int height, int width) {
  const auto [left, top, right, bottom] = part;
  auto tensor = Tensor::allocate(parallax::DType::kF32, {1, 3, height, width}).value();
  float* to = tensor.data<float>().data();
  for (int i = 0; i < 3 * height * width; ++i) {
    to[i] = -1;
    const double y = top + (i / width % height + 0.5) * (bottom - top) / height - 0.5;
    const double x = left + (i % width + 0.5) * (right - left) / width - 0.5;
    for (int near = 0; near < 4; ++near) {  // four pixels by their distance
      const double row = std::floor(y) + int(near > 1), column = std::floor(x) + near % 2;
      const int pixel = std::clamp(int(row), 0, picture.height - 1) * picture.width +
                        std::clamp(int(column), 0, picture.width - 1);
      const double weight = (1 - std::abs(y - row)) * (1 - std::abs(x - column));
      const std::uint8_t value = picture.rgb[3 * pixel + 2 - i / (height * width)];
      to[i] += float(value * weight / 127.5);
    }
  }
  const parallax::NamedInput input = {"x", tensor.view()};
  return std::move(session.run({&input, 1}).value().front());
}

// Around connected elements that are likely text. A map has the middle of each line of text.
std::vector<Box> boxes_of(float* map, int height, int width, double down, double across) {
  std::vector<Box> boxes;
  for (int start = 0; start < height * width; ++start) {
    std::vector<int> found = {start};
    int left = width, top = height, right = 0, bottom = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const int x = found[i] % width, y = found[i] / width;
      if (map[found[i]] < 0.3F) continue;
      map[found[i]] = 0;  // seen
      left = std::min(left, x), right = std::max(right, x + 1);
      top = std::min(top, y), bottom = std::max(bottom, y + 1);
      for (const int step :
           {x > 0 ? -1 : 0, x + 1 < width ? 1 : 0, y > 0 ? -width : 0, y + 1 < height ? width : 0})
        found.push_back(found[i] + step);
    }
    const double w = right - left, h = bottom - top, more = 0.8 * w * h / (w + h);
    if (w > 2 && h > 2)
      boxes.push_back({(left - more) * across, (top - more) * down, (right + more) * across,
                       (bottom + more) * down});
  }
  return boxes;
}

}  // namespace

int main(int argc, char** argv) try {
  Picture picture;
  std::ifstream list(argc == 6 ? argv[3] : "");
  if (!list || !read_picture(argv[4], picture)) {
    std::cerr << "usage: read_text DETECTOR RECOGNISER CHARACTERS PICTURE.ppm MEBIBYTES\n";
    return 2;
  }
  std::vector<std::string> characters = {""};  // the first class: nothing
  for (std::string line; std::getline(list, line);) characters.push_back(line);
  parallax::SessionOptions options;
  options.budget = parallax::MemoryBudget::of_bytes(std::atoll(argv[5]) << 20);
  const auto account = parallax::make_memory_account().value();
  const auto runtime = Runtime::create({.account = account}).value();
  auto detector = Session::create(Model::load(argv[1]).value(), options, runtime).value();
  auto recogniser = Session::create(Model::load(argv[2]).value(), options, runtime).value();
  const int height = (picture.height + 31) / 32 * 32, width = (picture.width + 31) / 32 * 32;
  const Box whole = {0, 0, double(picture.width), double(picture.height)};
  Tensor map = run(detector, picture, whole, height, width);
  const auto boxes =
      boxes_of(map.data<float>().data(), height, width, whole[3] / height, whole[2] / width);
  for (const Box& box : boxes) {
    const int columns = std::max(16, int(48 * (box[2] - box[0]) / (box[3] - box[1])));
    const Tensor steps = run(recogniser, picture, box, 48, columns);
    const float* step = steps.data<float>().data();
    for (std::int64_t i = 0, last = 0; i < steps.dims()[1]; ++i, step += steps.dims()[2]) {
      const auto best = std::max_element(step, step + steps.dims()[2]) - step;
      if (best != last) std::cout << (best < std::ssize(characters) ? characters[best] : " ");
      last = best;
    }
    std::cout << '\n';
  }
} catch (const tl::bad_expected_access<parallax::Error>& failed) {
  std::cerr << "read_text: " << failed.error().to_string() << '\n';
  return 1;
}
