/* The C ABI of delegates. A delegate runs parts of a model, its regions, on a device. C11 and C++,
 * the same for built-in delegates and for shared objects. docs/howto/write-a-delegate.md shows one.
 *
 *     px_delegate_entry() -> table        once
 *       open                              a device
 *         describe                        operators and speed
 *         supports                        once for each node of a plan; optional
 *         compile -> region               once for each region of a plan
 *           bind -> binding               once for each combination of sizes
 *             run ... done                as often as the model runs
 *           unbind
 *         discard
 *       close
 *
 * The host is Parallax; the delegate is the code that implements the table.
 *
 * **Structs** begin with their size, as those of c_types.h: read no field beyond it, treat it as 0.
 * Lists of structs are lists of pointers, because the other side's structs may be longer than ours.
 * The host clears a struct that the delegate fills (px_description, px_compiled, px_binding,
 * px_memory, px_status) and sets its size: write no field beyond it.
 *
 * **Threads.** The host calls from any of its threads, concurrently. Calls about one region
 * (compile, bind, unbind, discard) never overlap; any number of runs may. The delegate may answer
 * from any thread, its own or the calling one. No function may fork, or use parallax/session.h and
 * its like. None may wait for a run of the host to end, except unbind, discard, release and close.
 * compile, bind and allocate may be slow; run and the copies should begin the work and return.
 *
 * **Ownership.** What the host passes lives until the function returns, unless stated otherwise.
 * The host returns each object of the delegate exactly once: each region to discard, each binding
 * to unbind, memory to release, the device to close, in this order and with nothing of it in use.
 * Handles are the delegate's own pointers; the host never dereferences them.
 *
 * **Errors.** A function that can fail returns PX_OK or an error code, and may write a text to
 * `status` (px_fail). If a function fails, its results are not read and need no release. A region
 * that fails runs on the CPU, in the same run of the model. Later runs leave it to the CPU as well:
 * always, if compile or a run fails; with these sizes, if bind fails; with these sizes for a number
 * of runs, if a run or a copy fails with PX_OUT_OF_MEMORY or PX_BUDGET_EXCEEDED. A bind that fails
 * with PX_IO or PX_INTERNAL counts as a failed compile. No exception may leave the delegate.
 *
 * **Trust.** The host checks numbers, texts, late and repeated answers. It cannot check addresses:
 * a delegate is code of this process.
 *
 * Units: bytes, elements, seconds. Version 0: everything may still change; a library of another
 * version is refused. */
#ifndef PARALLAX_DELEGATE_H_
#define PARALLAX_DELEGATE_H_

#include "parallax/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming, modernize-use-nullptr): names and nulls as C has them. */

#define PX_DELEGATE_ABI 0

/* ---- Devices ---- */

/* The requests of the user and the host for a device. */
typedef struct px_open_options {
  size_t size;
  const char* text;         /* the text after the colon of "--delegate NAME:TEXT", else "" */
  const char* cache_folder; /* for programs and rates; create it when needed; null: keep nothing */
  /* Writes a line to the user's log; level 0: a decision, 1: a warning. Any thread, until close. */
  void (*log)(void* log_context, int32_t level, const char* line);
  void* log_context;
} px_open_options;

/* The memory in which the device accesses the tensors of a run. */
typedef int32_t px_memory_kind;
enum {
  /* The host's memory, at any address: nothing is copied. */
  PX_MEMORY_HOST = 0,
  /* Memory of its own: the functions allocate, release, write and read are required. */
  PX_MEMORY_DEVICE = 1
};

/* A device: its operators and its speed. Texts belong to the delegate and live until close. */
typedef struct px_description {
  size_t size;
  const char* device; /* "NVIDIA H200", one line; null or "": not known */
  const char* driver; /* name and version, one line; null or "": not known */
  /* A profile, TOML; docs/delegate-profile.md of the source tree is the schema. All that it lists
   * is a promise: the host makes no further check but px_delegate::supports, if there is one.
   * `dynamic_shapes = true`: bind may be called while the model runs, for a region whose sizes only
   * that run determines, for any number of sizes.
   * With `images = "channels_last"` operators that are split with the CPU may read and write images
   * in that order, through a Transpose next to them in the region, which should cost nothing. */
  const char* profile;
  px_memory_kind memory;
  /* The type in which it stores floats unless px_region::storage requests a wider one: PX_FLOAT16
   * if its user requested that, otherwise PX_FLOAT32 or 0. */
  px_dtype storage;
  /* 1, with PX_MEMORY_DEVICE: the device allocates host memory (it is a CPU, or a GPU that shares
   * it), so that its memory and bindings count in the host's budget as well. */
  int32_t in_host_memory;
} px_description;

/* ---- Regions ---- */

