//===- KernelText.cpp -----------------------------------------------------===//
#include "codegen/cuda/gemm/KernelText.h"

#include "codegen/cuda/print/Print.h"
#include "codegen/schedule/ElementTypes.h"
#include "codegen/schedule/template/TileExpr.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tcc::codegen::cuda {

std::string cppType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return elementText(integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element);
}

// The multiples that a symbol is known to be of, put in its place.
static AffineExpr withDivisors(AffineExpr expr, ArrayAttr symbols) {
  for (auto [i, attribute] : llvm::enumerate(symbols)) {
    int64_t multiple = cast<ir::SymbolAttr>(attribute).getMultipleOf();
    if (multiple > 1) {
      AffineExpr symbol = getAffineSymbolExpr(i, expr.getContext());
      expr = expr.replace(symbol, symbol * multiple);
    }
  }
  return expr;
}

bool isVector(AffineExpr offset, unsigned dim, int count, ArrayAttr symbols) {
  if (gemm::laneStride(offset, dim, count) != 1)
    return false;
  AffineExpr d = getAffineDimExpr(dim, offset.getContext());
  AffineExpr start = withDivisors(gemm::simplify(offset.replace(d, d * count)), symbols);
  return gemm::simplify(start).getLargestKnownDivisor() % count == 0;
}

namespace {

constexpr int64_t kVectorBytes = 16;

// Buffers may start at any element and vectors in memory have 16 bytes at most: the device library looks at addresses.
void splitVectorAccesses(func::FuncOp function) {
  SmallVector<Operation *> accesses;
  function.walk([&](Operation *op) {
    if (isa<vector::LoadOp, vector::StoreOp>(op))
      accesses.push_back(op);
  });
  for (Operation *op : accesses) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    auto load = dyn_cast<vector::LoadOp>(op);
    auto store = dyn_cast<vector::StoreOp>(op);
    VectorType type = load ? load.getVectorType() : store.getVectorType();
    Value memref = load ? load.getBase() : store.getBase(), index = load ? load.getIndices()[0] : store.getIndices()[0];
    int64_t lanes = type.getDimSize(0),
            each = std::min<int64_t>(lanes, kVectorBytes * 8 / type.getElementTypeBitWidth());
    VectorType part = VectorType::get({each}, type.getElementType());
    SmallVector<Value> parts;
    for (int64_t first = 0; first < lanes; first += each) {
      Value at = index;
      if (first > 0)
        at = b.create<arith::AddIOp>(loc, index, b.create<arith::ConstantIndexOp>(loc, first));
      if (load) {
        func::FuncOp callee =
            CudaBackend::declareDevice(function, "tcc::load_any<" + std::to_string(each) + ">",
                                       b.getFunctionType({memref.getType(), b.getIndexType()}, {part}));
        callee.setArgAttr(0, "tcc.readonly", b.getUnitAttr());
        parts.push_back(b.create<func::CallOp>(loc, callee, ValueRange{memref, at}).getResult(0));
        continue;
      }
      Value value = store.getValueToStore();
      if (each < lanes) {
        auto mask = llvm::to_vector(llvm::seq<int64_t>(first, first + each));
        value = b.create<vector::ShuffleOp>(loc, value, value, mask);
      }
      func::FuncOp callee = CudaBackend::declareDevice(
          function, "tcc::store_any", b.getFunctionType({memref.getType(), b.getIndexType(), part}, {}));
      b.create<func::CallOp>(loc, callee, ValueRange{memref, at, value});
    }
    // Neighbours together, until there is one.
    while (parts.size() > 1) {
      SmallVector<Value> wider;
      for (size_t i = 0; i < parts.size(); i += 2) {
        int64_t size = cast<VectorType>(parts[i].getType()).getDimSize(0);
        auto mask = llvm::to_vector(llvm::seq<int64_t>(0, 2 * size));
        wider.push_back(b.create<vector::ShuffleOp>(loc, parts[i], parts[i + 1], mask));
      }
      parts = wider;
    }
    if (load)
      load.replaceAllUsesWith(parts.front());
    op->erase();
  }
}

