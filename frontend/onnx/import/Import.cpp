//===- Import.cpp - entry of the importer ---------------------------------===//
#include "frontend/onnx/import/Import.h"

#include "frontend/onnx/import/GraphImporter.h"
#include "frontend/onnx/import/Registry.h"
#include "frontend/onnx/program/Program.h"
#include "ir/ElementTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tcc::onnx {

namespace {
class ModelImporter {
public:
  ModelImporter(const Program &program, const ImportOptions &options, MLIRContext *context, const Needs &needs)
      : program(program), options(options), context(context), needs(needs), builder(context),
        loc(UnknownLoc::get(context)) {}

  OwningOpRef<ModuleOp> run();

private:
  const ::onnx::ModelProto &model() const { return program.model(); }
  const ::onnx::GraphProto &graph() const { return program.model().graph(); }
  void findUnsupported(const ::onnx::GraphProto &body);
  void reportUnsupported();
  void addInputs(GraphImporter &importer);
  AffineExpr symbolFor(const std::string &name);
  RankedTensorType declaredType(const ::onnx::ValueInfoProto &input, const Emitter &emitter);
  void addOutputs(GraphImporter &importer);

  const Program &program;
  const ImportOptions &options;
  MLIRContext *context;
  Needs needs;
  OpBuilder builder;
  Location loc;
  func::FuncOp function;
  SmallVector<Attribute> symbols;
  llvm::StringMap<AffineExpr> declaredSymbols;
  std::vector<std::pair<std::string, Location>> unsupported;
};
} // namespace

// Program bounds the depth of subgraphs.
void ModelImporter::findUnsupported(const ::onnx::GraphProto &body) {
  for (const ::onnx::NodeProto &node : body.node()) {
    std::string domain(canonicalDomain(node.domain()));
    int64_t version = program.opsetVersion(node);
    if (!findConversion(domain, node.op_type(), version)) {
      std::string text =
          (domain.empty() ? "ai.onnx" : domain) + "." + node.op_type() + " (op set " + std::to_string(version) + ")";
      if (int64_t first = firstSupportedOpset(domain, node.op_type()))
        text += ", supported from op set " + std::to_string(first) + " on";
      unsupported.emplace_back(std::move(text), nodeLocation(node, context));
    }
    for (const ::onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        findUnsupported(attribute.g());
      for (const ::onnx::GraphProto &inner : attribute.graphs())
        findUnsupported(inner);
    }
  }
}

void ModelImporter::reportUnsupported() {
  if (unsupported.empty())
    return;
  constexpr size_t kShown = 100;
  std::string text = "the model uses ops that are not supported:";
  for (size_t i = 0; i < std::min(kShown, unsupported.size()); ++i)
    text += "\n  " + cast<NameLoc>(unsupported[i].second).getName().str() + ": " + unsupported[i].first;
  if (unsupported.size() > kShown)
    text += "\n  and " + std::to_string(unsupported.size() - kShown) + " more nodes";
  Emitter(builder, unsupported.front().second, function).fail(text);
}

AffineExpr ModelImporter::symbolFor(const std::string &name) {
  auto it = name.empty() ? declaredSymbols.end() : declaredSymbols.find(name);
  if (it != declaredSymbols.end())
    return it->second;
  unsigned index = symbols.size();
  std::string label = name.empty() ? "s" + std::to_string(index) : name;
  symbols.push_back(ir::SymbolAttr::get(context, label, options.minExtent, INT64_MAX, 1));
  AffineExpr e = getAffineSymbolExpr(index, context);
  if (!name.empty())
    declaredSymbols[name] = e;
  return e;
}

RankedTensorType ModelImporter::declaredType(const ::onnx::ValueInfoProto &input, const Emitter &emitter) {
  if (!input.type().has_tensor_type())
    emitter.fail("is no tensor; give it as a constant");
  const auto &type = input.type().tensor_type();
  Type element = elementTypeOf(type.elem_type(), context);
  if (!element)
    emitter.fail("has the unknown element type " + Twine(type.elem_type()));
  if (!type.has_shape())
    emitter.fail("states no rank; give its shape");
  Exprs extents;
  for (const auto &dim : type.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      extents.push_back(getAffineConstantExpr(dim.dim_value(), context));
    else
      extents.push_back(symbolFor(dim.dim_param()));
  }
  return emitter.tensorType(extents, element);
}

