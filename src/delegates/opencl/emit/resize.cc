// Emits Resize, nearest and linear: the source of each position of each axis is computed here, in
// the same way as by the reference kernel.
#include "delegates/opencl/emit/emitters.h"
#include "kernels/reference/resize_source.h"

namespace parallax::opencl {
namespace {

struct ResizeTables {
  std::vector<std::int32_t> low;
  std::vector<float> fraction;
  StridesArgument starts;
  std::int32_t blended = 0;  ///< axes that have fractions, a bit each
};

/// Axes fastest first, as kernels have them.
Result<ResizeTables> resize_tables(const ResizeShape& shape, const std::byte* scales,
                                   bool by_scales) {
  ResizeTables tables;
  const int rank = shape.in.rank();
  for (int k = 0; k < rank; ++k) {
    const int axis = rank - 1 - k;
    tables.starts.at[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(tables.low.size());
    const ResizeScale scale = resize_scale(shape, axis, scales, by_scales);
    if (!(scale.above > 0.0F)) return bad_step("a scale is not positive");
    for (std::int64_t i = 0; i < shape.out[axis]; ++i) {
      const ResizeSource source = resize_source(shape, axis, i, scale);
      tables.low.push_back(static_cast<std::int32_t>(source.low));
      tables.fraction.push_back(source.fraction);
      if (source.fraction != 0.0F) tables.blended |= 1 << k;
    }
  }
  return tables;
}

}  // namespace

Status emit_resize(Emission& e) {
  if (e.out().elements() == 0) return {};
  if (e.in(0).elements() == 0) return bad_step("no element to resize");
  if (e.in(0).rank() == 0) return emit_view(e);
  const ResizeShape shape = resize_shape(e.node.attributes, e.in(0), e.out());
  if (!shape.is_plain()) return not_covered("only plain nearest and linear are covered");
  const bool by_scales = e.has(2) && e.inputs[2].desc.elements() > 0;
  if (by_scales && e.inputs[2].desc.data == nullptr)
    return not_covered("scales are known to the device only");
  PX_ASSIGN(const ResizeTables tables,
            resize_tables(shape, by_scales ? e.inputs[2].desc.data : nullptr, by_scales));
  const Walk walk = plain_walk_of(e.out(), {shape.strides});
  if (tables.blended == 0) {
    e.launch(e.half ? KernelId::pick_16 : KernelId::pick_32, {walk.groups, 1, 1},
             {walk.space, e.input(0), walk.operands[0], e.table(tables.low), tables.starts, 0,
              TensorArgument{}, e.output()});
  } else {
    e.launch(KernelId::blend, {walk.groups, 1, 1},
             {walk.space, e.input(0), walk.operands[0], e.table(tables.low),
              e.table(tables.fraction), tables.starts, tables.blended, e.output()});
  }
  return {};
}

}  // namespace parallax::opencl