typedef int32_t px_attribute_kind;
enum {
  PX_ATTRIBUTE_INT = 1,    /* integers[0] */
  PX_ATTRIBUTE_FLOAT = 2,  /* floats[0] */
  PX_ATTRIBUTE_STRING = 3, /* text */
  PX_ATTRIBUTE_INTS = 4,   /* `count` integers */
  PX_ATTRIBUTE_FLOATS = 5, /* `count` floats */
  PX_ATTRIBUTE_TENSOR = 6  /* tensor */
};

typedef struct px_attribute {
  size_t size;
  const char* name;
  px_attribute_kind kind;
  size_t count;
  const int64_t* integers;
  const float* floats;
  const char* text;
  const px_tensor* tensor;
} px_attribute;

/* A node: an operator of ONNX in its newest version, or one of Parallax's that the description
 * lists: Silu, Gelu (of opset 20), FusedAttention, CosineAttention (docs/operators.md). An
 * attribute that is absent has the standard's default. */
typedef struct px_node {
  size_t size;
  const char* op;   /* "Conv" */
  const char* name; /* the node's name in the model, unique */
  size_t attribute_count;
  const px_attribute* const* attributes;
  size_t input_count;
  const int32_t* inputs; /* indices into px_region::values; -1: an absent optional input */
  size_t output_count;
  const int32_t* outputs; /* likewise */
} px_node;

/* A tensor that nodes read or make. */
typedef struct px_value {
  size_t size;
  const char* name; /* the tensor's name in the model, unique */
  const px_type* type;
  /* The contents of a weight or a parameter; null: not a constant. Dims and data live until
   * discard, at any alignment, and never change: a device that shares the host's memory need not
   * copy them. */
  const px_tensor* constant;
  /* 1: the elements follow from the sizes alone, as the shape that a Reshape reads; bind provides
   * them, runs do not. */
  int32_t known_when_bound;
} px_value;

/* A graph without cycles. Its outputs are the values that the rest of the model reads, graph
 * outputs among them; the delegate may store all other values as it likes, or not at all. */
typedef struct px_region {
  size_t size;
  const char* name; /* the name of its first node */
  size_t value_count;
  const px_value* const* values;
  size_t node_count;
  const px_node* const* nodes; /* in topological order */
  size_t input_count;
  const int32_t* inputs; /* indices of the values that a run provides; no constants */
  size_t output_count;
  const int32_t* outputs; /* indices of the values that a run requests */
  /* PX_FLOAT32; or PX_FLOAT16: floats may be stored in 16 bits inside the region, but sums must be
   * computed in 32. */
  px_dtype storage;
} px_region;

/* The result of compile. */
typedef struct px_compiled {
  size_t size;
  void* region;         /* not null */
  int64_t memory_bytes; /* device memory that it holds for constants */
} px_compiled;

/* The sizes of one binding. */
typedef struct px_sizes {
  size_t size;
  size_t value_count; /* px_region::value_count */
  /* Each has all its dims. `data` is set for constants and known_when_bound, else null, and lives
   * until the call returns. */
  const px_tensor* const* values;
} px_sizes;

/* The result of bind. If it exceeds the memory that the host grants, the host unbinds it
 * immediately, and the CPU runs the region with these sizes for a number of runs. */
typedef struct px_binding {
  size_t size;
  void* binding;        /* not null */
  int64_t memory_bytes; /* device memory that it holds for tensors inside the region */
  int64_t shared_bytes; /* likewise, in memory that all bindings of the device use in turn: only
                         * the largest counts */
} px_binding;

/* ---- Runs ---- */

/* A piece of the device's memory. */
typedef struct px_memory {
  size_t size;
  void* memory; /* not null */
  /* The address of the same bytes in the host, if the host may read and write them while no run and
   * no copy uses them: it then copies by itself. Null: it calls write and read. */
  void* host;
  /* Host memory that the first copy allocates in addition and keeps until release, such as a pinned
   * buffer, in bytes. The host counts it, and may release the piece before any copy. */
  int64_t host_bytes;
} px_memory;

/* The place of a tensor of a run: dense, row-major. Its dims are those of the binding. */
typedef struct px_place {
  size_t size;
  void* data;    /* PX_MEMORY_HOST: the first element, aligned to an element's size; else null */
  void* memory;  /* PX_MEMORY_DEVICE: px_memory::memory; else null */
  size_t offset; /* offset in `memory`, a multiple of 64 */
  size_t bytes;  /* size of all elements */
} px_place;

/* Lists in the order of px_region::inputs and ::outputs. Outputs overlap neither each other nor
 * inputs. */
typedef struct px_run {
  size_t size;
  size_t input_count;
  const px_place* const* inputs; /* must not be written */
  size_t output_count;
  const px_place* const* outputs;
} px_run;

/* Passes the delegate's answer to the host: PX_OK, or an error code with one line of text or null.
 * Call it once, from any thread; it may be called before the function that received it returns. The
 * host ignores all but the first call. It returns soon, but may begin further runs before that:
 * hold no lock that they need. */
