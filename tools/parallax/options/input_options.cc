#include "options/input_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "options/option_forms.h"

namespace parallax::cli {
namespace {

// An option that names an input and a file, as NAME=FILE.
CLI::Option* add_files(CLI::App& command, const char* name, std::vector<std::string>& files,
                       const char* what) {
  return add_repeated(
             command, name,
             [&files, name](const std::string& text) {
               const std::size_t equals = text.find('=');
               if (equals == std::string::npos || equals + 1 == text.size())
                 throw UsageError(fmt::format("{} {}: expected NAME=FILE", name, text));
               files.push_back(text);
             },
             what)
      ->type_name("NAME=FILE");
}

void add_images(CLI::App& command, Options& options) {
  CLI::Option* image =
      add_files(command, "--image", options.images,
                "An input's values from a JPEG, PNG or BMP file, in the size that the input has");
  const auto numbers = [&](const char* name, std::vector<float>& values,
                           const CLI::Validator& range, const char* what) {
    command.add_option(name, values, what)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(range)
        ->type_name("X[,X,X]")
        ->needs(image);
  };
  numbers("--image-mean", options.image.mean, within(-1e6, 1e6),
          "What is taken off each channel behind the scale (0)");
  numbers("--image-std", options.image.deviation, within(1e-6, 1e6),
          "What each channel is then divided by (1)");
  command
      .add_option("--image-scale", options.image.scale,
                  "What pixels, 0 to 255, are multiplied by (1/255; uint8 inputs: 1)")
      ->check(within(-1e6, 1e6))
      ->type_name("X")
      ->needs(image);
  add_choice<bool>(command, "--image-order", options.image.bgr, {{"rgb", false}, {"bgr", true}},
                   "The order of channels: rgb (the default) or bgr")
      ->needs(image);
  add_choice<ImageFit>(command, "--image-fit", options.image.fit,
                       {{"stretch", ImageFit::kStretch},
                        {"letterbox", ImageFit::kLetterbox},
                        {"crop", ImageFit::kCrop}},
                       "How images get the input's size: stretch (the default), letterbox (whole, "
                       "with grey bars) or crop (the middle)")
      ->needs(image);
}

}  // namespace

void add_inputs(CLI::App& command, Options& options) {
  add_files(command, "--input", options.inputs,
            "An input's values from an .npy file, or ONNX's .pb; others are made up");
  command.add_flag("--cast", options.cast,
                   "Convert the numbers of such a file to the type that the input has");
  command.add_option("--seed", options.seed, "Seed of inputs that are made up")
      ->check(within(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("S");
  add_images(command, options);
}

void add_ties(CLI::App& command, Options& options) {
  add_repeated(
      command, "--tie",
      [&options](const std::string& text) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
          throw UsageError(fmt::format("--tie {}: expected INPUT=OUTPUT", text));
        options.ties.push_back(text);
      },
      "An input that is state: a run reads it as the run before left the output. It begins "
      "with zeros, or what --input gives; may be given several times")
      ->type_name("INPUT=OUTPUT");
}

void add_reset(CLI::App& command, Options& options) {
  command.add_flag("--reset-state", options.reset_state,
                   "Each run starts from the first values of tied inputs again");
}

}  // namespace parallax::cli
