// https://onnx.ai/onnx/operators/onnx__Mod.html
#include "frontend/onnx/import/Conversions.h"

namespace tcc::onnx {

void convertMod(NodeBuilder &b) {
  bool fmod = b.intAttr("fmod", 0) != 0;
  b.result(b.binary(fmod ? "tcc.fmod" : "tcc.mod", b.input(0), b.input(1)));
}

} // namespace tcc::onnx
