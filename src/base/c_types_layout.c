/* parallax/c_types.h and delegate.h as C11 sees and uses them: for c_types_test.cc. */
#include <stdlib.h>

#include "parallax/delegate.h"

#define PX_SIZE(type) sizeof(type),
#define PX_FIELD(type, field) offsetof(type, field),
static const size_t layout[] = {
#include "base/c_types_layout.def"
};

const size_t* px_c_layout(size_t* count);
px_allocator px_c_allocator(int* calls);
px_status px_c_failure(int* calls);
int px_c_sum(const px_tensor* tensor, double* sum);
px_code px_c_fail(px_status* status);

const size_t* px_c_layout(size_t* count) {
  *count = sizeof layout / sizeof *layout;
  return layout;
}

static void* allocate(void* context, size_t bytes, size_t alignment) {
  ++*(int*)context;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void deallocate(void* context, void* memory, size_t bytes, size_t alignment) {
  (void)bytes;
  (void)alignment;
  --*(int*)context;
  free(memory);
}

px_allocator px_c_allocator(int* calls) {
  px_allocator result = {sizeof result, calls, allocate, deallocate};
  return result;
}

static void release(void* owner) { ++*(int*)owner; }

px_status px_c_failure(int* calls) {
  px_status result = {sizeof result, PX_OUT_OF_RANGE, "gather", "index 7 of 5", calls, release};
  return result;
}

/* Of the elements of an f32 tensor; 0 for other tensors. */
int px_c_sum(const px_tensor* tensor, double* sum) {
  const float* data = tensor->data;
  size_t elements = 1;
  if (tensor->dtype != PX_FLOAT32) return 0;
  for (int32_t i = 0; i < tensor->rank; ++i) elements *= (size_t)tensor->dims[i];
  *sum = 0;
  for (size_t i = 0; i < elements; ++i) *sum += data[i];
  return 1;
}

px_code px_c_fail(px_status* status) { return px_fail(status, PX_OUT_OF_MEMORY, "device full"); }
