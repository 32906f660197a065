#include "inputs/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "files/npy.h"
#include "files/pb.h"
#include "files/pb_objects.h"
#include "inputs/image_input.h"
#include "inputs/state.h"
#include "parallax/elements.h"

namespace parallax::cli {
namespace {

// The fractions in [0, 1) that floats of the type have between them have as many bits.
unsigned bits_of_fraction(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
      return 4;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 3;
    case DType::kF4E2M1:
      return 1;
    default:
      return 24;
  }
}

double random_number(DType dtype, std::mt19937_64& random) {
  const DTypeInfo& info = info_of(dtype);
  if (info.kind == DTypeClass::kBool) return 1;
  if (dtype == DType::kF8E8M0) return std::ldexp(1.0, -1 - static_cast<int>(random() % 4));
  if (info.kind == DTypeClass::kFloat) {
    const unsigned bits = bits_of_fraction(dtype);
    return std::ldexp(static_cast<double>(random() >> (64 - bits)), -static_cast<int>(bits));
  }
  // Those of 2 and 4 bits end before 9.
  const int greatest = info.bits >= 8                     ? 9
                       : info.kind == DTypeClass::kSigned ? (1 << (info.bits - 1)) - 1
                                                          : std::min(9, (1 << info.bits) - 1);
  return static_cast<double>(1 + random() % static_cast<unsigned>(greatest));
}

/// Writes `next()` to each element.
template <class T, class Next>
void fill(MutableTensorView tensor, const Next& next) {
  const auto n = static_cast<std::size_t>(tensor.dims.elements());
  for (T& element : std::span(tensor.as<T>(), n)) element = static_cast<T>(next());
}

void fill_random(MutableTensorView tensor, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto fraction = [&] { return static_cast<float>(random() >> 40U) * 0x1p-24F; };
  const auto whole = [&] { return 1 + random() % 9; };
  switch (tensor.dtype) {  // the same numbers sooner, for types that most inputs have
    case DType::kF32:
      return fill<float>(tensor, fraction);
    case DType::kU8:
      return fill<std::uint8_t>(tensor, whole);
    case DType::kI8:
      return fill<std::int8_t>(tensor, whole);
    case DType::kI32:
      return fill<std::int32_t>(tensor, whole);
    case DType::kI64:
      return fill<std::int64_t>(tensor, whole);
    case DType::kBool:
      return fill<bool>(tensor, [] { return true; });
    default:
      break;
  }
  for (std::int64_t i = 0; i < tensor.dims.elements(); ++i)
    write_element(tensor.dtype, random_number(tensor.dtype, random), tensor.bytes.data(), i);
}

// "NAME=FILE" of an option, taken apart.
struct NamedFile {
  const TensorInfo& input;
  std::string file;
};
// The only input whose value is not the model's own state; null if there are several.
const TensorInfo* only_input(const Model& model) {
  const TensorInfo* only = nullptr;
  for (const TensorInfo& info : model.inputs()) {
    const auto gives = [&](const Tie& tie) { return tie.input == info.name; };
    if (std::ranges::any_of(model.ties(), gives)) continue;
    if (only != nullptr) return nullptr;
    only = &info;
  }
  return only;
}

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
  // A TFLite file may have an input without a name.
  if (const TensorInfo* only = only_input(model); only != nullptr && text.starts_with('='))
    return {*only, text.substr(1)};
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

Result<Tensor> read_pb_as(const std::string& file, DType wanted) {
  const auto message = read_pb(file);
  if (!message) return tl::unexpected(message.error());
  auto tensor = parse_pb_tensor(*message, file);
  if (!tensor || tensor->dtype() == wanted) return tensor;
  return tl::unexpected(Error{Stage::kFiles,
                              ErrorCode::kInvalidInput,
                              {},
                              fmt::format("{}: holds {}, {} is wanted", file,
                                          to_string(tensor->dtype()), to_string(wanted))});
}

Result<Tensor> read_input(const NamedFile& from, const Options& options, const SymbolValues& given,
                          SymbolValues& values) {
  auto tensor = is_pb(from.file) ? read_pb_as(from.file, from.input.dtype)
                                 : read_npy_as(from.file, from.input.dtype, options.cast);
  if (!tensor) {
    tensor.error().message += fmt::format(" (input '{}')", from.input.name);
    return tensor;
  }
  bind_symbols(from, tensor->dims(), given, values);
  return tensor;
}

Error no_object(const TensorInfo& info, std::string_view what) {
  return {Stage::kFiles,
          ErrorCode::kInvalidInput,
          {},
          fmt::format("input '{}' ({}) {}", info.name, type_text(info), what)};
}

/// A tensor is an optional that has one.
Result<Object> object_in(const NamedFile& from, bool cast) {
  const TensorInfo& info = from.input;
  if (is_pb(from.file)) {
    const auto message = read_pb(from.file);
    return message ? parse_pb_object(*message, info, from.file) : tl::unexpected(message.error());
  }
  if (info.containers != std::vector{ObjectType::kOptional} || info.dtype == DType::kString)
    return tl::unexpected(no_object(info, "comes from a .pb file only"));
  auto tensor = read_npy_as(from.file, info.dtype, cast);
  if (!tensor) return tl::unexpected(tensor.error());
  return Object::optional(Object::tensor(*std::move(tensor)));
}

/// Reads the files that `--input` gives for inputs that are objects, and the symbols in their
/// strings.
Result<std::map<std::string, Object>> read_object_files(const Options& options, const Model& model,
                                                        SymbolValues& values) {
  const SymbolValues given = symbol_values(options, model);
  std::map<std::string, Object> files;
  for (const std::string& text : options.inputs) {
    const NamedFile from = named_file("--input", text, model);
    if (!is_object(from.input)) continue;
    auto object = object_in(from, options.cast);
    if (!object) return tl::unexpected(object.error());
    if (from.input.containers.empty()) bind_symbols(from, object->dims(), given, values);
    if (!files.emplace(from.input.name, *std::move(object)).second)
      throw UsageError(fmt::format("--input {} is given twice", from.input.name));
  }
  for (const TensorInfo& info : model.inputs())
    if (!info.containers.empty() && !files.contains(info.name))
      return tl::unexpected(no_object(info, "is not given and cannot be made up"));
  return files;
}

Result<Object> random_strings(const Dims& dims, std::uint64_t seed) {
  auto numbers = Tensor::allocate(DType::kI64, dims);
  if (!numbers) return tl::unexpected(numbers.error());
  fill_random(numbers->mutable_view(), seed);
  std::vector<std::string> strings;
  for (std::int64_t i = 0; i < dims.elements(); ++i)
    strings.push_back(std::to_string(numbers->view().as<std::int64_t>()[i]));
  return Object::strings(dims, std::move(strings));
}

/// A damaged file may ask for inputs as large as all memory. All inputs that are made up for a run
/// have at most as many elements: 512 MiB of f32, 890 images of 224x224.
constexpr std::int64_t kMaxMadeUpElements = 1 << 27;

/// Makes up inputs, the last of `inputs`. Tied ones are zeros.
struct InputMaker {
  Inputs& inputs;
  std::int64_t room = kMaxMadeUpElements;

