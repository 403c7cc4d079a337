#include "tests/codegen_gemm/conv_case.h"

namespace tcc::codegen::testing {

static std::string Dense(const std::vector<int>& values) {
  std::string text = "array<i64: ";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ">";
}

Case ConvCase(const ConvShape& shape, bool last, bool dynamic, const std::string& element) {
  Case test;
  Extents x{std::to_string(shape.images)}, y = x, w;
  auto extent = [](int value) { return std::to_string(value); };
  bool transposed = !shape.output_padding.empty();
  std::vector<std::string> in, out;
  if (dynamic) {
    test.symbols.push_back(shape.images);
    x[0] = y[0] = "s0";
  }
  for (size_t i = 0; i < shape.space.size(); ++i) {
    int s = shape.strides[i], pad = shape.low[i] + shape.high[i], reach = (shape.kernel[i] - 1) * shape.dilations[i];
    std::string symbol = "s" + std::to_string(i + 1);
    if (transposed) {
      int rest = shape.output_padding[i] + reach + 1 - pad;
      int size = s * (shape.space[i] - 1) + rest;
      out.push_back(dynamic ? symbol + " * " + extent(s) + " + " + extent(rest - s) : extent(size));
    } else {
      int size = (shape.space[i] + pad - reach - 1) / s + 1;
      int offset = pad - reach - 1;
      out.push_back(!dynamic ? extent(size)
                    : s == 1 ? symbol + " + " + extent(offset + 1)
                             : "(" + symbol + " + " + extent(offset) + ") floordiv " + extent(s) + " + 1");
    }
    if (dynamic) test.symbols.push_back(shape.space[i]);
    in.push_back(dynamic ? symbol : extent(shape.space[i]));
  }
  auto place = [&](Extents& type, int channels, const std::vector<std::string>& space) {
    if (!last) type.push_back(extent(channels));
    type.insert(type.end(), space.begin(), space.end());
    if (last) type.push_back(extent(channels));
  };
  place(x, shape.channels, in);
  place(y, shape.out, out);
  w = transposed ? Extents{extent(shape.channels), extent(shape.out / shape.groups)}
                 : Extents{extent(shape.out), extent(shape.channels / shape.groups)};
  for (int k : shape.kernel) w.push_back(extent(k));
  std::string tx = Type(x, element), tw = Type(w, element), ty = Type(y, element),
              tb = Type({extent(shape.out)}, element);
  std::string body = std::string("    %c = tcc.conv") + (transposed ? "_transpose" : "") +
                     " %a0, %a1 {strides = " + Dense(shape.strides) + ", padding_low = " + Dense(shape.low) +
                     ", padding_high = " + Dense(shape.high) + ", dilations = " + Dense(shape.dilations) +
                     (transposed ? ", output_padding = " + Dense(shape.output_padding) : "") +
                     ", groups = " + extent(shape.groups) + " : i64, channels_last = " + (last ? "true" : "false") +
                     "} : (" + tx + ", " + tw + ") -> " + ty + "\n";
  size_t rank = y.size();
  std::string dims;
  for (size_t i = 0; i < rank; ++i) dims += (i ? ", d" : "d") + std::to_string(i);
  body += "    %e = tcc.loops " + List(y) + " reduce 0 [] {\n    " + BlockArguments(rank) + "\n";
  body += "      %v = tcc.load %c[" + Identity(rank) + "](" + Arguments(rank) + ") : " + ty + " -> " + element + "\n";
  body += "      %b = tcc.load %a2[affine_map<(" + dims + ") -> (d" + std::to_string(last ? rank - 1 : 1) + ")>](" +
          Arguments(rank) + ") : " + tb + " -> " + element + "\n";
  body += "      %r = tcc.load %a3[" + Identity(rank) + "](" + Arguments(rank) + ") : " + ty + " -> " + element + "\n";
  body += "      %s = arith.addf %v, %b : " + element + "\n      %t = arith.addf %s, %r : " + element +
          "\n      tcc.yield %t : " + element + "\n    } : " + ty + "\n";
  test.text = Kernel({tx, tw, tb, ty}, body, "%e", {ty}, static_cast<int>(test.symbols.size()));
  test.tolerance = 5e-5;
  return test;
}

}  // namespace tcc::codegen::testing
