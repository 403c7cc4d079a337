/* The C interface to packages: load, describe, run. Plain C; needs only libtcc_runtime.
 *
 * Structures start with their size: set it with the macro TCC_INIT, so that later versions can add fields (set what
 * you do not use to 0). Functions
 * return NULL for success, or an error that the caller frees with tcc_error_free. A package may be run from many
 * threads at once. Nothing here throws.
 */
#ifndef TCC_H_
#define TCC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TCC_C_API __attribute__((visibility("default")))
#define TCC_C_VERSION 2

/* Numbers of dtypes, as stored in packages. */
typedef enum {
  TCC_INVALID = 0,
  TCC_BOOL = 1,
  TCC_I8 = 2,
  TCC_I16 = 3,
  TCC_I32 = 4,
  TCC_I64 = 5,
  TCC_U8 = 6,
  TCC_U16 = 7,
  TCC_U32 = 8,
  TCC_U64 = 9,
  TCC_F16 = 10,
  TCC_BF16 = 11,
  TCC_F32 = 12,
  TCC_F64 = 13,
  TCC_F8E4M3FN = 14,
  TCC_F8E4M3FNUZ = 15,
  TCC_F8E5M2 = 16,
  TCC_F8E5M2FNUZ = 17,
  TCC_F8E8M0 = 18,
  TCC_F4E2M1 = 19,
  TCC_I4 = 20,
  TCC_U4 = 21,
  TCC_I2 = 22,
  TCC_U2 = 23,
  TCC_C64 = 24,
  TCC_C128 = 25
} tcc_dtype;

typedef enum {
  TCC_ERROR_INVALID_ARGUMENT = 3,
  TCC_ERROR_NOT_FOUND = 5,
  TCC_ERROR_RESOURCE_EXHAUSTED = 8,
  TCC_ERROR_FAILED_PRECONDITION = 9,
  TCC_ERROR_OUT_OF_RANGE = 11,
  TCC_ERROR_UNIMPLEMENTED = 12,
  TCC_ERROR_INTERNAL = 13
} tcc_error_code;

/* Where memory is. TCC_ON_NULL: a device that runs nothing. */
typedef enum { TCC_ON_CPU = 0, TCC_ON_CUDA = 1, TCC_ON_CUDA_SIM = 2, TCC_ON_NULL = 3 } tcc_device_type;

typedef struct tcc_error tcc_error;
typedef struct tcc_package tcc_package;
typedef struct tcc_result tcc_result;

/* A tensor in memory of its owner. */
typedef struct {
  size_t struct_size;
  int32_t dtype; /* tcc_dtype; TCC_INVALID: an optional input that is left out */
  int32_t rank;
  const int64_t* dims;
  const int64_t* strides; /* in elements; NULL: row-major */
  void* data;             /* the element at index (0, ..., 0) */
  int32_t device_type;    /* tcc_device_type (since version 2) */
  int32_t device_index;   /* of GPUs (since version 2) */
} tcc_tensor;

/* An input or output of a package; extents of -1 may vary. Valid as long as the package. */
typedef struct {
  size_t struct_size;
  const char* name;
  int32_t dtype;
  int32_t rank; /* -1: not the same in all specialisations */
  const int64_t* dims;
  int32_t optional;
} tcc_value_info;

#define TCC_INIT(value) ((value).struct_size = sizeof(value))

TCC_C_API int32_t tcc_c_version(void);

TCC_C_API int32_t tcc_error_code_of(const tcc_error* error);
TCC_C_API const char* tcc_error_message(const tcc_error* error);
TCC_C_API void tcc_error_free(tcc_error* error);

/* `path`: a .tcc package. A package is executable code: load only those you trust. */
TCC_C_API tcc_error* tcc_package_load(const char* path, tcc_package** package);
TCC_C_API void tcc_package_free(tcc_package* package);

TCC_C_API size_t tcc_package_num_inputs(const tcc_package* package);
TCC_C_API size_t tcc_package_num_outputs(const tcc_package* package);
TCC_C_API tcc_error* tcc_package_input(const tcc_package* package, size_t index, tcc_value_info* info);
TCC_C_API tcc_error* tcc_package_output(const tcc_package* package, size_t index, tcc_value_info* info);

/* How a package is loaded (since version 2). */
typedef struct {
  size_t struct_size;
  const char* device; /* where kernels for a device run: "cuda:1", "cuda-sim", "null"; NULL: what it was made for */
} tcc_load_options;
TCC_C_API tcc_error* tcc_package_load_with(const char* path, const tcc_load_options* options, tcc_package** package);

/* How a package is run (since version 2). */
typedef struct {
  size_t struct_size;
  const tcc_tensor* outputs; /* memory that receives the outputs; TCC_INVALID: not this one; NULL: none */
  size_t num_outputs;        /* of the package, where `outputs` is not NULL */
  void* stream;              /* a CUstream on which a package for a GPU does everything; NULL: one of its own */
  int32_t outputs_on_device; /* not 0: outputs that are computed on a device stay there */
} tcc_run_options;
TCC_C_API tcc_error* tcc_package_run_with(tcc_package* package, const tcc_tensor* inputs, size_t num_inputs,
                                          const tcc_run_options* options, tcc_result** result);

/* Runs the package on `num_inputs` tensors in order, which are on the host or on the device of the package. The result
 * owns the outputs until it is freed. */
TCC_C_API tcc_error* tcc_package_run(tcc_package* package, const tcc_tensor* inputs, size_t num_inputs,
                                     tcc_result** result);
TCC_C_API size_t tcc_result_num_outputs(const tcc_result* result);
TCC_C_API tcc_error* tcc_result_output(const tcc_result* result, size_t index, tcc_tensor* output);
TCC_C_API void tcc_result_free(tcc_result* result);

#ifdef __cplusplus
}
#endif

#endif /* TCC_H_ */
