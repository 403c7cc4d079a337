// Graphs of random ops over a few shapes: what no one thought of.
#include <random>

#include "tests/codegen_fusion/fusion_test.h"

namespace tcc::codegen {
namespace {

std::string randomGraph(unsigned seed) {
  std::mt19937 rng(seed);
  auto pick = [&](int n) { return static_cast<int>(rng() % n); };
  struct Value {
    std::string name;
    std::vector<int64_t> dims;
  };
  auto typeOf = [](const std::vector<int64_t>& dims) {
    std::string text = "tensor<";
    for (int64_t d : dims) text += std::to_string(d) + "x";
    return text + "f32>";
  };
  static const std::vector<std::vector<int64_t>> kShapes = {{2, 3, 4}, {6, 4}, {4, 6}, {3, 1, 5}, {7}, {1, 4, 6}};
  std::vector<Value> values;
  std::string arguments, body;
  for (int i = 0; i < 3; ++i) {
    values.push_back({"%a" + std::to_string(i), kShapes[pick(kShapes.size())]});
    arguments += (i ? ", " : "") + values.back().name + ": " + typeOf(values.back().dims);
  }
  int count = 4 + pick(12);
  for (int i = 0; i < count; ++i) {
    const Value x = values[std::max<int>(0, static_cast<int>(values.size()) - 1 - pick(4))];
    std::string name = "%v" + std::to_string(i), type = typeOf(x.dims);
    std::vector<int64_t> dims = x.dims;
    size_t rank = dims.size();
    auto emit = [&](const std::string& op, const std::string& attributes) {
      body += "  " + name + " = tcc." + op + " " + x.name + " " + attributes + " : (" + type + ") -> " + typeOf(dims) +
              "\n";
    };
    switch (rank == 0 ? pick(4) : pick(10)) {
      case 0:
      case 1: {
        static const char* kUnary[] = {"tanh", "neg", "abs", "sigmoid"};
        body += "  " + name + " = tcc." + kUnary[pick(4)] + " " + x.name + " : " + type + "\n";
        break;
      }
      case 2:
      case 3: {
        const Value* other = &x;
        for (const Value& v : values)
          if (v.dims == x.dims && pick(2)) other = &v;
        static const char* kBinary[] = {"add", "mul", "max", "sub"};
        body += "  " + name + " = tcc." + kBinary[pick(4)] + " " + x.name + ", " + other->name + " : " + type + "\n";
        break;
      }
      case 4: {
        std::vector<int64_t> permutation(rank);
        for (size_t k = 0; k < rank; ++k) permutation[k] = k;
        std::shuffle(permutation.begin(), permutation.end(), rng);
        std::string list;
        for (size_t k = 0; k < rank; ++k) {
          dims[k] = x.dims[permutation[k]];
          list += (k ? ", " : "") + std::to_string(permutation[k]);
        }
        emit("transpose", "{permutation = array<i64: " + list + ">}");
        break;
      }
      case 5: {
        int64_t elements = 1;
        for (int64_t d : dims) elements *= d;
        std::vector<std::vector<int64_t>> options = {{elements}, {1, elements}};
        for (const auto& shape : kShapes) {
          int64_t n = 1;
          for (int64_t d : shape) n *= d;
          if (n == elements) options.push_back(shape);
        }
        if (elements % 2 == 0) options.push_back({2, elements / 2});
        dims = options[pick(options.size())];
        emit("reshape", "");
        break;
      }
      case 6: {
        size_t axis = pick(rank);
        bool keep = pick(2);
        if (keep)
          dims[axis] = 1;
        else
          dims.erase(dims.begin() + axis);
        static const char* kKinds[] = {"sum", "max", "mean", "min"};
        emit("reduce", std::string("{kind = #tcc.reduce_kind<") + kKinds[pick(4)] + ">, axes = array<i64: " +
                           std::to_string(axis) + ">, keep_dims = " + (keep ? "true" : "false") + "}");
        break;
      }
      case 7:
        dims.insert(dims.begin(), 1 + pick(3));
        for (size_t k = 1; k < dims.size(); ++k)
          if (dims[k] == 1) dims[k] = 1 + pick(4);
        if (dims.size() > 5) {
          dims = x.dims;
          emit("reshape", "");
          break;
        }
        emit("broadcast", "");
        break;
      case 8: {
        size_t axis = pick(rank);
        std::string starts, steps, low, high;
        bool pad = pick(2);
        int64_t before = pick(3), after = pick(3);
        for (size_t k = 0; k < rank; ++k) {
          starts += (k ? ", " : "") + std::to_string(k == axis && dims[k] > 1 ? 1 : 0);
          steps += (k ? ", " : "") + std::string("1");
          low += (k ? ", " : "") + std::to_string(k == axis ? before : 0);
          high += (k ? ", " : "") + std::to_string(k == axis ? after : 0);
        }
        if (pad) {
          dims[axis] += before + after;
          emit("pad",
               "{low = #tcc.extents<" + low + ">, high = #tcc.extents<" + high + ">, mode = #tcc.pad_mode<constant>}");
        } else {
          if (dims[axis] > 1) --dims[axis];
          emit("slice", "{starts = #tcc.extents<" + starts + ">, steps = array<i64: " + steps + ">}");
        }
        break;
      }
      default:
        if (pick(2))
          emit("softmax", "{axis = " + std::to_string(pick(rank)) + " : i64}");
        else
          emit("layer_norm", "{axis = " + std::to_string(pick(rank)) + " : i64, epsilon = 1.0e-5}");
    }
    values.push_back({name, dims});
  }
  std::string outputs, types;
  for (size_t i = values.size() - 2; i < values.size(); ++i) {
    outputs += (outputs.empty() ? "" : ", ") + values[i].name;
    types += (types.empty() ? "" : ", ") + typeOf(values[i].dims);
  }
  return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + body + "  return " + outputs + " : " + types +
         "\n}";
}

std::vector<Case> randomCases() {
  std::vector<Case> cases;
  for (unsigned seed = 0; seed < 200; ++seed) cases.push_back({"seed" + std::to_string(seed), randomGraph(seed)});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Random, FusionTest, ::testing::ValuesIn(randomCases()), nameOfCase);

}  // namespace
}  // namespace tcc::codegen
