// The C interface (compiler/include/tcc.h) over the runtime.
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/include/tcc.h"
#include "compiler/package_runner.h"
#include "runtime/status.h"

struct tcc_error {
  int32_t code;
  std::string message;
};

struct tcc_package {
  std::unique_ptr<tcc::PackageRunner> runner;
  std::vector<tcc::TensorInfo> inputs, outputs;
};

struct tcc_result {
  std::vector<tcc::Tensor> outputs;
};

namespace {

// What to report where there is no memory for an error.
tcc_error out_of_memory = {TCC_ERROR_RESOURCE_EXHAUSTED, "out of memory"};

tcc_error* ToError(const absl::Status& status) {
  if (status.ok()) return nullptr;
  auto* error = new (std::nothrow) tcc_error{static_cast<int32_t>(status.code()), std::string(status.message())};
  return error != nullptr ? error : &out_of_memory;
}

// Runs `work`; no exception leaves.
template <typename F>
tcc_error* Guarded(F work) {
  try {
    return ToError(work());
  } catch (const std::bad_alloc&) {
    return &out_of_memory;
  } catch (const std::exception& error) {
    return ToError(absl::InternalError(error.what()));
  }
}

absl::Status Missing(const char* what) { return absl::InvalidArgumentError(absl::StrCat(what, " is NULL")); }

absl::Status Fill(const std::vector<tcc::TensorInfo>& values, size_t index, tcc_value_info* info) {
  if (info == nullptr) return Missing("info");
  if (index >= values.size()) {
    return absl::OutOfRangeError(absl::StrCat("index ", index, " of ", values.size()));
  }
  if (info->struct_size < sizeof(tcc_value_info))
    return absl::InvalidArgumentError("struct_size is not set (TCC_INIT)");
  const tcc::TensorInfo& value = values[index];
  info->name = value.name.c_str();
  info->dtype = static_cast<int32_t>(value.type.dtype);
  info->rank = value.has_rank ? static_cast<int32_t>(value.type.dims.size()) : -1;
  info->dims = value.type.dims.data();
  info->optional = value.optional ? 1 : 0;
  return absl::OkStatus();
}

// Of version 1, which had no devices.
constexpr size_t kOldTensorBytes = offsetof(tcc_tensor, device_type);

absl::StatusOr<tcc::Tensor> Wrap(const tcc_tensor& from) {
  if (from.struct_size < kOldTensorBytes) return absl::InvalidArgumentError("struct_size is not set (TCC_INIT)");
  if (from.dtype == TCC_INVALID) return tcc::Tensor();
  if (from.dtype < 0 || from.dtype > TCC_C128) return absl::InvalidArgumentError(absl::StrCat("dtype ", from.dtype));
  if (from.rank < 0 || (from.rank > 0 && from.dims == nullptr)) return absl::InvalidArgumentError("no dims");
  const auto rank = static_cast<size_t>(from.rank);
  const absl::Span<const int64_t> dims(from.dims, rank);
  const absl::Span<const int64_t> strides(from.strides, from.strides == nullptr ? 0 : rank);
  tcc::Device device;
  if (from.struct_size >= sizeof(tcc_tensor)) {
    if (from.device_type < TCC_ON_CPU || from.device_type > TCC_ON_NULL || from.device_index < 0) {
      return absl::InvalidArgumentError(absl::StrCat("device ", from.device_index, " of type ", from.device_type));
    }
    device = {static_cast<tcc::DeviceType>(from.device_type), from.device_index};
  }
  tcc::Tensor tensor =
      tcc::Tensor::Wrap(from.data, static_cast<tcc::DType>(from.dtype), dims, strides, nullptr, device);
  if (!tensor.valid()) return absl::InvalidArgumentError("an extent is negative, or there are too many elements");
  if (from.data == nullptr && tensor.num_elements() > 0) return Missing("data");
  return tensor;
}

absl::StatusOr<std::vector<tcc::Tensor>> WrapAll(const tcc_tensor* from, size_t count, const char* what) {
  std::vector<tcc::Tensor> tensors;
  // (A caller built with another version has structures of another size.)
  const size_t size = count > 0 ? from->struct_size : 0;
  for (size_t i = 0; i < count; ++i) {
    const auto& one = *reinterpret_cast<const tcc_tensor*>(reinterpret_cast<const char*>(from) + i * size);
    absl::StatusOr<tcc::Tensor> tensor = Wrap(one);
    if (tensor.ok() && one.struct_size != size) {
      tensor = absl::InvalidArgumentError("struct_size is not that of the first");
    }
    if (!tensor.ok()) return tcc::WithContext(absl::StrCat(what, " ", i), tensor.status());
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace

extern "C" {

int32_t tcc_c_version(void) { return TCC_C_VERSION; }

int32_t tcc_error_code_of(const tcc_error* error) { return error == nullptr ? 0 : error->code; }
const char* tcc_error_message(const tcc_error* error) { return error == nullptr ? "" : error->message.c_str(); }
void tcc_error_free(tcc_error* error) {
  if (error != &out_of_memory) delete error;
}

tcc_error* tcc_package_load(const char* path, tcc_package** package) {
  return tcc_package_load_with(path, nullptr, package);
}

tcc_error* tcc_package_load_with(const char* path, const tcc_load_options* options, tcc_package** package) {
  return Guarded([&]() -> absl::Status {
    if (path == nullptr) return Missing("path");
    if (package == nullptr) return Missing("package");
    *package = nullptr;
    tcc::Package::OpenOptions open;
    if (options != nullptr) {
      if (options->struct_size < sizeof(tcc_load_options)) {
        return absl::InvalidArgumentError("options: struct_size is not set (TCC_INIT)");
      }
      if (options->device != nullptr) open.device = options->device;
    }
    auto result = std::make_unique<tcc_package>();
    TCC_ASSIGN_OR_RETURN(result->runner, tcc::PackageRunner::Open(path, open));
    tcc::DescribePackage(result->runner->package(), &result->inputs, &result->outputs);
    *package = result.release();
    return absl::OkStatus();
  });
}

void tcc_package_free(tcc_package* package) { delete package; }

size_t tcc_package_num_inputs(const tcc_package* package) { return package == nullptr ? 0 : package->inputs.size(); }
size_t tcc_package_num_outputs(const tcc_package* package) { return package == nullptr ? 0 : package->outputs.size(); }
tcc_error* tcc_package_input(const tcc_package* package, size_t index, tcc_value_info* info) {
  return Guarded([&] { return package == nullptr ? Missing("package") : Fill(package->inputs, index, info); });
}
tcc_error* tcc_package_output(const tcc_package* package, size_t index, tcc_value_info* info) {
  return Guarded([&] { return package == nullptr ? Missing("package") : Fill(package->outputs, index, info); });
}

tcc_error* tcc_package_run(tcc_package* package, const tcc_tensor* inputs, size_t num_inputs, tcc_result** result) {
  return tcc_package_run_with(package, inputs, num_inputs, nullptr, result);
}

tcc_error* tcc_package_run_with(tcc_package* package, const tcc_tensor* inputs, size_t num_inputs,
                                const tcc_run_options* options, tcc_result** result) {
  return Guarded([&]() -> absl::Status {
    if (package == nullptr) return Missing("package");
    if (result == nullptr) return Missing("result");
    if (inputs == nullptr && num_inputs > 0) return Missing("inputs");
    *result = nullptr;
    TCC_ASSIGN_OR_RETURN(const std::vector<tcc::Tensor> tensors, WrapAll(inputs, num_inputs, "input"));
    std::vector<tcc::Tensor> outputs;
    tcc::RunOptions run;
    if (options != nullptr) {
      if (options->struct_size < sizeof(tcc_run_options)) {
        return absl::InvalidArgumentError("options: struct_size is not set (TCC_INIT)");
      }
      if (options->outputs != nullptr) {
        TCC_RETURN_IF_ERROR(tcc::CheckOutputCount(options->num_outputs, package->outputs.size()));
        TCC_ASSIGN_OR_RETURN(outputs, WrapAll(options->outputs, options->num_outputs, "memory for output"));
      }
      run.outputs = outputs;
      run.stream = options->stream;
      run.outputs_on_device = options->outputs_on_device != 0;
    }
    auto made = std::make_unique<tcc_result>();
    TCC_RETURN_IF_ERROR(package->runner->Run(tensors, run, &made->outputs));
    *result = made.release();
    return absl::OkStatus();
  });
}

size_t tcc_result_num_outputs(const tcc_result* result) { return result == nullptr ? 0 : result->outputs.size(); }

tcc_error* tcc_result_output(const tcc_result* result, size_t index, tcc_tensor* output) {
  return Guarded([&]() -> absl::Status {
    if (result == nullptr) return Missing("result");
    if (output == nullptr) return Missing("output");
    if (index >= result->outputs.size()) {
      return absl::OutOfRangeError(absl::StrCat("output ", index, " of ", result->outputs.size()));
    }
    const bool old = output->struct_size < sizeof(tcc_tensor);
    if (output->struct_size < kOldTensorBytes) {
      return absl::InvalidArgumentError("struct_size is not set (TCC_INIT)");
    }
    const tcc::Tensor& tensor = result->outputs[index];
    if (old && tensor.device() != tcc::Device{}) return absl::InvalidArgumentError("the output is on a device");
    if (tensor.dtype() == tcc::DType::kString) return absl::UnimplementedError("strings have no form in C");
    output->dtype = static_cast<int32_t>(tensor.dtype());
    output->rank = tensor.rank();
    output->dims = tensor.dims().data();
    output->strides = tensor.strides().data();
    output->data = tensor.data();
    if (old) return absl::OkStatus();
    output->device_type = static_cast<int32_t>(tensor.device().type);
    output->device_index = tensor.device().index;
    return absl::OkStatus();
  });
}

void tcc_result_free(tcc_result* result) { delete result; }

}  // extern "C"
