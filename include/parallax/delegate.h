/* The C ABI of delegates: what runs parts of a model, its regions, on a device. C11 and C++, for
 * built-in delegates and for shared objects alike. docs/howto/write-a-delegate.md has one.
 *
 *     px_delegate_entry() -> table        once
 *       open                              a device
 *         describe                        what it runs, and how fast
 *         compile -> region               once for each region of a plan
 *           bind -> binding               once for each combination of sizes
 *             run ... done                as often as the model runs
 *           unbind
 *         discard
 *       close
 *
 * The host is Parallax, the delegate what implements the table.
 *
 * **Structs** begin with their size, as those of c_types.h: read no field beyond it, take it for 0.
 * Lists of structs are lists of pointers, because the other side's structs may be longer than ours.
 * A struct that the delegate fills (px_description, px_compiled, px_binding, px_memory, px_status)
 * has its size set by the host, which has cleared it: write no field beyond it.
 *
 * **Threads.** The host calls from any of its threads, several at once, and makes no two calls
 * about one region (compile, bind, unbind, discard) at once, but any number of runs. The delegate
 * answers from whichever thread it likes, its own or the one that called. No function may wait for
 * a run of the host's to end, apart from unbind, discard, release and close; compile, bind and
 * allocate may take their time, run and the copies should begin the work and return.
 *
 * **Ownership.** What the host passes lives until the function returns, unless it says more. What
 * the delegate gives, the host hands back once: each region to discard, each binding to unbind,
 * memory to release, the device to close, in this order and with nothing of it in use. Handles are
 * the delegate's own pointers; the host does not look behind them.
 *
 * **Errors.** A function that can fail returns PX_OK or why not, and may write a text to `status`
 * (px_fail). Where a function fails, its results are not read and nothing is handed back. A region
 * that fails runs on the CPU, in the same run of the model. Later runs leave it to the CPU as well:
 * always, if compile fails, or a run does; with these sizes, if bind fails; with these sizes for a
 * number of runs, if a run or a copy fails with PX_OUT_OF_MEMORY or PX_BUDGET_EXCEEDED. bind that
 * fails with PX_IO or PX_INTERNAL counts as compile. No exception may leave the delegate.
 *
 * **Trust.** The host checks what it gets: numbers, texts, late and repeated answers. Addresses it
 * cannot check: a delegate is code of this process.
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

/* ---- What a device is ---- */

/* What the user and the host want of a device. */
typedef struct px_open_options {
  size_t size;
  const char* text;         /* what stands behind the colon of "--delegate NAME:TEXT", else "" */
  const char* cache_folder; /* for programs and rates, made when needed; null: keep nothing */
  /* A line for the user's log; level 0: what was decided, 1: a warning. Any thread, until close. */
  void (*log)(void* log_context, int32_t level, const char* line);
  void* log_context;
} px_open_options;

/* Where the device finds the tensors of a run. */
typedef int32_t px_memory_kind;
enum {
  /* In the host's memory, at any address: nothing is copied. */
  PX_MEMORY_HOST = 0,
  /* In memory of its own: allocate, release, write and read exist. */
  PX_MEMORY_DEVICE = 1
};

/* What a device runs, and how fast. Texts belong to the delegate and live until close. */
typedef struct px_description {
  size_t size;
  const char* device; /* "NVIDIA H200", one line; null or "": not known */
  const char* driver; /* name and version, one line; null or "": not known */
  /* A profile as the files in profiles/ of the source tree, TOML: `name`, and a table [delegate]
   * with `name`, `launch_seconds`, `macs_per_second`, `bytes_per_second`, `cpu_macs_per_second`,
   * `memory_bytes`, `dtypes`, `max_rank`, the lists `operators` and `bridges`, and limits of single
   * operators under [delegate.limits.NAME]. `dynamic_shapes = true`: bind may come while the model
   * runs, for a region whose sizes only that run tells, and any number of sizes may follow. With
   * `images = "channels_last"` operators that are shared with the CPU may get and give images in
   * that order, by a Transpose beside them in the region, which should cost nothing. All that is
   * listed is a promise: the host asks nothing else. */
  const char* profile;
  px_memory_kind memory;
  /* What it stores floats in where px_region::storage asks for no more: PX_FLOAT16 where its user
   * wants that, otherwise PX_FLOAT32, as 0. */
  px_dtype storage;
  /* 1, with PX_MEMORY_DEVICE: the memory that the device allocates is the host's (a CPU, or a GPU
   * that shares it), so that pieces and bindings count in the host's budget as well. */
  int32_t in_host_memory;
} px_description;

