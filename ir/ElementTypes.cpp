//===- ElementTypes.cpp - dtype <-> MLIR element type ----------------------===//
#include "ir/ElementTypes.h"

#include <cstring>

#include "ir/ConstantMemory.h"

namespace tcc::ir {

using mlir::IntegerType;

mlir::Type getElementType(mlir::MLIRContext *context, DType dtype) {
  mlir::Builder b(context);
  auto integer = [&](unsigned width, bool isUnsigned) {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (dtype) {
  case DType::kInvalid:
    return {};
  case DType::kBool:
    return b.getI1Type();
  case DType::kI2:
  case DType::kI4:
  case DType::kI8:
  case DType::kI16:
  case DType::kI32:
  case DType::kI64:
    return integer(DTypeBits(dtype), false);
  case DType::kU2:
  case DType::kU4:
  case DType::kU8:
  case DType::kU16:
  case DType::kU32:
  case DType::kU64:
    return integer(DTypeBits(dtype), true);
  case DType::kF16:
    return b.getF16Type();
  case DType::kBF16:
    return b.getBF16Type();
  case DType::kF32:
    return b.getF32Type();
  case DType::kF64:
    return b.getF64Type();
  case DType::kF8E4M3FN:
    return b.getFloat8E4M3FNType();
  case DType::kF8E4M3FNUZ:
    return b.getFloat8E4M3FNUZType();
  case DType::kF8E5M2:
    return b.getFloat8E5M2Type();
  case DType::kF8E5M2FNUZ:
    return b.getFloat8E5M2FNUZType();
  case DType::kF8E8M0:
    return Float8E8M0Type::get(context);
  case DType::kF4E2M1:
    return Float4E2M1Type::get(context);
  case DType::kC64:
    return mlir::ComplexType::get(b.getF32Type());
  case DType::kC128:
    return mlir::ComplexType::get(b.getF64Type());
  case DType::kString:
    return StringType::get(context);
  }
  return {};
}

DType getDType(mlir::Type type) {
  if (auto integer = llvm::dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return DType::kBool;
    case 2:
      return isUnsigned ? DType::kU2 : DType::kI2;
    case 4:
      return isUnsigned ? DType::kU4 : DType::kI4;
    case 8:
      return isUnsigned ? DType::kU8 : DType::kI8;
    case 16:
      return isUnsigned ? DType::kU16 : DType::kI16;
    case 32:
      return isUnsigned ? DType::kU32 : DType::kI32;
    case 64:
      return isUnsigned ? DType::kU64 : DType::kI64;
    default:
      return DType::kInvalid;
    }
  }
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type))
    return complex.getElementType().isF32()   ? DType::kC64
           : complex.getElementType().isF64() ? DType::kC128
                                              : DType::kInvalid;
  return llvm::TypeSwitch<mlir::Type, DType>(type)
      .Case<mlir::Float16Type>([](auto) { return DType::kF16; })
      .Case<mlir::BFloat16Type>([](auto) { return DType::kBF16; })
      .Case<mlir::Float32Type>([](auto) { return DType::kF32; })
      .Case<mlir::Float64Type>([](auto) { return DType::kF64; })
      .Case<mlir::Float8E4M3FNType>([](auto) { return DType::kF8E4M3FN; })
      .Case<mlir::Float8E4M3FNUZType>([](auto) { return DType::kF8E4M3FNUZ; })
      .Case<mlir::Float8E5M2Type>([](auto) { return DType::kF8E5M2; })
      .Case<mlir::Float8E5M2FNUZType>([](auto) { return DType::kF8E5M2FNUZ; })
      .Case<Float8E8M0Type>([](auto) { return DType::kF8E8M0; })
      .Case<Float4E2M1Type>([](auto) { return DType::kF4E2M1; })
      .Case<StringType>([](auto) { return DType::kString; })
      .Default([](auto) { return DType::kInvalid; });
}

TensorType getTensorType(mlir::RankedTensorType type) {
  TensorType result;
  result.dtype = getDType(type.getElementType());
  for (int64_t extent : type.getShape())
    result.dims.push_back(mlir::ShapedType::isDynamic(extent) ? -1 : extent);
  return result;
}

mlir::RankedTensorType getMlirType(mlir::MLIRContext *context, const TensorType &type) {
  return mlir::RankedTensorType::get(llvm::ArrayRef<int64_t>(type.dims.data(), type.dims.size()),
                                     getElementType(context, type.dtype));
}

//===- Elements ------------------------------------------------------------------===//