// Whether the loops that make a tensor are arithmetic on elements, with nothing about indices or masks.
bool isArithmetic(Value tensor) {
  auto loops = tensor.getDefiningOp<ir::LoopsOp>();
  if (!loops)
    return true;
  return llvm::all_of(loops.getBody().front().without_terminator(), [](Operation &op) {
    if (auto load = dyn_cast<ir::LoadOp>(op))
      return !load.getMask() && isArithmetic(load.getTensor());
    auto isIndex = [](Type type) { return type.isIndex(); };
    return !isa<ir::ApplyOp, ir::InSetOp>(op) && llvm::none_of(op.getOperandTypes(), isIndex) &&
           llvm::none_of(op.getResultTypes(), isIndex);
  });
}

} // namespace

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
    if (!dropped(pair.second) && !keepsInputs)
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

std::string KernelText::counters(AffineExpr count) {
  numCounters = gemm::simplify(count);
  return "counters";
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
  e.nativeBf16 = true;
  gemm::Frame frame;
  for (unsigned i = 0; i < numBuffers; ++i)
    frame.buffers.push_back(block->getArgument(i));
  for (unsigned i = 0; i < numSymbols; ++i)
    frame.symbols.push_back(block->getArgument(numBuffers + i));
  Value returned = body(e, frame, block->getArguments().drop_front(numBuffers + numSymbols));
  b.create<func::ReturnOp>(loc, returned ? ValueRange{returned} : ValueRange{});
  splitVectorAccesses(function);

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

FailureOr<std::string> KernelText::epilogue(ArrayRef<AffineExpr> coordinate) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  return functor("Epilogue", {"g", "m", "n"}, {gemm::accumulationType(kernel.resultElement())}, Type(),
                 [&](gemm::Emit &e, const gemm::Frame &frame, ValueRange arguments) {
                   gemm::Point point;
                   point.dims.assign(arguments.begin(), arguments.begin() + 3);
                   point.symbols = frame.symbols;
                   kernel.finish(e, frame, std::move(point), arguments[3], coordinate);
                   return Value();
                 });
}

// How many neighbours along a dimension the outputs take at once: what the narrowest of them that has neighbours there
// makes 16 bytes of.
unsigned KernelText::vectorWidth(ArrayRef<AffineExpr> coordinate, unsigned fastest, unsigned widest) const {
  const gemm::TemplateKernel &kernel = builder.kernel;
  if (fastest == 0 || widest <= 1)
    return 1;
  int64_t width = 1;
  SmallVector<AffineExpr> offsets;
  for (const gemm::Output &output : kernel.outputs) {
    if (!isArithmetic(output.tensor))
      return 1;
    Exprs at;
    for (AffineExpr expr : output.coordinate)
      at.push_back(gemm::simplify(gemm::substitute(expr, coordinate)));
    AffineExpr offset = gemm::rowMajorOffset(at, ir::getExtents(output.tensor.getType()), builder.context);
    if (gemm::laneStride(offset, fastest, widest) != 1)
      continue;
    offsets.push_back(offset);
    Type element = storageType(cast<RankedTensorType>(output.tensor.getType()).getElementType());
    width = std::max(width, kVectorBytes * 8 / element.getIntOrFloatBitWidth());
  }
  width = std::min<int64_t>(width, widest);
  while (width > 1 && !llvm::all_of(offsets, [&](AffineExpr offset) {
           return isVector(offset, fastest, static_cast<int>(width), builder.symbols);
         }))
    width /= 2;
  return static_cast<unsigned>(width);
}