void ModelImporter::addInputs(GraphImporter &importer) {
  llvm::StringSet<> initialized;
  for (const ::onnx::TensorProto &tensor : graph().initializer())
    initialized.insert(tensor.name());
  for (const ::onnx::SparseTensorProto &sparse : graph().sparse_initializer())
    initialized.insert(sparse.values().name());
  for (const Symbol &s : options.signature.symbols)
    symbols.push_back(ir::SymbolAttr::get(context, s.name, s.min, s.max, s.multiple_of));

  SmallVector<Type> types;
  SmallVector<std::pair<std::string, Location>> arguments;
  std::vector<std::pair<std::string, const InputSpec *>> known;
  for (const ::onnx::ValueInfoProto &input : graph().input()) {
    Location here = NameLoc::get(builder.getStringAttr("input '" + input.name() + "'"));
    Emitter emitter(builder, here, function);
    auto spec = llvm::find_if(options.signature.inputs, [&](const InputSpec &s) { return s.name == input.name(); });
    bool specified = spec != options.signature.inputs.end();
    if (options.constants.count(input.name()))
      continue;
    if (specified && spec->absent) {
      if (!initialized.contains(input.name()))
        importer.define(input.name(), Item(), emitter);
      continue;
    }
    // Before IR version 4 every initializer was listed as an input; from then on that makes it a default.
    if (initialized.contains(input.name()) && (model().ir_version() < 4 || !specified))
      continue;
    if (specified && spec->values) {
      known.emplace_back(input.name(), &*spec);
      continue;
    }
    RankedTensorType type;
    if (specified) {
      Exprs extents;
      for (const Extent &e : spec->dims) {
        if (e.symbol >= static_cast<int>(options.signature.symbols.size()))
          emitter.fail("names a symbol that does not exist");
        extents.push_back(e.symbol >= 0 ? getAffineSymbolExpr(e.symbol, context)
                                        : getAffineConstantExpr(e.value, context));
      }
      Type element = ir::getElementType(context, spec->dtype);
      if (!element)
        emitter.fail("has no element type that tensors may have");
      type = emitter.tensorType(extents, element);
    } else {
      type = declaredType(input, emitter);
    }
    types.push_back(type);
    arguments.emplace_back(input.name(), here);
  }
  function.setFunctionType(builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  function->setAttr(ir::TCCDialect::kSymbolsAttr, builder.getArrayAttr(symbols));
  importer.state.needs.inputSymbols = symbols.size();
  builder.setInsertionPointToStart(entry);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    BlockArgument value = entry->getArgument(i);
    value.setLoc(argument.second);
    function.setArgAttr(i, ir::TCCDialect::kInputNameAttr, builder.getStringAttr(argument.first));
    importer.define(argument.first, Item(value), Emitter(builder, argument.second, function));
  }
  for (const auto &[name, spec] : known) {
    Emitter emitter(builder, NameLoc::get(builder.getStringAttr("input '" + name + "'")), function);
    Exprs extents;
    for (const Extent &e : spec->dims)
      extents.push_back(emitter.expr(e.value));
    Type element = ir::getElementType(context, spec->dtype);
    emitter.check(element && isa<IntegerType>(element), "values are known for integer and bool inputs only");
    Value flat = emitter.vectorI64(*spec->values);
    importer.define(name, emitter.reshape(emitter.cast(flat, element), extents), emitter);
  }
  for (const auto &[name, tensors] : options.constants) {
    Emitter emitter(builder, NameLoc::get(builder.getStringAttr("input '" + name + "'")), function);
    std::vector<Item> items;
    for (const Tensor &t : tensors)
      items.push_back(t.valid() ? Item(emitter.tensor(t)) : Item());
    auto input = llvm::find_if(graph().input(), [&](const auto &i) { return i.name() == name; });
    bool tensor = input == graph().input().end() || input->type().has_tensor_type();
    importer.define(name, tensor && items.size() == 1 ? items[0] : Item::sequence(std::move(items)), emitter);
  }
}

// Flattens what the graph returns into values and their names.
static void flattenOutput(const Item &item, const std::string &name, Emitter &emitter, Values &values,
                          SmallVectorImpl<Attribute> &names) {
  switch (item.kind) {
  case Item::Kind::Tensor:
    values.push_back(item.tensor);
    names.push_back(emitter.builder.getStringAttr(name));
    return;
  case Item::Kind::Absent:
    emitter.fail("is an empty optional, which cannot be returned");
  case Item::Kind::Optional:
    emitter.check(item.elements->size() == 1, "is an empty optional, which cannot be returned");
    flattenOutput(item.elements->front(), name, emitter, values, names);
    return;
  case Item::Kind::Sequence:
    for (auto [i, element] : llvm::enumerate(*item.elements))
      flattenOutput(element, name + "[" + std::to_string(i) + "]", emitter, values, names);
    return;
  }
}

void ModelImporter::addOutputs(GraphImporter &importer) {
  Values values;
  SmallVector<Attribute> names;
  for (const ::onnx::ValueInfoProto &output : graph().output()) {
    Location here = NameLoc::get(builder.getStringAttr("output '" + output.name() + "'"));
    Emitter emitter(builder, here, function);
    const Item *item = importer.lookup(output.name());
    if (!item)
      emitter.fail("is not defined by any node");
    flattenOutput(*item, output.name(), emitter, values, names);
  }
  builder.create<func::ReturnOp>(loc, values);
  SmallVector<Type> argumentTypes(function.getArgumentTypes()), resultTypes;
  for (Value v : values)
    resultTypes.push_back(v.getType());
  function.setFunctionType(builder.getFunctionType(argumentTypes, resultTypes));
  function->setAttr(kOutputNamesAttr, builder.getArrayAttr(names));
}

// Users come after what they use, so one backward sweep removes whole dead chains.
static void removeDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        removeDead(inner);
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}

OwningOpRef<ModuleOp> ModelImporter::run() {
  context->loadDialect<ir::TCCDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  function = builder.create<func::FuncOp>(loc, "main", builder.getFunctionType({}, {}));
  ImportState state{program, function, needs};
  findUnsupported(graph());
  reportUnsupported();
  GraphImporter importer(state, nullptr);
  addInputs(importer);
  importer.importInitializers(graph(), builder, loc);
  importer.importNodes(graph(), builder);
  addOutputs(importer);
  removeDead(function.front());
  if (failed(verify(*module)))
    throw ConversionFailure{};
  return module;
}

FailureOr<OwningOpRef<ModuleOp>> importModel(const Program &program, const ImportOptions &options, MLIRContext *context,
                                             std::set<std::string> *valueInputs, std::set<unsigned> *staticSymbols) {
  try {
    return ModelImporter(program, options, context, {valueInputs, staticSymbols}).run();
  } catch (const ConversionFailure &) {
    return failure();
  }
}

} // namespace tcc::onnx