/* ---- What a region is ---- */

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

/* An operator of ONNX, of its newest version, or one of ours that the description lists: Silu, Gelu
 * (of opset 20), FusedAttention, CosineAttention (docs/operators.md). An attribute that is left out
 * has the standard's default. */
typedef struct px_node {
  size_t size;
  const char* op;   /* "Conv" */
  const char* name; /* of the model, unique */
  size_t attribute_count;
  const px_attribute* const* attributes;
  size_t input_count;
  const int32_t* inputs; /* into px_region::values; -1: left out */
  size_t output_count;
  const int32_t* outputs; /* likewise */
} px_node;

typedef struct px_value {
  size_t size;
  const char* name; /* of the model, unique */
  const px_type* type;
  /* A weight or a parameter; null: none. Dims and data live until discard, at any alignment, and
   * are never written: a device that shares the host's memory need not copy them. */
  const px_tensor* constant;
  /* 1: the elements follow from the sizes alone (the shape that a Reshape takes); bind gives them,
   * and no run does. */
  int32_t known_when_bound;
} px_value;

/* A graph without cycles. Its results are values that others read, graph outputs among them; all
 * other values are the delegate's own affair. */
typedef struct px_region {
  size_t size;
  const char* name; /* of the model's first node in it */
  size_t value_count;
  const px_value* const* values;
  size_t node_count;
  const px_node* const* nodes; /* each after those whose results it reads */
  size_t input_count;
  const int32_t* inputs; /* values that a run brings; no constants */
  size_t output_count;
  const int32_t* outputs; /* values that a run wants */
  /* PX_FLOAT32, or PX_FLOAT16: floats may be stored in 16 bits inside the region; sums are in 32. */
  px_dtype storage;
} px_region;

typedef struct px_compiled {
  size_t size;
  void* region;         /* not null */
  int64_t memory_bytes; /* of the device's, that it holds: constants */
} px_compiled;

/* The sizes of one binding. */
typedef struct px_sizes {
  size_t size;
  size_t value_count; /* px_region::value_count */
  /* Each with all its dims. `data` is there for constants and known_when_bound, else null, and
   * lives until the call returns. */
  const px_tensor* const* values;
} px_sizes;

/* What does not fit the memory that the host grants is handed back immediately, and the CPU runs
 * the region with these sizes for a number of runs. */
typedef struct px_binding {
  size_t size;
  void* binding;        /* not null */
  int64_t memory_bytes; /* of the device's, that it holds: tensors inside the region */
  int64_t shared_bytes; /* likewise, in a place that all bindings of the device use in turn: the
                         * most of them counts */
} px_binding;

/* ---- What a run is ---- */

/* A piece of the device's memory. */
typedef struct px_memory {
  size_t size;
  void* memory; /* not null */
  /* Where the host sees the same bytes, if it may read and write them there while no run and no
   * copy uses them: the host then copies by itself. Null: it asks write and read. */
  void* host;
  /* Bytes of the host's memory that the first copy takes beside the piece and keeps until release,
   * such as a pinned place. The host counts them, and may hand the piece back before any copy. */
  int64_t host_bytes;
} px_memory;