FailureOr<std::string> KernelText::tileEpilogue(ArrayRef<AffineExpr> coordinate, unsigned fastest, unsigned widest,
                                                unsigned batch) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  Type value = gemm::accumulationType(kernel.resultElement());
  unsigned width = vectorWidth(coordinate, fastest, widest);
  FailureOr<std::string> one = epilogue(coordinate);
  if (failed(one))
    return failure();
  SmallVector<Type> values(width > 1 ? width : batch, value);
  // At (g, m + i * dm, n + i * dn), or a vector.
  SmallVector<StringRef> indices{"g", "m", "n"};
  if (width == 1)
    indices.append({"dm", "dn"});
  auto several = functor(
      "Epilogue_several", indices, values, Type(), [&](gemm::Emit &e, const gemm::Frame &frame, ValueRange arguments) {
        SmallVector<Value> sums(arguments.drop_front(indices.size()));
        std::vector<gemm::Point> points(width > 1 ? 1 : batch);
        for (auto [i, point] : llvm::enumerate(points)) {
          point.symbols = frame.symbols;
          point.dims = {arguments[0]};
          for (unsigned dim : {1, 2})
            point.dims.push_back(width > 1 ? arguments[dim]
                                           : e.add(arguments[dim], e.mul(arguments[dim + 2], e.c(int64_t(i)))));
        }
        if (width > 1) {
          points[0].laneDim = static_cast<int>(fastest);
          points[0].lanes = width;
          sums =
              SmallVector<Value>{e.b.create<vector::FromElementsOp>(e.loc, e.vector(value, width), sums).getResult()};
        }
        kernel.finishAll(e, frame, points, sums, coordinate);
        return Value();
      });
  if (failed(several))
    return failure();
  std::string sum = cppType(value), list;
  for (unsigned i = 0; i < values.size(); ++i)
    list += ", values[" + std::to_string(i) + "]";
  std::string form = width > 1 ? "vector(Index g, Index m, Index n, const " + sum + " (&values)[kVector]) const {\n"
                               : "operator()(Index g, Index m, Index n, Index dm, Index dn, const " + sum +
                                     " (&values)[kBatch]) const {\n";
  define("struct TileEpilogue {\n  static constexpr int kVector = " + std::to_string(width) +
         ", kBatch = " + std::to_string(width > 1 ? 1 : batch) +
         ";\n  Epilogue one;\n  Epilogue_several several;\n\n"
         "  TCC_DEVICE void operator()(Index g, Index m, Index n, " +
         sum + " value) const { one(g, m, n, value); }\n  TCC_DEVICE void " + form + "    several(g, m, n" +
         (width > 1 ? "" : ", dm, dn") + list + ");\n  }\n};\n\n");
  return "TileEpilogue{" + *one + ", " + *several + "}";
}

void KernelText::addCall(KernelSource &source) {
  std::string bytes;
  auto number = [&](auto &descriptor) {
    for (const devices::UsedParameter &used : devices::ParametersOf(descriptor))
      if (*used.parameter >= 0)
        *used.parameter = static_cast<int32_t>(llvm::find(buffers, *used.parameter) - buffers.begin());
    bytes = devices::ToBytes(descriptor);
  };
  if (auto *gemm = std::get_if<devices::GemmDescriptor>(&library))
    number(*gemm);
  else
    number(std::get<devices::ConvDescriptor>(library));
  // (Which makes texts of kernels with different calls different.)
  source.text = "// " + std::string(libraryTitle(library)) +
                " in place of it, where that is there: " + bytes.substr(bytes.find('\n') + 1) + "\n" + source.text;
  source.libraries[std::string(libraryName(library))] = std::move(bytes);
}

void KernelText::tensorMap(StringRef name, TensorMap map) {
  buffer(map.buffer);
  tensorMaps.push_back({name.str(), std::move(map)});
}

void KernelText::launch(StringRef name, int threads, AffineExpr blocks, int64_t sharedBytes, StringRef body,
                        int beside) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  LaunchSpec launch;
  DeviceLaunch device;
  device.grid[0] = gemm::simplify(blocks);
  device.block = {threads, 1, 1};
  device.blocksPerMultiprocessor = beside;
  if (sharedBytes > 0)
    device.sharedBytes = getAffineConstantExpr(sharedBytes, builder.context);
  KernelSource source;
  source.symbol = name.str();
  std::string parameters, values;
  // (Memory that only the call uses is a parameter of the kernel, too.)
  if (auto *gemm = std::get_if<devices::GemmDescriptor>(&library))
    buffer(gemm->workspace);
  else if (auto *conv = std::get_if<devices::ConvDescriptor>(&library))
    buffer(conv->workspace);
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
  if (numCounters) {
    device.counters = numCounters;
    parameters += parameters.empty() ? "int* counters" : ", int* counters";
  }
  for (auto &[name, map] : tensorMaps) {
    parameters += ", const TCC_GRID_CONSTANT tcc::TensorMap " + name;
    map.buffer = static_cast<int32_t>(llvm::find(buffers, map.buffer) - buffers.begin());
    device.tensorMaps.push_back(map);
  }
  for (Attribute from : kernel.kernel.getSources())
    source.sources.push_back(cast<StringAttr>(from).getValue().str());
  source.text = "#include \"tcc/" + header + "\"\n\nusing Index = " + indexType + ";\n\n" + definitions +
                "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) +
                (beside > 0 ? ", " + std::to_string(beside) : "") + ")\n" + kKernelNamePlaceholder.str() + "(" +
                parameters + ") {\n" + values + body.str() + "}\n";
  if (isCall(library))
    addCall(source);
  launch.function = builder.backend.addText(std::move(source));
  launch.device = device;
  builder.code.launches.push_back(std::move(launch));
}

} // namespace tcc::codegen::cuda
