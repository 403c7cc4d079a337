// Optional values exist only while importing.
#include "frontend/onnx/import/Conversions.h"

namespace tcc::onnx {

void convertOptional(NodeBuilder &b) {
  if (b.has(0))
    b.result(0, Item::optional({b.item(0)}));
  else
    b.result(0, Item::optional({}));
}

void convertOptionalHasElement(NodeBuilder &b) {
  bool present = b.has(0);
  if (present && b.item(0).kind == Item::Kind::Optional)
    present = !b.item(0).elements->empty();
  b.result(b.scalarInt(b.i1Type(), present));
}

void convertOptionalGetElement(NodeBuilder &b) {
  const Item &item = b.item(0);
  if (item.kind != Item::Kind::Optional) {
    b.check(item.kind != Item::Kind::Absent, "takes the element of an optional that has none");
    b.result(0, item);
    return;
  }
  b.check(!item.elements->empty(), "takes the element of an optional that has none");
  b.result(0, item.elements->front());
}

} // namespace tcc::onnx
