/* Runs a package from C.
 * usage: run_package_c MODEL.tcc [N]
 * Each input is made as the package describes it: 0, 1, 2, ... for f32, zeros for others; an extent that may vary is N
 * (1 where it is not given). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcc.h>

enum { kMaxInputs = 64, kMaxRank = 16, kMaxElementBytes = 16 };

static int report(tcc_error* error) {
  fprintf(stderr, "run_package_c: %s\n", tcc_error_message(error));
  tcc_error_free(error);
  return 1;
}

static int refuse(const char* what) {
  fprintf(stderr, "run_package_c: %s\n", what);
  return 2;
}

int main(int argc, char** argv) {
  static tcc_tensor inputs[kMaxInputs];
  static int64_t dims[kMaxInputs][kMaxRank];
  tcc_package* package = NULL;
  tcc_result* result = NULL;
  tcc_error* error;
  tcc_tensor output;
  size_t num_inputs, k;
  if (argc != 2 && argc != 3) return refuse("usage: run_package_c MODEL.tcc [N]");
  if ((error = tcc_package_load(argv[1], &package)) != NULL) return report(error);
  num_inputs = tcc_package_num_inputs(package);
  if (num_inputs > kMaxInputs) return refuse("too many inputs for this sample");
  for (k = 0; k < num_inputs; ++k) {
    tcc_value_info info;
    size_t elements = 1, i;
    memset(&info, 0, sizeof(info));
    TCC_INIT(info); /* says which version of the struct this is */
    TCC_INIT(inputs[k]);
    if ((error = tcc_package_input(package, k, &info)) != NULL) return report(error);
    if (info.optional) continue; /* its dtype stays TCC_INVALID: left out */
    if (info.rank < 0 || info.rank > kMaxRank) return refuse("an input without a rank, or of a large one");
    for (i = 0; i < (size_t)info.rank; ++i) {
      dims[k][i] = info.dims[i] >= 0 ? info.dims[i] : argc == 3 ? atoll(argv[2]) : 1;
      if (dims[k][i] < 0) return refuse("N is not an extent");
      if (dims[k][i] > 0 && elements > (size_t)-1 / kMaxElementBytes / (size_t)dims[k][i])
        return refuse("N is too large");
      elements *= (size_t)dims[k][i];
    }
    inputs[k].dtype = info.dtype;
    inputs[k].rank = info.rank;
    inputs[k].dims = dims[k];
    /* Zeros, and enough for elements of any dtype. The memory stays ours. */
    inputs[k].data = calloc(elements + 1, info.dtype == TCC_F32 ? sizeof(float) : kMaxElementBytes);
    if (inputs[k].data == NULL) return refuse("no memory");
    for (i = 0; info.dtype == TCC_F32 && i < elements; ++i) ((float*)inputs[k].data)[i] = (float)i;
  }
  if ((error = tcc_package_run(package, inputs, num_inputs, &result)) != NULL) return report(error);
  for (k = 0; k < tcc_result_num_outputs(result); ++k) {
    int32_t i;
    memset(&output, 0, sizeof(output));
    TCC_INIT(output);
    if ((error = tcc_result_output(result, k, &output)) != NULL) return report(error);
    printf("output %u: dtype %d, dims [", (unsigned)k, (int)output.dtype);
    for (i = 0; i < output.rank; ++i) printf("%s%lld", i > 0 ? "," : "", (long long)output.dims[i]);
    printf("]");
    if (output.dtype == TCC_F32 && (output.rank == 0 || output.dims[0] > 0))
      printf(", first element %g", *(const float*)output.data);
    printf("\n");
  }
  tcc_result_free(result);
  tcc_package_free(package);
  for (k = 0; k < num_inputs; ++k) free(inputs[k].data);
  return 0;
}
