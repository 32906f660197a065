/* Tensors, types, statuses and allocators of all C interfaces of Parallax: delegates, custom
 * operators, the C API. C11 and C++.
 *
 * A struct begins with its size. The code that fills a struct sets it to the sizeof of the struct
 * that it was compiled with. Fields are only ever added at the end. The code that reads a struct
 * must not read a field beyond its size, and treats such a field as 0.
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

/* An element type: its number in ONNX's TensorProto.DataType. The complex types,
 * 14 and 15, are not supported. A px_tensor never holds PX_STRING. Elements smaller than a byte are
 * packed, the first in the low bits of a byte. */
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

/* A dense row-major tensor. The struct owns neither `dims` nor `data`; the function that passes it
 * says how long they are valid. A tensor without elements (a dimension is 0) may have null
 * `data`. */
typedef struct px_tensor {
  size_t size;
  px_dtype dtype;
  int32_t rank;        /* 0: a scalar */
  const int64_t* dims; /* `rank` numbers, each >= 0, outermost first */
  void* data;          /* aligned to an element's size; never written if the tensor is an input */
  size_t bytes;        /* size of `data`: that of all elements */
} px_tensor;

/* The type of a tensor: all that is known of it before a run. Owns none of its arrays, which are
 * valid during the call that passes it. `symbols` may be null if no dimension has one. */
typedef struct px_type {
  size_t size;
  px_dtype dtype;
  int32_t rank;
  const int64_t* dims;        /* `rank` numbers; -1: known only in a run */
  const char* const* symbols; /* `rank` texts such as "2*seq + 1"; null: the number is known */
} px_type;

/* The kind of an error: ErrorCode of parallax/result.h plus 1, where each is described. Another
 * number, as of a later version, is read as PX_INTERNAL. */
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

/* The outcome of a call. Its receiver calls release(owner) once it has read the texts, unless
 * `release` is null. */
typedef struct px_status {
  size_t size;
  px_code code;
  const char* node;    /* name of the model's node that failed; null: the error has no node */
  const char* message; /* one line; null: PX_OK, or no text */
  void* owner;
  void (*release)(void* owner);
} px_status;

/* User-provided memory. Both functions are called by any thread, concurrently. `context` is passed
 * to them as it is. */
typedef struct px_allocator {
  size_t size;
  void* context;
  /* Returns `bytes` at a multiple of `alignment`, a power of two; null if there is no memory. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  /* Frees memory that allocate returned for the same `bytes` and `alignment`. */
  void (*deallocate)(void* context, void* memory, size_t bytes, size_t alignment);
} px_allocator;

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
