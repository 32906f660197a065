// ImageDecoder: the pixels of an image file.
#include "ops/params/image_decoder.h"
#include "ops/common.h"

namespace parallax {

namespace {

InferResult infer_image_decoder(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, dtype_bit(DType::kU8)));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 1));
  PX_ASSIGN(const auto params, read_params<ImageDecoderParams>(context));
  Shape shape = fresh_shape(context, 2);
  shape.push_back(Expr(params.pixel_format == PixelFormat::kGray ? 1 : 3));
  return one_output(DType::kU8, std::move(shape));
}

}  // namespace

/// [height, width, channels] u8; [0, 0, channels] if the bytes are no image that is known.
const OpDef& op_def_ImageDecoder() {
  static const OpDef def = [] {
    OpDef d(OpKind::kImageDecoder,
            whole_tensors(WorkKind::kElementwise, ConformanceForm::kSizedByRunning));
    d.since = 20;
    d.attributes = attributes_of<ImageDecoderParams>();
    d.infer = infer_image_decoder;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

}  // namespace parallax
