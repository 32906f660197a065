#include "kernels/onednn/engine.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/recently_used.h"
#include "base/status.h"

// All that is needed of OpenMP. Each compiler brings an omp.h that others, and the linters, cannot
// read.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace parallax {
namespace {

using dnnl::memory;

constexpr std::size_t kMaxPrimitives = 1024;

Error internal_error(const char* what) {
  return {Stage::kExecute, ErrorCode::kInternal, {}, std::string("oneDNN: ") + what};
}

Error out_of_memory() {
  return {Stage::kExecute, ErrorCode::kOutOfMemory, {}, "oneDNN: out of memory"};
}

/// Least recently used first out.
class PrimitiveCache {
 public:
  std::shared_ptr<const DnnlPrimitive> find(const std::string& key) {
    const MutexLock lock(mutex_);
    const auto* const found = primitives_.find(key);
    return found == nullptr ? nullptr : *found;
  }

  void insert(const std::string& key, std::shared_ptr<const DnnlPrimitive> primitive) {
    const MutexLock lock(mutex_);
    if (primitives_.find(key) != nullptr) return;
    primitives_.insert(key, std::move(primitive));
    if (primitives_.size() > kMaxPrimitives) primitives_.forget_oldest();
  }

 private:
  Mutex mutex_;
  RecentlyUsed<std::string, std::shared_ptr<const DnnlPrimitive>> primitives_ PX_GUARDED_BY(mutex_);
};

PrimitiveCache& primitive_cache() {
  // Never destroyed: threads may still run when the program's statics go.
  static auto* const cache = new PrimitiveCache;
  return *cache;
}

/// A stream is not thread-safe, and cheap to keep.
dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(dnnl_engine());
  return stream;
}

}  // namespace

const dnnl::engine& dnnl_engine() {
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

DnnlSingleThread::DnnlSingleThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

DnnlSingleThread::~DnnlSingleThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

std::shared_ptr<const DnnlPrimitive> dnnl_primitive_for(
    const std::string& key, const std::function<DnnlPrimitive()>& make) {
  PrimitiveCache& cache = primitive_cache();
  if (auto found = cache.find(key)) return found;
  const DnnlSingleThread single;
  try {
    auto primitive = std::make_shared<const DnnlPrimitive>(make());
    cache.insert(key, primitive);
    return primitive;
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

std::string dnnl_layout_key(const memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  std::string key = "dnnl";
  const auto append = [&key](std::int64_t number) { (key += ' ') += std::to_string(number); };
  append(d.data_type);
  for (int i = 0; i < d.ndims; ++i) {
    append(d.dims[i]);
    append(d.padded_dims[i]);
    append(d.format_desc.blocking.strides[i]);
  }
  for (int i = 0; i < d.format_desc.blocking.inner_nblks; ++i) {
    append(d.format_desc.blocking.inner_blks[i]);
    append(d.format_desc.blocking.inner_idxs[i]);
  }
  return key;
}

Result<DnnlPacked> dnnl_pack(PackedWeights& packed, const DnnlSource& source,
                             const memory::desc& from, const memory::desc& to) {
  const auto fill = [source, from, to](std::byte* destination) {
    const DnnlSingleThread single;
    // Constants may lie anywhere in their file: a copy that is aligned for oneDNN.
    memory aligned(from, dnnl_engine());
    auto* copy = static_cast<std::byte*>(aligned.get_data_handle());
    for (std::int64_t row = 0; row < source.rows; ++row) {
      std::memcpy(copy + row * source.row_bytes, source.data + row * source.stride,
                  static_cast<std::size_t>(source.row_bytes));
    }
    memory target(to, dnnl_engine(), destination);
    dnnl::reorder(aligned, target).execute(thread_stream(), aligned, target);
  };
  try {
    const auto bytes = static_cast<std::int64_t>(to.get_size());
    const std::string layout =
        fmt::format("{} from {} x {} of {},{}", dnnl_layout_key(to), source.rows, source.row_bytes,
                    source.stride, dnnl_layout_key(from));
    return packed.get(source.data, layout, bytes, fill);
  } catch (const dnnl::error& error) {
    return tl::unexpected(internal_error(error.what()));
  } catch (const std::bad_alloc&) {
    return tl::unexpected(out_of_memory());
  }
}

Status dnnl_execute(const DnnlPrimitive& primitive, const DnnlOperands& operands) {
  const DnnlSingleThread single;
  try {
    const auto bind = [](const memory::desc& desc, const void* data) {
      return memory(desc, dnnl_engine(), const_cast<void*>(data));
    };
    const memory src = bind(primitive.src, operands.src);
    const memory dst = bind(primitive.dst, operands.dst);
    const memory weights = bind(primitive.weights, operands.weights);
    const memory bias = operands.bias == nullptr ? memory() : bind(primitive.bias, operands.bias);
    const memory scratchpad = bind(primitive.scratchpad, operands.scratchpad);
    std::array<dnnl_exec_arg_t, 5> args;
    int count = 0;
    const auto add = [&](int arg, const memory& operand) {
      args[static_cast<std::size_t>(count++)] = {arg, operand.get()};
    };
    add(DNNL_ARG_SRC, src);
    add(DNNL_ARG_WEIGHTS, weights);
    if (operands.bias != nullptr) add(DNNL_ARG_BIAS, bias);
    add(DNNL_ARG_DST, dst);
    add(DNNL_ARG_SCRATCHPAD, scratchpad);
    const dnnl_status_t status = dnnl_primitive_execute(primitive.primitive.get(),
                                                        thread_stream().get(), count, args.data());
    if (status == dnnl_out_of_memory) return tl::unexpected(out_of_memory());
    if (status != dnnl_success) return tl::unexpected(internal_error("execution failed"));
  } catch (const dnnl::error& error) {
    return tl::unexpected(internal_error(error.what()));
  } catch (const std::bad_alloc&) {
    return tl::unexpected(out_of_memory());
  }
  return {};
}

dnnl::primitive_attr dnnl_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Result<std::unique_ptr<Kernel>> dnnl_make_kernel(
    const std::function<Result<std::unique_ptr<Kernel>>()>& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) return tl::unexpected(out_of_memory());
    return nullptr;
  } catch (const std::bad_alloc&) {
    return tl::unexpected(out_of_memory());
  }
}

}  // namespace parallax
