#include "inputs/image_input.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace parallax::cli {
namespace {

constexpr float kBars = 114;  // the grey that YOLO was trained with

Error invalid(std::string message) {
  return {Stage::kFiles, ErrorCode::kInvalidInput, {}, std::move(message)};
}

// The axes of an input's shape.
struct Layout {
  int batch = -1;  // -1: the shape has none
  int channel = 0, height = 0, width = 0;
  int channels = 0;
};

std::string shape_text(const TensorInfo& input) {
  std::string text;
  for (const Dimension& dim : input.shape)
    text += (text.empty() ? "" : "x") + (dim.value >= 0 ? std::to_string(dim.value) : dim.symbol);
  return text;
}

Result<Layout> layout_of(const TensorInfo& input) {
  const int rank = static_cast<int>(input.shape.size()), first = rank - 3;
  const auto channels_at = [&](int axis) {
    const std::int64_t n = input.shape[static_cast<std::size_t>(axis)].value;
    return n == 1 || n == 3 ? static_cast<int>(n) : 0;
  };
  if (rank == 3 || rank == 4) {
    if (const int n = channels_at(first)) return Layout{first - 1, first, first + 1, first + 2, n};
    if (const int n = channels_at(rank - 1))
      return Layout{first - 1, rank - 1, first, first + 1, n};
  }
  return tl::unexpected(
      invalid(fmt::format("input '{}' is {}: an image goes into 1xCxHxW, 1xHxWxC, CxHxW or HxWxC "
                          "with 1 or 3 channels",
                          input.name, shape_text(input))));
}

// The dimension's value, `otherwise` (which `values` then gets) where it is free.
std::int64_t value_of(const Dimension& dim, std::int64_t otherwise, SymbolValues& values,
                      std::size_t run) {
  if (dim.value >= 0) return dim.value;
  const auto& list = values.try_emplace(dim.symbol, std::vector{otherwise}).first->second;
  return list[run % list.size()];
}

// How much of each source pixel, from `first` on, a target pixel takes.
struct Weights {
  int first = 0;
  std::vector<float> share;
};

std::vector<Weights> weights_of(int from, int to) {
  const double scale = static_cast<double>(from) / to, reach = std::max(scale, 1.0);
  std::vector<Weights> all(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    Weights& w = all[static_cast<std::size_t>(i)];
    w.first = std::clamp(static_cast<int>(std::floor(center - reach)), 0, from - 1);
    const int end = std::clamp(static_cast<int>(std::ceil(center + reach)), w.first + 1, from);
    double sum = 0;
    std::vector<double> share;
    for (int s = w.first; s < end; ++s) {
      share.push_back(std::max(0.0, 1 - std::abs(s + 0.5 - center) / reach));
      sum += share.back();
    }
    for (double each : share) w.share.push_back(static_cast<float>(each / sum));
  }
  return all;
}

// One direction: `lines` lines of `from` pixels that lie `stride` floats apart.
struct Lines {
  int lines = 0;
  std::size_t line_stride = 0, stride = 0;
};
void resample(const float* from, const Lines& in, float* to, const Lines& out, int channels,
              const std::vector<Weights>& weights) {
  for (int line = 0; line < in.lines; ++line) {
    const float* const source = from + static_cast<std::size_t>(line) * in.line_stride;
    float* const target = to + static_cast<std::size_t>(line) * out.line_stride;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      for (int c = 0; c < channels; ++c) {
        float sum = 0;
        const float* at = source + static_cast<std::size_t>(weights[i].first) * in.stride + c;
        for (float share : weights[i].share) {
          sum += share * *at;
          at += in.stride;
        }
        target[i * out.stride + static_cast<std::size_t>(c)] = sum;
      }
    }
  }
}

FloatImage blank(int width, int height, int channels, float value) {
  const auto size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                    static_cast<std::size_t>(channels);
  return {width, height, channels, std::vector<float>(size, value)};
}

FloatImage across(const FloatImage& image, int width) {
  FloatImage made = blank(width, image.height, image.channels, 0);
  const auto pixel = static_cast<std::size_t>(image.channels);
  resample(image.pixels.data(),
           {image.height, pixel * static_cast<std::size_t>(image.width), pixel}, made.pixels.data(),
           {image.height, pixel * static_cast<std::size_t>(width), pixel}, image.channels,
           weights_of(image.width, width));
  return made;
}

FloatImage down(const FloatImage& image, int height) {
  FloatImage made = blank(image.width, height, image.channels, 0);
  const auto pixel = static_cast<std::size_t>(image.channels);
  const Lines columns{image.width, pixel, pixel * static_cast<std::size_t>(image.width)};
  resample(image.pixels.data(), columns, made.pixels.data(), columns, image.channels,
           weights_of(image.height, height));
  return made;
}

// The part of `image` from (x, y) on, of that size; what lies outside of it is grey.
FloatImage part(const FloatImage& image, int x, int y, int width, int height) {
  FloatImage made = blank(width, height, image.channels, kBars);
  const auto channels = static_cast<std::size_t>(image.channels);
  const int left = std::max(-x, 0), right = std::min(width, image.width - x);
  for (int row = std::max(-y, 0); row < std::min(height, image.height - y); ++row) {
    const auto from = static_cast<std::size_t>(row + y) * static_cast<std::size_t>(image.width) +
                      static_cast<std::size_t>(left + x);
    const auto to = static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                    static_cast<std::size_t>(left);
    std::copy_n(&image.pixels[from * channels], static_cast<std::size_t>(right - left) * channels,
                &made.pixels[to * channels]);
  }
  return made;
}

