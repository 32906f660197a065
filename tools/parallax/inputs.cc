#include "inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <random>
#include <type_traits>

#include "image_input.h"
#include "npy.h"

namespace parallax::cli {
namespace {

void fill_random(MutableTensorView tensor, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::int64_t n = tensor.dims.elements();
  dispatch<kComputedTypes>(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        tensor.as<T>()[i] = static_cast<T>(random() >> 40U) * static_cast<T>(0x1p-24);
      } else if constexpr (std::is_same_v<T, bool>) {
        tensor.as<T>()[i] = true;
      } else {
        tensor.as<T>()[i] = static_cast<T>(1 + random() % 9);
      }
    }
  });
}

// "NAME=FILE" of an option, taken apart.
struct NamedFile {
  const TensorInfo& input;
  std::string file;
};
NamedFile named_file(std::string_view option, const std::string& text, const Model& model) {
  // A name may hold '=' itself: take the longest one that the model has.
  const TensorInfo* found = nullptr;
  std::vector<std::string> known;
  for (const TensorInfo& info : model.inputs()) {
    known.push_back(info.name);
    if (text.starts_with(info.name + "=") && (!found || info.name.size() >= found->name.size()))
      found = &info;
  }
  if (found) return {*found, text.substr(found->name.size() + 1)};
  throw UsageError(fmt::format("{} {}: the model has no input '{}'; it has {}", option, text,
                               text.substr(0, text.find('=')), fmt::join(known, ", ")));
}

// Binds the symbols that the dimensions of a file tell. Files that contradict each other are left
// to the session, which names both shapes.
void bind_symbols(const NamedFile& from, const Dims& dims, const SymbolValues& given,
                  SymbolValues& values) {
  if (static_cast<int>(from.input.shape.size()) != dims.rank()) return;
  for (int i = 0; i < dims.rank(); ++i) {
    const Dimension& dim = from.input.shape[static_cast<std::size_t>(i)];
    if (dim.value >= 0) continue;
    values.try_emplace(dim.symbol, std::vector{dims[i]});
    const auto known = given.find(dim.symbol);
    if (known == given.end() || known->second == std::vector{dims[i]}) continue;
    throw UsageError(
        fmt::format("--input {}={}: dimension '{}' is {} there, --dim or --shape gives "
                    "{}{}",
                    from.input.name, from.file, dim.symbol, dims[i], known->second.front(),
                    known->second.size() > 1 ? ",..." : ""));
  }
}

Result<Tensor> read_input(const NamedFile& from, const Options& options, const SymbolValues& given,
                          SymbolValues& values) {
  auto tensor = read_npy_as(from.file, from.input.dtype, options.cast);
  if (!tensor) {
    tensor.error().message += fmt::format(" (input '{}')", from.input.name);
    return tensor;
  }
  bind_symbols(from, tensor->dims(), given, values);
  return tensor;
}

}  // namespace

Result<std::map<std::string, Tensor>> read_input_files(const Options& options, const Model& model,
                                                       SymbolValues& values, std::size_t run) {
  const SymbolValues given = symbol_values(options, model);
  std::map<std::string, Tensor> files;
  const auto read = [&](std::string_view option, const std::string& text,
                        const auto& read_one) -> Status {
    const NamedFile from = named_file(option, text, model);
    if (files.contains(from.input.name))
      throw UsageError(fmt::format("{} {} is given twice", option, from.input.name));
    auto tensor = read_one(from);
    if (!tensor) return tl::unexpected(tensor.error());
    files.emplace(from.input.name, *std::move(tensor));
    return {};
  };
  for (const std::string& text : options.inputs) {
    const auto npy = [&](const NamedFile& from) {
      return read_input(from, options, given, values);
    };
    if (auto status = read("--input", text, npy); !status) return tl::unexpected(status.error());
  }
  for (const std::string& text : options.images) {
    const auto image = [&](const NamedFile& from) {
      return image_tensor(options.image, from.input, from.file, values, run);
    };
    if (auto status = read("--image", text, image); !status) return tl::unexpected(status.error());
  }
  return files;
}

std::vector<NamedInput> Inputs::views() const {
  std::vector<NamedInput> views;
  for (std::size_t i = 0; i < names.size(); ++i) views.push_back({names[i], tensors[i].view()});
  return views;
}

Result<Inputs> make_inputs(const Options& options, const Model& model, const Session& session,
                           SymbolValues& values, std::size_t run) {
  auto files = read_input_files(options, model, values, run);
  if (!files) return tl::unexpected(files.error());
  Inputs inputs;
  std::optional<std::vector<Dims>> dims;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const TensorInfo& info = model.inputs()[i];
    inputs.names.push_back(info.name);
    if (auto file = files->find(info.name); file != files->end()) {
      inputs.tensors.push_back(std::move(file->second));
      continue;
    }
    if (!dims) {
      auto bound = session.input_dims(dims_of_run(values, run));
      if (!bound) return tl::unexpected(bound.error());
      dims = std::move(*bound);
    }
    auto tensor = Tensor::allocate(info.dtype, (*dims)[i]);
    if (!tensor) {
      tensor.error().message += fmt::format(" (input '{}')", info.name);
      return tl::unexpected(tensor.error());
    }
    fill_random(tensor->mutable_view(), options.seed * 1000003 + i);
    inputs.tensors.push_back(std::move(*tensor));
  }
  return inputs;
}

}  // namespace parallax::cli