  Status make(const Dims& dims, const TensorInfo& info, std::uint64_t seed) {
    const auto elements = dims.checked_elements();
    if (!elements || *elements > room)
      return tl::unexpected(no_object(
          info, fmt::format("{} is too large: inputs of at most {} elements in all are made up; "
                            "--input gives them",
                            dims.to_string(), kMaxMadeUpElements)));
    room -= *elements;
    if (is_object(info)) {
      auto strings = random_strings(dims, seed);
      if (!strings) return tl::unexpected(strings.error());
      inputs.objects.back() = *std::move(strings);
      inputs.tensors.emplace_back();
      return {};
    }
    auto tensor = Tensor::allocate(info.dtype, dims);
    if (!tensor) {
      tensor.error().message += fmt::format(" (input '{}')", info.name);
      return tl::unexpected(tensor.error());
    }
    if (!inputs.tied.back()) fill_random(tensor->mutable_view(), seed);
    inputs.tensors.push_back(std::move(*tensor));
    return {};
  }
};

}  // namespace

Result<std::map<std::string, Tensor>> read_input_files(const Options& options, const Model& model,
                                                       SymbolValues& values, std::size_t run) {
  const SymbolValues given = symbol_values(options, model);
  std::map<std::string, Tensor> files;
  const auto read = [&](std::string_view option, const std::string& text,
                        const auto& read_one) -> Status {
    const NamedFile from = named_file(option, text, model);
    if (is_object(from.input)) return {};
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
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!tied[i]) views.push_back({names[i], tensors[i].view(), objects[i]});
  return views;
}

std::vector<NamedInput> Inputs::all_views() const {
  std::vector<NamedInput> views;
  for (std::size_t i = 0; i < names.size(); ++i)
    views.push_back({names[i], tensors[i].view(), objects[i]});
  return views;
}

Result<Inputs> make_inputs(const Options& options, const Model& model, const Session& session,
                           SymbolValues& values, std::size_t run) {
  auto files = read_input_files(options, model, values, run);
  if (!files) return tl::unexpected(files.error());
  auto objects = read_object_files(options, model, values);
  if (!objects) return tl::unexpected(objects.error());
  Inputs inputs;
  InputMaker maker{inputs};
  std::vector<Tie> ties = ties_of(options, model);
  ties.insert(ties.end(), model.ties().begin(), model.ties().end());
  std::optional<std::vector<Dims>> dims;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const TensorInfo& info = model.inputs()[i];
    inputs.names.push_back(info.name);
    inputs.objects.emplace_back();
    inputs.tied.push_back(std::ranges::find(ties, info.name, &Tie::input) != ties.end());
    inputs.first.push_back(!files->contains(info.name) &&
                           std::ranges::find(model.ties(), info.name, &Tie::input) !=
                               model.ties().end());
    if (auto file = objects->find(info.name); file != objects->end()) {
      inputs.objects.back() = std::move(file->second);
      inputs.tensors.emplace_back();
      continue;
    }
    if (auto file = files->find(info.name); file != files->end()) {
      inputs.tensors.push_back(std::move(file->second));
      continue;
    }
    if (!dims) {
      auto bound = session.input_dims(dims_of_run(values, run));
      if (!bound) return tl::unexpected(bound.error());
      dims = std::move(*bound);
    }
    if (auto status = maker.make((*dims)[i], info, options.seed * 1000003 + i); !status)
      return tl::unexpected(status.error());
  }
  return inputs;
}

}  // namespace parallax::cli
