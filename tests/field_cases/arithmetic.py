"""Integer division, reductions, running sums, softmax, quantization, narrow floats: values."""
import ml_dtypes
import numpy as np
import onnx
from field import node

F = np.float32
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)


def cases(add):
    division(add)
    reductions(add)
    running_sums(add)
    softmax(add)
    quantization(add)
    narrow_floats(add)
    accumulation(add)


def division(add):
    # onnx/onnx#7570, apache/tvm#20170, NVIDIA/TensorRT#4702
    for dtype in SIGNED:
        name = np.dtype(dtype).name
        a, b = np.array([8, -8, 7, -7], dtype), np.array([-3, 3, -2, 2], dtype)
        add(f"div_{name}", node("Div", "a b"), {"a": a, "b": b}, {"y": np.array([-2, -2, -3, -3], dtype)})
        add(f"div_{name}_constant", node("Div", "a b"), {"a": a}, {"y": np.array([-2, 2, -1, 1], dtype)}, constants={"b": np.array(-4, dtype)})
        add(f"mod_{name}", node("Mod", "a b"), {"a": np.array([-5, 5, -5, 5], dtype), "b": np.array([3, -3, -3, 3], dtype)},
            {"y": np.array([1, -1, -2, 2], dtype)})
        add(f"mod_{name}_fmod", node("Mod", "a b", fmod=1), {"a": np.array([-5, 5, -5, 5], dtype), "b": np.array([3, -3, -3, 3], dtype)},
            {"y": np.array([-2, 2, -2, 2], dtype)})
        add(f"mod_{name}_constant", node("Mod", "a b"), {"a": a}, {"y": np.array([2, 1, 1, 2], dtype)}, constants={"b": np.array(3, dtype)})
    for dtype in UNSIGNED:
        name = np.dtype(dtype).name
        top = np.iinfo(dtype).max
        add(f"div_{name}", node("Div", "a b"), {"a": np.array([top, 7, 1], dtype), "b": np.array([2, top, 1], dtype)},
            {"y": np.array([top // 2, 0, 1], dtype)})
        add(f"mod_{name}", node("Mod", "a b"), {"a": np.array([top, 7, 1], dtype), "b": np.array([2, top, 1], dtype)}, {"y": np.array([1, 7, 0], dtype)})
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        name = np.dtype(dtype).name
        add(f"mod_large_{name}", node("Mod", "a b"), {"a": np.array([18542495, 16777217], dtype), "b": np.array([32, 2], dtype)},
            {"y": np.array([31, 1], dtype)})
    for dtype in (np.int64, np.uint64):
        big = (1 << 53) + 1
        for op, y in (("Add", big + 1), ("Mul", big), ("Div", big), ("Max", big), ("Mod", 0)):
            add(f"exact_{op}_{np.dtype(dtype).name}", node(op, "a b"), {"a": np.array([big], dtype), "b": np.array([1], dtype)}, {"y": np.array([y], dtype)})
    for dtype in (F, np.float64, np.float16):
        add(f"fmod_{np.dtype(dtype).name}", node("Mod", "a b", fmod=1), {"a": np.array([-5.5, 5.5, 5], dtype), "b": np.array([3, -3, 3], dtype)},
            {"y": np.array([-2.5, 2.5, 2], dtype)})
    # iree-org/iree#20803: not reassociated into x - x - 1, nor lost.
    for dtype in (F, np.float64, np.int32, np.int8, np.uint8):
        x = np.arange(8, dtype=dtype)
        y = np.full(8, -1 if np.dtype(dtype).kind != "u" else 255).astype(dtype)
        add(f"x_minus_x_plus_1_{np.dtype(dtype).name}", [node("Add", "x one", "s"), node("Sub", "x s")], {"x": x}, {"y": y},
            constants={"one": np.array(1, dtype)})
    # In float32, 2^24 + 1 is 2^24: the sum is rounded before it is subtracted.
    add("x_minus_x_plus_1_rounds", [node("Add", "x one", "s"), node("Sub", "x s")], {"x": np.array([2**24, 1], F)}, {"y": np.array([0, -1], F)},
        constants={"one": np.array(1, F)})


def reductions(add):
    # iree-org/iree#24265
    x = np.array([[[1, 9], [3, 4]], [[5, 6], [7, 2]], [[0, 1], [8, 3]]])
    for op, wanted in (("ReduceMax", [9, 8]), ("ReduceMin", [0, 2]), ("ReduceSum", [22, 27]), ("ReduceMean", [22 / 6, 4.5]), ("ReduceProd", [0, 4032])):
        for dtype in (F, np.float64, np.int64):
            if dtype == np.int64 and op == "ReduceMean":
                continue
            v, y = x.astype(dtype), np.array(wanted, dtype)
            name = f"{op}_{np.dtype(dtype).name}"
            add(name, node(op, "x axes", keepdims=0), {"x": v}, {"y": y}, constants={"axes": np.array([0, -1])})
            add(name + "_at_run_time", node(op, "x axes", keepdims=0), {"x": v, "axes": np.array([-1, 0])}, {"y": y})
            add(name + "_keepdims", node(op, "x axes", keepdims=1), {"x": v}, {"y": y.reshape(1, 2, 1)}, constants={"axes": np.array([0, -1])})
            add(name + "_attribute", node(op, "x", axes=[0, -1], keepdims=0), {"x": v}, {"y": y}, opset=11)
    for dtype in (np.int8, np.uint8, np.float16):
        add(f"ReduceMax_{np.dtype(dtype).name}", node("ReduceMax", "x axes", keepdims=0), {"x": x.astype(dtype)}, {"y": np.array([9, 8], dtype)},
            constants={"axes": np.array([0, -1])})
    # No axes: all of them, or with noop_with_empty_axes none.
    v = x.astype(F)
    for name, constants, attributes, y in (("all", {}, {}, F(9).reshape(1, 1, 1)), ("none", {"axes": np.zeros(0, np.int64)}, {"noop_with_empty_axes": 1}, v),
                                           ("empty_is_all", {"axes": np.zeros(0, np.int64)}, {"keepdims": 0}, F(9))):
        add(f"ReduceMax_{name}", node("ReduceMax", "x axes" if constants else "x", **attributes), {"x": v}, {"y": np.asarray(y)}, constants=constants)
    add("ReduceMax_of_nothing", node("ReduceMax", "x axes", keepdims=0), {"x": np.zeros((2, 0), F)}, {"y": np.full(2, -np.inf, F)},
        constants={"axes": np.array([1])})


def running_sums(add):
    # apache/tvm#19692, apache/tvm#19437
    for dtype in (F, np.float64, np.int32, np.int64, np.float16, np.uint32):
        name = np.dtype(dtype).name
        for exclusive, reverse, y in ((1, 0, [0, 1, 3, 6]), (0, 0, [1, 3, 6, 10]), (1, 1, [9, 7, 4, 0]), (0, 1, [10, 9, 7, 4])):
            cumsum = node("CumSum", "x axis", exclusive=exclusive, reverse=reverse)
            x, wanted = np.array([1, 2, 3, 4], dtype), np.array(y, dtype)
            for axis in (np.array(0), np.array(-1, np.int32), np.array([0])) if dtype == F else (np.array(0),):
                add(f"cumsum_{name}_{exclusive}{reverse}_{axis.dtype.name}_{axis.ndim}", cumsum, {"x": x}, {"y": wanted}, constants={"axis": axis})
            add(f"cumsum_{name}_{exclusive}{reverse}_at_run_time", cumsum, {"x": x, "axis": np.array(0)}, {"y": wanted},
                more=[({"x": x, "axis": np.array(-1)}, {"y": wanted})])
    x = np.arange(1, 7, dtype=F).reshape(2, 3)
    by_axis = {0: [[1, 2, 3], [5, 7, 9]], 1: [[1, 3, 6], [4, 9, 15]], -2: [[1, 2, 3], [5, 7, 9]], -1: [[1, 3, 6], [4, 9, 15]]}
    sets = [({"x": x, "axis": np.array(a)}, {"y": np.array(y, F)}) for a, y in by_axis.items()]
    add("cumsum_axis_varies", node("CumSum", "x axis"), *sets[0], more=sets[1:])
    add("cumsum_axis_wrong", node("CumSum", "x axis"), {"x": x, "axis": np.array(2)}, error="axis|out of range")
    x = np.arange(1, 4, dtype=F)
    for axis in (1, -2):
        add(f"cumsum_axis_{'wrong' if axis > 0 else 'below'}_of_a_vector", node("CumSum", "x axis"), {"x": x, "axis": np.array(axis)}, error="axis|out of range")


def softmax(add):
    # openvinotoolkit/openvino#37823
    x = np.full((2, 3, 4), 0.3)
    for dtype in (F, np.float64, np.float16):
        for op, f in (("Softmax", lambda v: v), ("LogSoftmax", np.log)):
            name = f"{op}_{np.dtype(dtype).name}"
            full = lambda v: {"y": np.full((2, 3, 4), f(v), dtype)}
            v = {"x": x.astype(dtype)}
            add(name + "_11", node(op, "x", axis=1), v, full(1 / 12), opset=11)
            add(name + "_11_default", node(op, "x"), v, full(1 / 12), opset=11)
            add(name + "_11_axis_0", node(op, "x", axis=0), v, full(1 / 24), opset=11)
            add(name + "_11_axis_2", node(op, "x", axis=-1), v, full(1 / 4), opset=11)
            add(name + "_13", node(op, "x"), v, full(1 / 4), opset=13)
            add(name + "_13_axis_1", node(op, "x", axis=1), v, full(1 / 3), opset=13)
            add(name + "_13_axis_0", node(op, "x", axis=-3), v, full(1 / 2), opset=13)
    hard = np.zeros((2, 3, 4), F)
    hard[[0, 1], [2, 0], [1, 3]] = 1
    first = np.array([[[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0]]], F)
    add("Hardmax_11", node("Hardmax", "x", axis=1), {"x": hard}, {"y": hard}, opset=11)
    add("Hardmax_13", node("Hardmax", "x"), {"x": hard}, {"y": first}, opset=13)
    # pytorch/pytorch#163932: huge inputs give a one-hot row, not NaN.
    z = np.random.RandomState(0).randn(3, 50).astype(F) * F(1e14)
    y = np.eye(50, dtype=F)[z.argmax(1)]
    add("softmax_huge", node("Softmax", "x"), {"x": z}, {"y": y})
    add("softmax_huge_axis_0", node("Softmax", "x", axis=0), {"x": z.T.copy()}, {"y": y.T.copy()})
    attention = [node("MatMul", "q k", "s"), node("Softmax", "s", "p"), node("MatMul", "p v")]
    q, k = np.eye(3, dtype=F) * F(1e7), np.array([[1, -1, 3, 2], [0, 5, 1, 2], [4, 2, 0, -7]], F) * F(1e7)
    v = np.arange(8, dtype=F).reshape(4, 2)
    add("softmax_huge_attention", attention, {"q": q.reshape(1, 3, 3), "k": k.reshape(1, 3, 4), "v": v.reshape(1, 4, 2)}, {"y": v[[2, 1, 0]].reshape(1, 3, 2)})
    half = np.array([[60000, 59000, -60000, 0]], np.float16)
    add("softmax_huge_float16", node("Softmax", "x"), {"x": half}, {"y": np.array([[1, 0, 0, 0]], np.float16)})


def quantization(add):
    # microsoft/onnxruntime#3442, #25045: saturation, and ties to even.
    x = np.array([-1000, -129, -128.5, -127.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 126.5, 127.5, 128, 1000], F)
    low = np.array([-128, -128, -128, -128, -2, -2, 0, 0, 2, 2, 126, 127, 127, 127], np.int8)
    high = np.array([0, 0, 0, 0, 126, 126, 128, 128, 130, 130, 254, 255, 255, 255], np.uint8)
    infinite = np.array([np.inf, -np.inf, 3e38, -3e38], F)
    for dtype in (F, np.float16):
        v = np.clip(x, -1000, 1000).astype(dtype)
        one = np.array(1, dtype)
        name = np.dtype(dtype).name
        opset = 13 if dtype == F else 21
        q = node("QuantizeLinear", "x scale zero")
        for zero, y in ((np.int8(0), low), (np.uint8(128), high)):
            add(f"quantize_{name}_{y.dtype.name}", q, {"x": v}, {"y": y}, constants={"scale": one, "zero": np.array(zero)}, opset=opset)
            add(f"quantize_{name}_{y.dtype.name}_at_run_time", q, {"x": v, "scale": one, "zero": np.array(zero)}, {"y": y}, opset=opset)
            add(f"quantize_{name}_{y.dtype.name}_axis", node("QuantizeLinear", "x scale zero", axis=0), {"x": np.stack([v, 2 * v])}, {"y": np.stack([y, y])},
                constants={"scale": np.array([1, 2], dtype), "zero": np.array([zero, zero])}, opset=opset)
    add("quantize_infinite", node("QuantizeLinear", "x scale zero"), {"x": infinite}, {"y": np.array([127, -128, 127, -128], np.int8)},
        constants={"scale": np.array(0.5, F), "zero": np.array(0, np.int8)})
    wide = np.array([-40000, -32768.5, -0.5, 32766.5, 40000], F)
    add("quantize_int16", node("QuantizeLinear", "x scale zero"), {"x": wide}, {"y": np.array([-32768, -32768, 0, 32766, 32767], np.int16)},
        constants={"scale": np.array(1, F), "zero": np.array(0, np.int16)})
    # The zero point is added after rounding: 0.5 -> 0, and 0 + 1 = 1.
    add("quantize_odd_zero_point", node("QuantizeLinear", "x scale zero"), {"x": np.array([0.5, 1.5, -0.5], F)}, {"y": np.array([1, 3, 1], np.int8)},
        constants={"scale": np.array(1, F), "zero": np.array(1, np.int8)})
    add("quantize_and_back", [node("QuantizeLinear", "x scale zero", "q"), node("DequantizeLinear", "q scale zero")], {"x": x / 2},
        {"y": low.astype(F) / 2}, constants={"scale": np.array(0.5, F), "zero": np.array(0, np.int8)})
    add("quantize_dynamic", node("DynamicQuantizeLinear", "x", "y s z"), {"x": np.array([0, 2, -3, -2.5, 1.34, 0.5], F)},
        {"y": np.array([153, 255, 0, 26, 221, 179], np.uint8), "s": np.array(0.019607843831181526, F), "z": np.array(153, np.uint8)})


def narrow_floats(add):
    # onnx/onnx#4805, onnx/onnx#6220 and the table of the Cast specification.
    x = np.array([1e6, -1e6, np.inf, -np.inf, 448, 465, 1.0625, 240, 57344, 61440], F)
    nan = np.nan
    saturated = {  # type -> results with saturate=1, and with saturate=0
        "float8_e4m3fn": ([448, -448, 448, -448, 448, 448, 1, 240, 448, 448], [nan, nan, nan, nan, 448, nan, 1, 240, nan, nan]),
        "float8_e4m3fnuz": ([240, -240, nan, nan, 240, 240, 1, 240, 240, 240], [nan, nan, nan, nan, nan, nan, 1, 240, nan, nan]),
        "float8_e5m2": ([57344, -57344, 57344, -57344, 448, 448, 1, 256, 57344, 57344],
                        [np.inf, -np.inf, np.inf, -np.inf, 448, 448, 1, 256, 57344, np.inf]),
        "float8_e5m2fnuz": ([57344, -57344, nan, nan, 448, 448, 1, 256, 57344, 57344], [nan, nan, nan, nan, 448, 448, 1, 256, 57344, nan]),
    }
    for name, lists in saturated.items():
        kind = getattr(ml_dtypes, name)
        number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        for saturate, wanted in zip((1, 0), lists):
            back = [node("Cast", "x", "n", to=number, saturate=saturate), node("Cast", "n", to=1)]
            for opset in (19, 21):
                add(f"{name}_saturate_{saturate}_{opset}", back, {"x": x}, {"y": np.array(wanted, F)}, opset=opset)
            add(f"{name}_saturate_{saturate}_kept", back[:1], {"x": x}, {"n": np.array(wanted, F).astype(kind)}, opset=21)
            add(f"{name}_saturate_{saturate}_float16", [node("Cast", "x", "n", to=number, saturate=saturate), node("Cast", "n", to=10)],
                {"x": x[2:8].astype(np.float16)}, {"y": np.array(wanted[2:8], np.float16)}, opset=21)
    b = ml_dtypes.bfloat16
    v = np.array([1, 2, -3, 0.5], b)
    for op, y in (("Add", [2, 4, -6, 1]), ("Mul", [1, 4, 9, 0.25]), ("Sub", [0, 0, 0, 0]), ("Div", [1, 1, 1, 1])):
        add(f"bfloat16_{op}", node(op, "a b"), {"a": v, "b": v}, {"y": np.array(y, b)})
    for op, y in (("Relu", [1, 2, 0, 0.5]), ("Neg", [-1, -2, 3, -0.5]), ("Abs", [1, 2, 3, 0.5]), ("Sign", [1, 1, -1, 1])):
        add(f"bfloat16_{op}", node(op, "a"), {"a": v}, {"y": np.array(y, b)})
    m = np.array([[1, 2], [3, 4]], b)
    add("bfloat16_MatMul", node("MatMul", "a b"), {"a": m, "b": m}, {"y": np.array([[7, 10], [15, 22]], b)})
    add("bfloat16_ReduceSum", node("ReduceSum", "a", keepdims=0), {"a": m}, {"y": np.array(10, b)})
    add("bfloat16_Softmax", node("Softmax", "a"), {"a": np.zeros((2, 4), b)}, {"y": np.full((2, 4), 0.25, b)})
    add("bfloat16_Conv", node("Conv", "a w"), {"a": m.reshape(1, 1, 2, 2), "w": m.reshape(1, 1, 2, 2)}, {"y": np.array(30, b).reshape(1, 1, 1, 1)}, opset=22)
    # A cast rounds once, to what was asked for, also where it is fused: above the middle of two float16s, and from float64 to float32 and back.
    for kind, step, name in ((np.float16, 2.0**-10, "half"), (b, 2.0**-7, "brain")):
        x, number = np.full(64, 0.5 * (1 + step / 2 + 2.0**-40)), onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        rest = [node("Cast", "s", "n", to=number), node("Cast", "n", "w", to=1), node("Sub", "w one")]
        for case, first, inputs in (("", node("Add", "x x", "s"), {"x": x}),
                                    ("_after_a_product", node("MatMul", "t x", "s"), {"t": np.full((1, 1), 2.0), "x": x.reshape(1, 64)})):
            add(f"cast_once_to_{name}{case}", [first, *rest], inputs, {"y": np.full(inputs["x"].shape, step, F)}, constants={"one": np.array(1, F)})
    add("cast_there_and_back", [node("Cast", "x", "n", to=1), node("Cast", "n", "w", to=11), node("Sub", "w x", "d"), node("Mul", "d big")],
        {"x": np.full(64, 1 + 2.0**-40)}, {"y": np.full(64, -1.0)}, constants={"big": np.array(2.0**40)})
    # Denormal results of a product are kept: 2^-130 is one in bfloat16.
    add("denormal_products", [node("MatMul", "a b", "m"), node("MatMul", "m c")],
        {"a": np.full((1, 1), 2.0**-65, b), "b": np.full((1, 16), 2.0**-65, b), "c": np.full((16, 4), 2.0**126, b)}, {"y": np.ones((1, 4), b)})


def accumulation(add):
    # One float after another, 4096 times 0.1 would be 4e-5 off: variances as E[x^2] - E[x]^2 do not bear that.
    for name, shape, axis in (("columns", (4096, 37), 0), ("rows", (37, 4096), 1), ("planes", (3, 4096, 19), 1)):
        wanted = np.full(np.delete(shape, axis), np.float64(F(0.1)) * 4096)
        add(f"long_sums_of_{name}", node("ReduceSum", "x axes", keepdims=0), {"x": np.full(shape, 0.1, F)}, {"y": wanted.astype(F)},
            constants={"axes": np.array([axis])})
    # NVIDIA/TensorRT#2564, pytorch/pytorch#163932: in float16 neither the sum of squares (65504 at most) nor the mean may overflow.
    n = 2048
    wave = np.tile(np.array([200, -200], np.float16), n // 2).reshape(1, n)  # sum of squares 8e7
    ones = np.ones(n, np.float16)
    sign = np.sign(wave)
    for kind in (np.float16, ml_dtypes.bfloat16):
        w, s, o = wave.astype(kind), sign.astype(kind), ones.astype(kind)
        name = np.dtype(kind).name
        add(f"layer_norm_{name}", node("LayerNormalization", "x g", epsilon=1e-5), {"x": w, "g": o}, {"y": s}, opset=17)
        add(f"l2_norm_{name}", node("LpNormalization", "x", axis=-1, p=2), {"x": w}, {"y": (sign.astype(F) / np.sqrt(F(n))).astype(kind)}, opset=22)
        add(f"reduce_l2_{name}", node("ReduceL2", "x", keepdims=0), {"x": w}, {"y": np.array(200 * np.sqrt(n), kind)})
        add(f"reduce_mean_{name}", node("ReduceMean", "x", keepdims=0), {"x": np.full((1, 4096), 100, kind)}, {"y": np.array(100, kind)})
        add(f"rms_norm_{name}", node("RMSNormalization", "x g", epsilon=1e-5), {"x": w, "g": o}, {"y": s}, opset=23)
        add(f"instance_norm_{name}", node("InstanceNormalization", "x g b", epsilon=1e-5), {"x": w.reshape(1, 1, n), "g": o[:1], "b": 0 * o[:1]},
            {"y": s.reshape(1, 1, n)}, opset=22)
    # As exporters before op set 17 wrote it, the variance through float16 would be infinite: with Casts it is not.
    spelled = [node("Cast", "x", "w", to=1), node("ReduceMean", "w", "m", axes=[-1]), node("Sub", "w m", "d"), node("Mul", "d d", "q"),
               node("ReduceMean", "q", "v", axes=[-1]), node("Sqrt", "v", "r"), node("Div", "d r", "n"), node("Cast", "n", to=10)]
    add("layer_norm_spelled_out_float16", spelled, {"x": wave}, {"y": sign}, opset=13)
    x = np.linspace(-1, 1, 64, dtype=F).reshape(1, 64)
    tall = F(1e4)  # a mean far from 0, where E[x^2] - E[x]^2 loses everything in float32
    add("layer_norm_cancels", node("LayerNormalization", "x g"), {"x": np.round(x * 512) / 512 + tall, "g": np.ones(64, F)},
        {"y": normalised(np.round(x.astype(np.float64) * 512) / 512)}, opset=17)


def normalised(x):
    c = x - x.mean()
    return (c / np.sqrt((c * c).mean() + 1e-5)).astype(F)
