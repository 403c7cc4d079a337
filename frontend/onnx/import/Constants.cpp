//===- Constants.cpp - tensors as constants, and back ---------------------===//
#include "frontend/onnx/import/Emitter.h"
#include "ir/ElementTypes.h"

using namespace mlir;

namespace tcc::onnx {

Value Emitter::tensor(const Tensor &value) {
  if (value.dtype() == DType::kString) {
    SmallVector<StringRef> strings;
    for (int64_t i = 0; i < value.num_elements(); ++i)
      strings.push_back(value.data_as<std::string>()[i]);
    return emit<ir::StringConstantOp>({}, attr("value", builder.getStrArrayAttr(strings)),
                                      ir::getMlirType(context(), value.type()));
  }
  absl::StatusOr<ElementsAttr> data = ir::toElements(context(), value);
  if (!data.ok())
    fail(std::string(data.status().message()));
  return create("tcc.constant", {}, attr("value", *data), data->getShapedType()).front();
}

// Shapes, axes and the like; larger constants are data.
static constexpr int64_t kMaxParameters = 1 << 16;

static std::optional<Tensor> constantTensor(Value v) {
  auto constant = v.getDefiningOp<ir::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = cast<ElementsAttr>(constant.getValue());
  if (elements.getNumElements() > kMaxParameters)
    return std::nullopt;
  absl::StatusOr<Tensor> data = ir::toTensor(elements);
  if (!data.ok())
    return std::nullopt;
  return *data;
}

std::optional<Ints> Emitter::constantInts(Value v) {
  if (!isa<IntegerType>(elementType(v)))
    return std::nullopt;
  std::optional<Tensor> data = constantTensor(v);
  if (!data)
    return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> values = ToInt64s(data->Reshaped({data->num_elements()}));
  if (!values.ok())
    return std::nullopt;
  return Ints(values->begin(), values->end());
}

std::optional<SmallVector<double>> Emitter::constantFloats(Value v) {
  auto constant = v.getDefiningOp<ir::ConstantOp>();
  if (!constant || !isFloat(v))
    return std::nullopt;
  auto elements = cast<ElementsAttr>(constant.getValue());
  if (elements.getNumElements() > kMaxParameters)
    return std::nullopt;
  SmallVector<double> result;
  if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
    for (APFloat number : dense.getValues<APFloat>()) {
      bool lossy;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
      result.push_back(number.convertToDouble());
    }
    return result;
  }
  std::optional<Tensor> data = constantTensor(v);
  if (!data || data->dtype() != DType::kF32)
    return std::nullopt;
  for (int64_t i = 0; i < data->num_elements(); ++i)
    result.push_back(data->data_as<float>()[i]);
  return result;
}

} // namespace tcc::onnx
