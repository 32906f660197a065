/* Tensors, types, statuses and allocators as every C surface of Parallax passes them: delegates,
 * custom operators, the C API. C11 and C++.
 *
 * A struct begins with its size, which the code that fills it sets to the sizeof of the struct that
 * it was compiled with. Fields are only ever added at the end. The code that reads a struct reads no
 * field that lies beyond its size, and takes such a field for 0.
 *
 * Version 0: structs may still change. Thread-safety: plain values. */
#ifndef PARALLAX_C_TYPES_H_
#define PARALLAX_C_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as C has them. */

/* Numbers of ONNX's TensorProto.DataType. */
typedef int32_t px_dtype;
enum {
  PX_FLOAT32 = 1,
  PX_UINT8 = 2,
  PX_INT8 = 3,
  PX_UINT16 = 4,
  PX_INT16 = 5,
  PX_INT32 = 6,
  PX_INT64 = 7,
  PX_STRING = 8,
  PX_BOOL = 9,
  PX_FLOAT16 = 10,
  PX_FLOAT64 = 11,
  PX_UINT32 = 12,
  PX_UINT64 = 13,
  PX_BFLOAT16 = 16,
  PX_FLOAT8_E4M3FN = 17,
  PX_FLOAT8_E4M3FNUZ = 18,
  PX_FLOAT8_E5M2 = 19,
  PX_FLOAT8_E5M2FNUZ = 20,
  PX_UINT4 = 21,
  PX_INT4 = 22,
  PX_FLOAT4_E2M1FN = 23,
  PX_FLOAT8_E8M0FNU = 24,
  PX_UINT2 = 25,
  PX_INT2 = 26
};

/* A dense row-major tensor in memory that the struct does not own. */
typedef struct px_tensor {
  size_t size;
  px_dtype dtype;
  int32_t rank;        /* 0: a scalar */
  const int64_t* dims; /* `rank` numbers, each >= 0 */
  void* data;          /* aligned to an element's size; not written where the tensor is an input */
  size_t bytes;        /* of data: those of all elements */
} px_tensor;

/* What is known of a tensor before there is one. */
typedef struct px_type {
  size_t size;
  px_dtype dtype;
  int32_t rank;
  const int64_t* dims;        /* `rank` numbers, -1 where only a run tells */
  const char* const* symbols; /* `rank` texts such as "2*seq + 1", null where a number is known */
} px_type;

/* What went wrong: ErrorCode of parallax/result.h plus 1. */
typedef int32_t px_code;
enum {
  PX_OK = 0,
  PX_INVALID_MODEL = 1,
  PX_UNSUPPORTED = 2,
  PX_INVALID_INPUT = 3,
  PX_UNBOUND_SYMBOL = 4,
  PX_OUT_OF_RANGE = 5,
  PX_BUDGET_EXCEEDED = 6,
  PX_OUT_OF_MEMORY = 7,
  PX_LIMIT_EXCEEDED = 8,
  PX_CANCELLED = 9,
  PX_IO = 10,
  PX_INTERNAL = 11
};

/* How a call ended. Its receiver calls release(owner), unless that is null, once it has read the
 * texts. */
typedef struct px_status {
  size_t size;
  px_code code;
  const char* node;    /* of the model; null: none is at fault */
  const char* message; /* one line; null: PX_OK, or no text */
  void* owner;
  void (*release)(void* owner);
} px_status;

/* Memory of the user's. Both functions are called by any thread. */
typedef struct px_allocator {
  size_t size;
  void* context;
  /* `bytes` at a multiple of `alignment`, a power of two; null: there is none. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  /* Takes back what allocate gave, with the same numbers. */
  void (*deallocate)(void* context, void* memory, size_t bytes, size_t alignment);
} px_allocator;

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
