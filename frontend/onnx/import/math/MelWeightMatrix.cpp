// https://onnx.ai/onnx/operators/onnx__MelWeightMatrix.html
#include "frontend/onnx/import/Conversions.h"

using namespace mlir;

namespace tcc::onnx {

void convertMelWeightMatrix(NodeBuilder &b) {
  int64_t bins = b.constantScalarInput(0, "num_mel_bins"), length = b.constantScalarInput(1, "dft_length");
  b.check(bins > 0 && length > 0, "num_mel_bins and dft_length must be positive");
  b.result(b.libraryOne("mel_weight_matrix", b.inputs(), {},
                        b.tensorType(b.exprs({length / 2 + 1, bins}), b.dtypeAttr("output_datatype", b.f32Type()))));
}

} // namespace tcc::onnx