/* A tensor of a run: dense, row-major. Its dims are those of the binding. */
typedef struct px_place {
  size_t size;
  void* data;    /* PX_MEMORY_HOST: the first element, aligned to an element's size; else null */
  void* memory;  /* PX_MEMORY_DEVICE: of px_memory; else null */
  size_t offset; /* in `memory`, a multiple of 64 */
  size_t bytes;  /* of all elements */
} px_place;

/* Lists as px_region::inputs and ::outputs. Outputs share no bytes with each other nor with inputs. */
typedef struct px_run {
  size_t size;
  size_t input_count;
  const px_place* const* inputs; /* not to be written */
  size_t output_count;
  const px_place* const* outputs;
} px_run;

/* The delegate's answer: PX_OK, or why not with a line of text or null. To be called once, by any
 * thread, also before the function that got it has returned. The host ignores all but the first
 * call; it is prompt, but may begin further runs inside of it: hold no lock that they need. */
typedef void (*px_done)(void* done_context, px_code code, const char* message);

/* The functions of a delegate. `device` is what open gave. */
typedef struct px_delegate {
  size_t size;
  int32_t abi;      /* PX_DELEGATE_ABI */
  const char* name; /* "opencl": what --delegate takes; letters, digits, '-' and '_' */

  /* A device. Errors: PX_UNSUPPORTED where there is none, PX_INVALID_INPUT for the text. */
  px_code (*open)(const px_open_options* options, void** device, px_status* status);
  /* All that it gave has been handed back, every run has been answered. Waits for its threads. */
  void (*close)(void* device);
  /* May be called more than once and gives the same each time. */
  px_code (*describe)(void* device, px_description* description, px_status* status);

  /* Prepares a region for any sizes: programs are built and constants uploaded here, as far as no
   * size is needed. Errors: PX_UNSUPPORTED, PX_OUT_OF_MEMORY. */
  px_code (*compile)(void* device, const px_region* region, px_compiled* compiled,
                     px_status* status);
  /* Prepares it for these sizes. Whatever only the first run would do (drivers that build a kernel
   * when it is first launched) belongs here as well: a run has a time limit. Of a region without
   * symbols there is one binding. Errors: as compile. */
  px_code (*bind)(void* device, void* region, const px_sizes* sizes, px_binding* binding,
                  px_status* status);
  /* Begins a run and returns; `done` comes then or before. With PX_OK it must come, otherwise it
   * must not. Inputs and outputs, not the structs that say where they are, stay until then. Runs of
   * one binding may overlap: the delegate does one after the other, or has memory for both. */
  px_code (*run)(void* device, void* binding, const px_run* run, px_done done, void* done_context,
                 px_status* status);
  /* The host wants no result of the run with that context any more, which must be answered all the
   * same, the sooner the better. May come after the answer. Null: not provided. */
  void (*cancel)(void* device, void* binding, void* done_context);
  void (*unbind)(void* device, void* region, void* binding);
  void (*discard)(void* device, void* region);

  /* PX_MEMORY_DEVICE only, else null. `bytes` > 0. Errors: PX_OUT_OF_MEMORY. */
  px_code (*allocate)(void* device, size_t bytes, px_memory* memory, px_status* status);
  void (*release)(void* device, void* memory);
  /* Copies `bytes` at `offset`, answering as run does; `from` and `to` stay until the answer. A run
   * that begins after a write was answered sees it, a read that begins after a run was answered sees
   * what the run has made. */
  px_code (*write)(void* device, void* memory, size_t offset, const void* from, size_t bytes,
                   px_done done, void* done_context, px_status* status);
  px_code (*read)(void* device, void* memory, size_t offset, void* to, size_t bytes, px_done done,
                  void* done_context, px_status* status);
} px_delegate;

/* What a shared object exports, and what a built-in delegate has under a name of its own. The table
 * lives as long as the process; null: there is no delegate here. */
typedef const px_delegate* (*px_delegate_entry_function)(void);
#define PX_DELEGATE_ENTRY "px_delegate_entry"

/* ---- Helpers ---- */

/* Says why: `message` is a text that outlives the status, such as a literal. Returns `code`. */
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
