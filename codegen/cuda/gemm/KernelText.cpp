//===- KernelText.cpp -----------------------------------------------------===//
#include "codegen/cuda/gemm/KernelText.h"

#include "codegen/cuda/print/Print.h"
#include "codegen/schedule/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tcc::codegen::cuda {

std::string cppType(Type element) {
  if (element.isF32())
    return "float";
  if (element.isF64())
    return "double";
  if (element.isF16())
    return "__half";
  if (element.isBF16())
    return "__nv_bfloat16";
  switch (element.getIntOrFloatBitWidth()) {
  case 1:
    return "unsigned char";
  case 8:
    return "signed char";
  case 16:
    return "short";
  case 32:
    return "int";
  default:
    return "long long";
  }
}

//===- KernelBuilder -------------------------------------------------------===//

KernelBuilder::KernelBuilder(const gemm::TemplateKernel &kernel, ConstantInputs constants, CudaBackend &backend)
    : kernel(kernel), constants(constants), backend(backend), context(kernel.op->getContext()),
      symbols(ir::getSymbols(kernel.kernel)) {
  // Room for the rounding up of extents to tiles.
  constexpr int64_t kMost = (int64_t(1) << 31) - (int64_t(1) << 24);
  bool fits = true;
  auto add = [&](Type type) {
    elements.push_back(storageType(cast<RankedTensorType>(type).getElementType()));
    fits &= ir::getRange(ir::product(context, ir::getExtents(type)), symbols).second < kMost;
  };
  for (BlockArgument argument : kernel.kernel.getBody().getArguments())
    add(argument.getType());
  for (const gemm::Output &output : kernel.outputs)
    add(output.tensor.getType());
  for (Value operand : kernel.op->getOperands())
    fits &= ir::getRange(ir::product(context, ir::getExtents(operand.getType())), symbols).second < kMost;
  indexBits = fits ? 32 : 64;
}

int KernelBuilder::addTemporary(AffineExpr count, Type element) {
  code.temporaryBytes.push_back(gemm::simplify(count * (element.getIntOrFloatBitWidth() / 8)));
  temporaries.push_back(element);
  return kFirstTemporary + temporaries.size() - 1;
}

int KernelBuilder::addConstant(tcc::Tensor tensor, Type element) {
  code.constants.push_back({std::move(tensor)});
  constantElements.push_back(element);
  return kFirstConstant + constantElements.size() - 1;
}

Type KernelBuilder::element(int buffer) const {
  return buffer >= kFirstConstant    ? constantElements[buffer - kFirstConstant]
         : buffer >= kFirstTemporary ? temporaries[buffer - kFirstTemporary]
                                     : elements[buffer];
}

std::string KernelBuilder::name(int buffer) const {
  return buffer >= kFirstConstant    ? "packed" + std::to_string(buffer - kFirstConstant)
         : buffer >= kFirstTemporary ? "partial" + std::to_string(buffer - kFirstTemporary)
         : buffer >= numInputs()     ? "out" + std::to_string(buffer - numInputs())
                                     : "in" + std::to_string(buffer);
}

void KernelBuilder::dropInput(int input) {
  if (!dropped(input))
    code.unusedInputs.push_back(input);
}

KernelCode KernelBuilder::take(StringRef schedule) {
  code.schedule = schedule.str();
  for (auto pair : kernel.inPlace())
    if (!dropped(pair.second))
      code.inPlace.push_back(pair);
  int first = elements.size();
  for (LaunchSpec &launch : code.launches)
    for (int32_t &buffer : launch.buffers)
      buffer = buffer >= kFirstConstant    ? first + static_cast<int>(temporaries.size()) + buffer - kFirstConstant
               : buffer >= kFirstTemporary ? first + buffer - kFirstTemporary
                                           : buffer;
  return std::move(code);
}

//===- KernelText ----------------------------------------------------------===//

KernelText::KernelText(KernelBuilder &builder, StringRef header)
    : builder(builder), indexType(builder.indexBits == 32 ? "int" : "long long"), header(header.str()) {}

