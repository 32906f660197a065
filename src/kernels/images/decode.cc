// ImageDecoder. One kernel serves all libraries: decoding is parsing, not arithmetic.
#include <fmt/core.h>

#include "kernels/images/image_file.h"
#include "kernels/reference/common.h"

namespace parallax {

/// A file that cannot be decoded yields an image without pixels, as the standard requires; an
/// unsupported format is an error.
KernelResult reference_image_decoder(const KernelRequest& request) {
  const PixelFormat format = params_of<ImageDecoderParams>(request.node).pixel_format;
  const std::int64_t channels = format == PixelFormat::kGray ? 1 : 3;
  const std::int64_t bytes = request.inputs[0].elements();
  return make_lambda_kernel(
      {.dynamic_outputs = true}, [=](std::int64_t, const KernelArgs& args) -> Status {
        const FileBytes file({args.in<std::uint8_t>(0), static_cast<std::size_t>(bytes)});
        const ImageFormat* const known = image_format(file);
        if (known != nullptr && known->size == nullptr) {
          return run_error(ErrorCode::kUnsupported,
                           fmt::format("{} files are not covered", known->name));
        }
        const auto size = known == nullptr ? std::nullopt : known->size(file);
        // Damage may show only at the end of a file, so a first pass decodes without writing.
        PixelWriter nowhere(format, 0, nullptr);
        if (size && known->decode(file, *size, nowhere)) {
          PX_ASSIGN(std::byte* const to,
                    args.dynamic->allocate(0, {size->height, size->width, channels}));
          PixelWriter pixels(format, size->width, reinterpret_cast<std::uint8_t*>(to));
          known->decode(file, *size, pixels);
          return {};
        }
        PX_RETURN_IF_ERROR(args.dynamic->allocate(0, {0, 0, channels}));
        return {};
      });
}

}  // namespace parallax