namespace {

absl::Span<const int64_t> dimsOf(mlir::ShapedType type) { return {type.getShape().data(), type.getShape().size()}; }

absl::StatusOr<Tensor> fromResource(mlir::DenseResourceElementsAttr resource, DType dtype) {
  mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  std::string key = resource.getRawHandle().getKey().str();
  if (!blob)
    return absl::InvalidArgumentError("the constant's resource '" + key + "' is missing");
  if (blob->getData().size() < DTypeBytes(dtype, resource.getNumElements()))
    return absl::InvalidArgumentError("the constant's resource '" + key + "' is too short");
  std::function<void()> release;
  if (const ConstantMemory *memory = ConstantMemory::of(resource.getContext()))
    if (std::shared_ptr<const Tensor> elements = memory->elements(resource.getRawHandle()))
      release = [elements] {};
  return Tensor::Wrap(const_cast<char *>(blob->getData().data()), dtype, dimsOf(resource.getType()), {},
                      std::move(release));
}

/// Bits of one element of a dense attribute, as an integer of its storage width.
uint64_t bitsOf(mlir::Attribute attribute) {
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute))
    return number.getValue().bitcastToAPInt().getZExtValue();
  return llvm::cast<mlir::IntegerAttr>(attribute).getValue().getZExtValue();
}

} // namespace

absl::StatusOr<Tensor> toTensor(mlir::ElementsAttr elements) {
  auto type = llvm::cast<mlir::ShapedType>(elements.getType());
  DType dtype = getDType(type.getElementType());
  if (dtype == DType::kInvalid || dtype == DType::kString)
    return absl::UnimplementedError("a constant of an element type that tensors do not have");
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(elements))
    return fromResource(resource, dtype);
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(elements);
  if (!dense)
    return absl::UnimplementedError("a constant that is not dense");
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(dtype, dimsOf(type));
  if (!tensor.ok() || tensor->num_elements() == 0)
    return tensor;
  auto *out = static_cast<char *>(tensor->data());
  int64_t count = tensor->num_elements();
  if (IsComplex(dtype)) {
    llvm::ArrayRef<char> raw = dense.getRawData();
    size_t element = DTypeBytes(dtype, 1);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(out + i * element, raw.data() + (dense.isSplat() ? 0 : i * element), element);
    return tensor;
  }
  if (IsPacked(dtype) || dtype == DType::kBool) {
    int bits = dtype == DType::kBool ? 8 : DTypeBits(dtype);
    std::memset(out, 0, tensor->bytes());
    int64_t i = 0;
    for (mlir::Attribute value : dense.getValues<mlir::Attribute>()) {
      out[i * bits / 8] |= static_cast<char>(bitsOf(value) << (i * bits % 8));
      ++i;
    }
    return tensor;
  }
  size_t element = DTypeBytes(dtype, 1);
  llvm::ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat()) {
    std::memcpy(out, raw.data(), count * element);
    return tensor;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * element, raw.data(), element);
  return tensor;
}

absl::StatusOr<mlir::ElementsAttr> toElements(mlir::MLIRContext *context, const Tensor &tensor) {
  constexpr size_t kSmall = 4096;
  if (tensor.dtype() == DType::kString)
    return absl::UnimplementedError("strings have no elements attribute");
  absl::StatusOr<Tensor> contiguous = tensor.Contiguous();
  if (!contiguous.ok())
    return contiguous.status();
  mlir::RankedTensorType type = getMlirType(context, contiguous->type());
  const char *data = static_cast<const char *>(contiguous->data());
  size_t bytes = contiguous->bytes();
  DType dtype = tensor.dtype();
  bool dialectElement = dtype == DType::kF8E8M0 || dtype == DType::kF4E2M1;
  if (dtype == DType::kBool && bytes <= (size_t{1} << 20)) {
    llvm::SmallVector<bool> values;
    for (size_t i = 0; i < bytes; ++i)
      values.push_back(data[i] != 0);
    return mlir::ElementsAttr(mlir::DenseElementsAttr::get(type, values));
  }
  if (!dialectElement && !IsPacked(dtype) && dtype != DType::kBool && bytes <= kSmall)
    return mlir::ElementsAttr(mlir::DenseElementsAttr::getFromRawBuffer(type, llvm::ArrayRef<char>(data, bytes)));
  // The resource keeps a copy of the tensor, and so its memory.
  auto keep = std::make_shared<Tensor>(*contiguous);
  mlir::AsmResourceBlob blob(
      llvm::ArrayRef<char>(data, bytes), /*align=*/1, [keep](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  auto elements = mlir::DenseResourceElementsAttr::get(type, "constant", std::move(blob));
  if (const ConstantMemory *memory = ConstantMemory::of(context))
    memory->add(elements.getRawHandle(), keep);
  return mlir::ElementsAttr(elements);
}

} // namespace tcc::ir