std::string KernelText::buffer(int number) {
  if (!llvm::is_contained(buffers, number))
    buffers.push_back(number);
  return builder.name(number);
}

std::string KernelText::symbol(unsigned position) {
  scalars.try_emplace(position, 0);
  return "s" + std::to_string(position);
}

std::string KernelText::value(AffineExpr expr) {
  for (unsigned position : symbolsIn({expr}))
    symbol(position);
  IndexSimplifier ranges(builder.context, {}, builder.symbols);
  return cppExpr(expr, {}, ranges);
}

FailureOr<std::string> KernelText::functor(StringRef name, ArrayRef<StringRef> indices, ArrayRef<Type> extra,
                                           Type result,
                                           function_ref<Value(gemm::Emit &, const gemm::Frame &, ValueRange)> body) {
  MLIRContext *context = builder.context;
  Location loc = builder.kernel.op->getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockBegin(module->getBody());
  SmallVector<Type> types;
  unsigned numBuffers = builder.numInputs() + builder.numResults(), numSymbols = builder.kernel.numSymbols();
  for (unsigned i = 0; i < numBuffers; ++i)
    types.push_back(MemRefType::get({ShapedType::kDynamic}, builder.element(i)));
  types.append(numSymbols + indices.size(), b.getIndexType());
  types.append(extra.begin(), extra.end());
  auto function =
      b.create<func::FuncOp>(loc, name, FunctionType::get(context, types, result ? TypeRange{result} : TypeRange{}));
  function->setAttr("tcc.device_function", b.getUnitAttr());
  function->setAttr("tcc.index_bits", b.getI64IntegerAttr(builder.indexBits));
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  gemm::Emit e(b, loc);
  gemm::Frame frame;
  for (unsigned i = 0; i < numBuffers; ++i)
    frame.buffers.push_back(block->getArgument(i));
  for (unsigned i = 0; i < numSymbols; ++i)
    frame.symbols.push_back(block->getArgument(numBuffers + i));
  Value returned = body(e, frame, block->getArguments().drop_front(numBuffers + numSymbols));
  b.create<func::ReturnOp>(loc, returned ? ValueRange{returned} : ValueRange{});

  // Members are what it uses, under the names of the entry point's parameters.
  SmallVector<std::string> members;
  SmallVector<unsigned> unused;
  for (unsigned i = 0; i < numBuffers + numSymbols; ++i) {
    if (block->getArgument(i).use_empty()) {
      unused.push_back(i);
      continue;
    }
    bool isBuffer = i < numBuffers;
    members.push_back(isBuffer ? buffer(i) : symbol(i - numBuffers));
    function.setArgAttr(i, "tcc.name", b.getStringAttr(members.back()));
    if (isBuffer && !builder.isWritten(i))
      function.setArgAttr(i, "tcc.readonly", b.getUnitAttr());
  }
  unsigned first = numBuffers + numSymbols;
  for (auto [i, index] : llvm::enumerate(indices))
    function.setArgAttr(first + i, "tcc.name", b.getStringAttr(index));
  for (unsigned i = 0; i < extra.size(); ++i)
    function.setArgAttr(first + indices.size() + i, "tcc.name",
                        b.getStringAttr(extra.size() == 1 ? "value" : "value" + std::to_string(i)));
  for (unsigned argument : llvm::reverse(unused))
    function.eraseArgument(argument);
  FailureOr<std::string> text = printCudaFunctor(function, members.size());
  if (failed(text))
    return failure();
  definitions += *text;
  definitions += "\n";
  return name.str() + "{" + llvm::join(members, ", ") + "}";
}