int scaled(int side, double ratio, int most) {
  return static_cast<int>(std::clamp(std::round(side * ratio), 1.0, static_cast<double>(most)));
}

FloatImage fitted(const FloatImage& image, int width, int height, ImageFit fit) {
  const double wide = static_cast<double>(width) / image.width,
               high = static_cast<double>(height) / image.height;
  if (fit == ImageFit::kLetterbox) {
    const double ratio = std::min(wide, high);
    const FloatImage whole =
        resize(image, scaled(image.width, ratio, width), scaled(image.height, ratio, height));
    return part(whole, -(width - whole.width) / 2, -(height - whole.height) / 2, width, height);
  }
  if (fit == ImageFit::kStretch) return resize(image, width, height);
  const double ratio = std::max(wide, high);
  const int used_width = scaled(width, 1 / ratio, image.width),
            used_height = scaled(height, 1 / ratio, image.height);
  return resize(part(image, (image.width - used_width) / 2, (image.height - used_height) / 2,
                     used_width, used_height),
                width, height);
}

float each_channel(const std::vector<float>& values, int channel, float otherwise) {
  if (values.empty()) return otherwise;
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

template <class T>
void fill(const FloatImage& image, const ImageOptions& options, bool interleaved, T* to) {
  constexpr bool kInteger = std::is_integral_v<T>;
  const float scale = options.scale.value_or(kInteger ? 1.0F : 1.0F / 255);
  const auto area = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const float mean = each_channel(options.mean, static_cast<int>(c), 0);
    const float deviation = each_channel(options.deviation, static_cast<int>(c), 1);
    const std::size_t source = options.bgr ? channels - 1 - c : c;
    for (std::size_t i = 0; i < area; ++i) {
      float value = (image.pixels[i * channels + source] * scale - mean) / deviation;
      if constexpr (kInteger) {
        value = std::clamp(std::round(value), static_cast<float>(std::numeric_limits<T>::min()),
                           static_cast<float>(std::numeric_limits<T>::max()));
      }
      to[interleaved ? i * channels + c : c * area + i] = static_cast<T>(value);
    }
  }
}

Status check_options(const ImageOptions& options, const TensorInfo& input, int channels) {
  for (const auto& [name, list] :
       {std::pair{"--image-mean", &options.mean}, std::pair{"--image-std", &options.deviation}}) {
    if (list->size() > 1 && list->size() != static_cast<std::size_t>(channels)) {
      throw UsageError(fmt::format("{} has {} numbers, input '{}' {} channel{}", name, list->size(),
                                   input.name, channels, channels == 1 ? "" : "s"));
    }
  }
  if (input.dtype == DType::kF32 || input.dtype == DType::kU8) return {};
  return tl::unexpected(invalid(fmt::format("input '{}' is {}: an image makes float32 or uint8",
                                            input.name, to_string(input.dtype))));
}

}  // namespace

FloatImage resize(const FloatImage& image, int width, int height) {
  if (image.width == width && image.height == height) return image;
  // First the direction that leaves fewer pixels, never more than both images' larger one.
  const bool wide_first = std::int64_t{width} * image.height <= std::int64_t{height} * image.width;
  return wide_first ? down(across(image, width), height) : across(down(image, height), width);
}

Result<Tensor> image_tensor(const ImageOptions& options, const TensorInfo& input,
                            const std::string& path, SymbolValues& values, std::size_t run) {
  const auto layout = layout_of(input);
  if (!layout) return tl::unexpected(layout.error());
  if (auto status = check_options(options, input, layout->channels); !status)
    return tl::unexpected(status.error());
  const auto image = decode_image(path, layout->channels);
  if (!image) return tl::unexpected(image.error());
  if (image->orientation != 1 && run == 0) {
    fmt::print(stderr, "parallax: {} is turned as its EXIF orientation ({}) says\n", path,
               image->orientation);
  }
  const auto dim = [&](int axis, std::int64_t otherwise) {
    return value_of(input.shape[static_cast<std::size_t>(axis)], otherwise, values, run);
  };
  const std::int64_t batch = layout->batch < 0 ? 1 : dim(layout->batch, 1);
  if (batch != 1)
    throw UsageError(
        fmt::format("input '{}' needs {} images, --image gives one", input.name, batch));
  const std::int64_t height = dim(layout->height, image->height),
                     width = dim(layout->width, image->width);
  if (height < 1 || width < 1 || height > kMaxImageSide || width > kMaxImageSide ||
      height > kMaxImagePixels / width) {
    return tl::unexpected(
        invalid(fmt::format("input '{}' is {} x {} pixels, more than an image may have, or none",
                            input.name, width, height)));
  }
  Dims dims;
  for (int i = 0; i < static_cast<int>(input.shape.size()); ++i)
    dims.push_back(i == layout->batch     ? 1
                   : i == layout->channel ? layout->channels
                   : i == layout->height  ? height
                                          : width);
  auto tensor = Tensor::allocate(input.dtype, dims);
  if (!tensor) return tensor;
  const FloatImage made = fitted(
      {image->width, image->height, image->channels, {image->pixels.begin(), image->pixels.end()}},
      static_cast<int>(width), static_cast<int>(height), options.fit);
  const bool interleaved = layout->channel > layout->width;
  if (input.dtype == DType::kF32)
    fill(made, options, interleaved, tensor->mutable_view().as<float>());
  else
    fill(made, options, interleaved, tensor->mutable_view().as<std::uint8_t>());
  return tensor;
}

}  // namespace parallax::cli