typedef void (*px_done)(void* done_context, px_code code, const char* message);

/* The functions of a delegate. `device` is the handle that open returned. */
typedef struct px_delegate {
  size_t size;
  int32_t abi;      /* PX_DELEGATE_ABI */
  const char* name; /* "opencl": the name for --delegate; letters, digits, '-' and '_' */

  /* Opens a device. Errors: PX_UNSUPPORTED if there is no device, PX_INVALID_INPUT for a text that
   * it does not understand. */
  px_code (*open)(const px_open_options* options, void** device, px_status* status);
  /* Closes the device after everything of it has been released and every run answered. Waits for
   * the delegate's own threads. */
  void (*close)(void* device);
  /* Describes the device. May be called more than once and must return the same each time. */
  px_code (*describe)(void* device, px_description* description, px_status* status);

  /* Prepares a region for any sizes: build here the programs, and upload the constants, that depend
   * on no size. Errors: PX_UNSUPPORTED, PX_OUT_OF_MEMORY. */
  px_code (*compile)(void* device, const px_region* region, px_compiled* compiled,
                     px_status* status);
  /* Prepares a region for these sizes. Work that would otherwise be part of the first run (drivers
   * that build a kernel when it is first launched) belongs here too: a run has a time limit. A
   * region without symbols has one binding. Errors: as compile. */
  px_code (*bind)(void* device, void* region, const px_sizes* sizes, px_binding* binding,
                  px_status* status);
  /* Begins a run and returns. If it returns PX_OK, the delegate must call `done`, before or after
   * returning; otherwise it must not. The memory of inputs and outputs stays valid until then, the
   * structs that describe it do not. Runs of one binding may overlap: the delegate must run them
   * one after the other, or have memory for both. */
  px_code (*run)(void* device, void* binding, const px_run* run, px_done done, void* done_context,
                 px_status* status);
  /* Requests cancellation of the run with that context. The delegate must still call `done`, as
   * soon as possible. May be called after the answer. Null: not provided. */
  void (*cancel)(void* device, void* binding, void* done_context);
  /* Frees a binding. Called when none of its runs is in progress. */
  void (*unbind)(void* device, void* region, void* binding);
  /* Frees a region. Called after all its bindings were freed. */
  void (*discard)(void* device, void* region);

  /* Allocates device memory, `bytes` > 0. Null unless the device has PX_MEMORY_DEVICE, as are the
   * next three. Errors: PX_OUT_OF_MEMORY. */
  px_code (*allocate)(void* device, size_t bytes, px_memory* memory, px_status* status);
  /* Frees device memory. Called when no run and no copy uses it. */
  void (*release)(void* device, void* memory);
  /* Copy `bytes` at `offset`, and answer as run does; `from` and `to` stay valid until the answer.
   * A run that begins after a write was answered must see it; a read that begins after a run was
   * answered must see the results of the run. */
  px_code (*write)(void* device, void* memory, size_t offset, const void* from, size_t bytes,
                   px_done done, void* done_context, px_status* status);
  px_code (*read)(void* device, void* memory, size_t offset, void* to, size_t bytes, px_done done,
                  void* done_context, px_status* status);

  /* Says whether the device runs a node that its description covers: PX_OK, or PX_UNSUPPORTED with
   * a short reason, which reports show (the host copies one line, at most 500 bytes). Any other
   * error also leaves the node to the CPU. A node that it accepts must compile and bind. Must
   * return the same for the same node each time. Null: the description alone decides.
   *
   * `node` is a region of this node alone: its values are the operands, its outputs all results.
   * The data of a constant of 64 KiB or more may be null, as it may not be computed yet. `sizes`
   * has dims, but no data; an element of its `values` is null if only a run determines the size,
   * which happens only with dynamic_shapes. Both live until the function returns; keep nothing of
   * them. Called while a model is planned, about once for each node and plan: it should take
   * microseconds. Calls of supports for one device never overlap each other. */
  px_code (*supports)(void* device, const px_region* node, const px_sizes* sizes,
                      px_status* status);
} px_delegate;

/* The function that a shared object exports under PX_DELEGATE_ENTRY; a built-in delegate has one
 * under a name of its own. The table lives as long as the process; null: no delegate is available. */
typedef const px_delegate* (*px_delegate_entry_function)(void);
#define PX_DELEGATE_ENTRY "px_delegate_entry"

/* ---- Helpers ---- */

/* Writes an error to `status`, unless that is null, and returns `code`. `message` must outlive the
 * status, such as a literal. */
static inline px_code px_fail(px_status* status, px_code code, const char* message) {
  if (status != 0) {
    status->code = code;
    status->message = message;
  }
  return code;
}

/* NOLINTEND(readability-identifier-naming, modernize-use-nullptr) */

#ifdef __cplusplus
}
#endif

#endif
