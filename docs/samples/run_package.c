/* Runs a package from C.
 * usage: run_package_c MODEL.tcc N     on N floats: 0, 1, 2, ... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcc.h>

static int report(tcc_error* error) {
  fprintf(stderr, "%s\n", tcc_error_message(error));
  tcc_error_free(error);
  return 1;
}

int main(int argc, char** argv) {
  tcc_package* package = NULL;
  tcc_result* result = NULL;
  tcc_error* error;
  tcc_tensor input, output;
  float* values;
  int64_t dims[1];
  int64_t i;
  size_t k;
  if (argc != 3) {
    fprintf(stderr, "usage: run_package_c MODEL.tcc N\n");
    return 2;
  }
  if ((error = tcc_package_load(argv[1], &package)) != NULL) return report(error);
  dims[0] = atoi(argv[2]);
  values = malloc(sizeof(float) * (size_t)(dims[0] + 1));
  for (i = 0; i < dims[0]; ++i) values[i] = (float)i;

  memset(&input, 0, sizeof(input));
  TCC_INIT(input); /* says which version of the struct this is */
  input.dtype = TCC_F32;
  input.rank = 1;
  input.dims = dims;
  input.data = values;
  if ((error = tcc_package_run(package, &input, 1, &result)) != NULL) return report(error);
  for (k = 0; k < tcc_result_num_outputs(result); ++k) {
    memset(&output, 0, sizeof(output));
    TCC_INIT(output);
    if ((error = tcc_result_output(result, k, &output)) != NULL) return report(error);
    printf("output %u: rank %u, first element %g\n", (unsigned)k, (unsigned)output.rank,
           output.dtype == TCC_F32 ? *(const float*)output.data : 0.0);
  }
  tcc_result_free(result);
  tcc_package_free(package);
  free(values);
  return 0;
}
