/* usage: use_c PACKAGE */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <tcc.h>

static int failed(tcc_error* error) {
  if (!error) return 0;
  fprintf(stderr, "%s\n", tcc_error_message(error));
  tcc_error_free(error);
  return 1;
}

int main(int argc, char** argv) {
  tcc_package* package = NULL;
  tcc_result* result = NULL;
  float data[4] = {1, 2, 3, 4};
  const int64_t dims[1] = {4};
  tcc_tensor input, output;
  tcc_value_info info;
  if (argc != 2 || tcc_c_version() != TCC_C_VERSION) return 2;
  if (failed(tcc_package_load(argv[1], &package))) return 1;
  memset(&info, 0, sizeof(info));
  TCC_INIT(info);
  if (tcc_package_num_inputs(package) != 1 || failed(tcc_package_input(package, 0, &info))) return 1;
  if (strcmp(info.name, "x") != 0 || info.dtype != TCC_F32 || info.rank != 1 || info.dims[0] != 4) return 1;

  memset(&input, 0, sizeof(input));
  TCC_INIT(input);
  input.dtype = TCC_F32;
  input.rank = 1;
  input.dims = dims;
  input.data = data;
  if (failed(tcc_package_run(package, &input, 1, &result))) return 1;
  memset(&output, 0, sizeof(output));
  TCC_INIT(output);
  if (tcc_result_num_outputs(result) != 1 || failed(tcc_result_output(result, 0, &output))) return 1;
  if (((const float*)output.data)[3] != 8.0f) return 1;
  tcc_result_free(result);

  /* Into memory of the caller, on a device of its choice (which this package, for the CPU, has no use for). */
  {
    float into[4] = {0, 0, 0, 0};
    tcc_tensor target;
    tcc_run_options options;
    tcc_load_options load;
    tcc_package* other = NULL;
    tcc_error* error;
    memset(&target, 0, sizeof(target));
    TCC_INIT(target);
    target.dtype = TCC_F32;
    target.rank = 1;
    target.dims = dims;
    target.data = into;
    memset(&options, 0, sizeof(options));
    TCC_INIT(options);
    options.outputs = &target;
    options.num_outputs = 1;
    if (failed(tcc_package_run_with(package, &input, 1, &options, &result)) || into[3] != 8.0f) return 1;
    tcc_result_free(result);
    options.num_outputs = 2;
    error = tcc_package_run_with(package, &input, 1, &options, &result);
    if (!error || tcc_error_code_of(error) != TCC_ERROR_INVALID_ARGUMENT) return 1;
    tcc_error_free(error);
    /* As a program does that was built when tensors had no device. */
    input.struct_size = offsetof(tcc_tensor, device_type);
    if (failed(tcc_package_run(package, &input, 1, &result))) return 1;
    tcc_result_free(result);
    TCC_INIT(input);
    input.device_type = TCC_ON_CUDA;
    error = tcc_package_run(package, &input, 1, &result);
    if (!error || tcc_error_code_of(error) != TCC_ERROR_INVALID_ARGUMENT) return 1;
    tcc_error_free(error);
    input.device_type = TCC_ON_CPU;
    memset(&load, 0, sizeof(load));
    TCC_INIT(load);
    load.device = "cuda:0";
    if (failed(tcc_package_load_with(argv[1], &load, &other))) return 1;
    error = tcc_package_run(other, &input, 1, &result);
    if (!error || tcc_error_code_of(error) != TCC_ERROR_FAILED_PRECONDITION) return 1;
    tcc_error_free(error);
    tcc_package_free(other);
  }

  /* Wrong use is an error, not a crash. */
  {
    tcc_error* error = tcc_package_run(package, &input, 2, &result);
    if (!error || tcc_error_code_of(error) != TCC_ERROR_INVALID_ARGUMENT) return 1;
    tcc_error_free(error);
    error = tcc_package_load("/nonexistent.tcc", &package + 0);
    if (!error || tcc_error_code_of(error) != TCC_ERROR_NOT_FOUND) return 1;
    tcc_error_free(error);
  }
  return 0;
}