FailureOr<std::string> KernelText::epilogue(ArrayRef<AffineExpr> coordinate, unsigned batch) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  Type value = gemm::accumulationType(kernel.resultElement());
  auto one = functor(batch ? "Epilogue_one" : "Epilogue", {"g", "m", "n"}, {value}, Type(),
                     [&](gemm::Emit &e, const gemm::Frame &frame, ValueRange arguments) {
                       gemm::Point point;
                       point.dims.assign(arguments.begin(), arguments.begin() + 3);
                       point.symbols = frame.symbols;
                       kernel.finish(e, frame, std::move(point), arguments[3], coordinate);
                       return Value();
                     });
  if (failed(one) || batch == 0)
    return one;
  // At (g, m + i * dm, n + i * dn).
  auto many = functor("Epilogue_many", {"g", "m", "n", "dm", "dn"}, SmallVector<Type>(batch, value), Type(),
                      [&](gemm::Emit &e, const gemm::Frame &frame, ValueRange arguments) {
                        std::vector<gemm::Point> points(batch);
                        for (auto [i, point] : llvm::enumerate(points)) {
                          point.dims = {arguments[0]};
                          for (unsigned dim : {1, 2})
                            point.dims.push_back(e.add(arguments[dim], e.mul(arguments[dim + 2], e.c(i))));
                          point.symbols = frame.symbols;
                        }
                        kernel.finishAll(e, frame, points, SmallVector<Value>(arguments.drop_front(5)), coordinate);
                        return Value();
                      });
  if (failed(many))
    return failure();
  std::string sum = cppType(value), list;
  for (unsigned i = 0; i < batch; ++i)
    list += ", values[" + std::to_string(i) + "]";
  define("struct Epilogue {\n  static constexpr int kBatch = " + std::to_string(batch) +
         ";\n  Epilogue_one one;\n  Epilogue_many many;\n\n  TCC_DEVICE void operator()(Index g, Index m, Index n, " +
         sum +
         " value) const { one(g, m, n, value); }\n  TCC_DEVICE void operator()(Index g, Index m, Index n, Index dm, "
         "Index dn, "
         "const " +
         sum + " (&values)[kBatch]) const {\n    many(g, m, n, dm, dn" + list + ");\n  }\n};\n\n");
  return "Epilogue{" + *one + ", " + *many + "}";
}

void KernelText::launch(StringRef name, int threads, AffineExpr blocks, int64_t sharedBytes, StringRef body) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  LaunchSpec launch;
  DeviceLaunch device;
  device.grid[0] = gemm::simplify(blocks);
  device.block = {threads, 1, 1};
  if (sharedBytes > 0)
    device.sharedBytes = getAffineConstantExpr(sharedBytes, builder.context);
  KernelSource source;
  source.symbol = name.str();
  std::string parameters, values;
  // A result may take the place of an input that the epilogue reads.
  SmallVector<int32_t> overwritten;
  for (auto pair : kernel.inPlace())
    overwritten.push_back(pair.second);
  for (int number : buffers) {
    launch.buffers.push_back(number);
    bool written = builder.isWritten(number), restricted = !written && !llvm::is_contained(overwritten, number);
    parameters += parameters.empty() ? "" : ", ";
    parameters += (written ? "" : "const ") + cppType(builder.element(number)) + "*" +
                  (restricted ? " __restrict__ " : " ") + builder.name(number);
  }
  for (auto [symbol, unused] : scalars) {
    launch.symbols.push_back(symbol);
    std::string name = "s" + std::to_string(symbol);
    parameters += (parameters.empty() ? "long long " : ", long long ") + name + "_";
    values += "  const Index " + name + " = static_cast<Index>(" + name + "_);\n";
  }
  for (Attribute from : kernel.kernel.getSources())
    source.sources.push_back(cast<StringAttr>(from).getValue().str());
  source.text = "#include \"tcc/" + header + "\"\n\nusing Index = " + indexType + ";\n\n" + definitions +
                "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ")\n" +
                kKernelNamePlaceholder.str() + "(" + parameters + ") {\n" + values + body.str() + "}\n";
  launch.function = builder.backend.addText(std::move(source));
  launch.device = device;
  builder.code.launches.push_back(std::move(launch));
}

} // namespace tcc::codegen::cuda
