"""Optional inputs, initializers, names, control flow, recurrent layers, foreign domains."""
import numpy as np
import onnx
from field import AT_RUN_TIME, info, node, tensor
from onnx import helper

F = np.float32


def cases(add):
    optional_inputs(add)
    initializers(add)
    names(add)
    control_flow(add)
    sequences(add)
    recurrent(add)
    domains(add)
    folding(add)


def optional_inputs(add):
    # onnx/onnx-mlir#217, pytorch/pytorch#61404: an absent input keeps its place.
    x = np.array([-3, 0, 3, 9])
    for dtype in (F, np.float64, np.float16, np.int32, np.int64, np.int8):
        v, name = x.astype(dtype), np.dtype(dtype).name
        two, one = np.array(2, dtype), np.array(1, dtype)
        add(f"clip_max_{name}", node("Clip", "x _ max"), {"x": v}, {"y": np.array([-3, 0, 2, 2], dtype)}, constants={"max": two})
        add(f"clip_max_{name}_at_run_time", node("Clip", "x _ max"), {"x": v, "max": two}, {"y": np.array([-3, 0, 2, 2], dtype)})
        add(f"clip_min_{name}", node("Clip", "x min _"), {"x": v, "min": one}, {"y": np.array([1, 1, 3, 9], dtype)})
        add(f"clip_neither_{name}", node("Clip", "x _ _"), {"x": v}, {"y": v})
        # max below min: everything is max.
        add(f"clip_crossed_{name}", node("Clip", "x min max"), {"x": v, "min": two, "max": one}, {"y": np.array([1, 1, 1, 1], dtype)})
    add("clip_attributes", node("Clip", "x", max=2.0), {"x": x.astype(F)}, {"y": np.array([-3, 0, 2, 2], F)}, opset=6)
    # An absent output keeps its place too: the second of TopK, the mask of Dropout, the mean of LayerNormalization.
    spread = np.array([[1, 3]], F)
    add("layer_norm_deviation_only", [node("LayerNormalization", "x g", "n _ s", epsilon=0.0), node("Identity", "s")], {"x": spread},
        {"y": np.array([[1]], F)}, constants={"g": np.ones(2, F)}, opset=17)
    add("slice_without_axes", node("Slice", "x starts ends _ steps"), {"x": x.astype(F)}, {"y": np.array([-3, 3], F)},
        constants={"starts": np.array([0]), "ends": np.array([4]), "steps": np.array([2])})
    # LSTM's fifth input (sequence_lens) absent, its sixth (initial_h) given. With no weights every gate is sigmoid(0) = 1/2, g = 0:
    # c = c0 / 2, h = tanh(c) / 2.
    c0 = np.array([[[2.0, -4.0]]], F)
    weights = {"w": np.zeros((1, 8, 3), F), "r": np.zeros((1, 8, 2), F)}
    h = np.tanh(c0 / 2) / 2
    for b in ("b", "_"):
        add(f"lstm_initial_state_{'with_bias' if b == 'b' else 'without_bias'}", node("LSTM", f"x w r {b} _ h0 c0", "_ y c", hidden_size=2),
            {"x": np.ones((1, 1, 3), F), "h0": np.zeros((1, 1, 2), F), "c0": c0}, {"y": h.astype(F), "c": c0 / 2},
            constants={**weights, **({"b": np.zeros((1, 16), F)} if b == "b" else {})}, opset=14)


def initializers(add):
    # microsoft/onnxruntime#3449, #1817
    nodes = [node("Add", "x w")]
    x, w = np.array([1, 2], F), np.array([10, 20], F)
    add("initializer_not_an_input", nodes, {"x": x}, {"y": x + w}, constants={"w": w})

    def both(value):
        return lambda model: model.graph.initializer.append(tensor("w", value))

    # From IR version 4 on the input may be given, and what was folded from the default would be wrong.
    add("initializer_overridden", [node("Mul", "w two", "v"), node("Add", "x v")], {"x": x, "w": w}, {"y": x + 2 * w}, constants={"two": np.array(2, F)},
        change=both(np.zeros(2, F)), more=[({"x": x, "w": 3 * w}, {"y": x + 6 * w})], ir_version=8)
    # Before, it is a constant: the data set has no such input.
    def old(model):
        both(w)(model)
        model.graph.input.append(info("w", w))
    add("initializer_before_ir_4", nodes, {"x": x}, {"y": x + w}, change=old, ir_version=3, opset=8)


def names(add):
    x = np.array([1, -2], F)
    # microsoft/onnxruntime#15849
    same = [node("Neg", "x", "a", name="n"), node("Abs", "a", "b", name="n"), node("Add", "a b", name="n")]
    add("nodes_of_one_name", same, {"x": x}, {"y": np.array([0, 4], F)})
    for n in same:
        n.ClearField("name")
    add("nodes_without_names", same, {"x": x}, {"y": np.array([0, 4], F)})
    odd = [node("Neg", "x", ["a\"b\\c\n%"], name="q\"\\\n"), helper.make_node("Abs", ["a\"b\\c\n%"], ["y"], name="é/:\t")]
    add("odd_names", odd, {"x": x}, {"y": np.array([1, 2], F)})
    # ROCm/AMDMIGraphX#5078: a subgraph's name that an outer value has already.
    then = helper.make_graph([node("Neg", "x", "a")], "then", [], [info("a", x)])
    other = helper.make_graph([node("Abs", "x", "b")], "else", [], [info("b", x)])
    shadow = [node("Exp", "x", "a"), helper.make_node("If", ["c"], ["r"], then_branch=then, else_branch=other), node("Add", "a r")]
    add("subgraph_shadows_a_name", shadow, {"x": x, "c": np.array(True)}, error="'a'")
    # microsoft/onnxruntime#20559
    add("newer_ir_version", node("Neg", "x"), {"x": x}, ir_version=99, error="(?i)ir.?version.*99|99.*(?i:ir.?version)")
    add("newer_op_set", node("Neg", "x"), {"x": x}, opset=99, error="op ?set.*99|99.*op ?set|version 99")
    # As converters leave it that append the nodes they insert; a cycle has no order.
    add("use_before_definition", [node("Neg", "a", "y"), node("Abs", "x", "a")], {"x": x}, {"y": -np.abs(x)})
    add("cycle", [node("Add", "x b", "a"), node("Abs", "a", "b"), node("Neg", "b")], {"x": x}, error="has a cycle")


def control_flow(add):
    row, column, wide = np.arange(3, dtype=F).reshape(1, 3), np.arange(3, dtype=F).reshape(3, 1), np.arange(6, dtype=F).reshape(2, 3)
    # NVIDIA/TensorRT#2846, as exporters write x.squeeze(0): the branches differ in rank.
    then = helper.make_graph([node("Squeeze", "x axes", "s")], "then", [], [info("s", np.zeros(3, F), None)])
    same = helper.make_graph([node("Identity", "x", "i")], "else", [], [info("i", row, None)])
    squeeze = [node("Shape", "x", "shape"), node("Gather", "shape zero", "n", axis=0), node("Equal", "n one", "c"),
               helper.make_node("If", ["c"], ["r"], then_branch=then, else_branch=same)]
    words = {"axes": np.array([0]), "zero": np.array(0), "one": np.array(1)}
    add("if_squeezes", squeeze + [node("Relu", "r")], {"x": row}, {"y": np.arange(3, dtype=F)}, constants=words)
    add("if_does_not_squeeze", squeeze + [node("Relu", "r")], {"x": wide}, {"y": wide}, constants=words)
    add("if_squeezes_sometimes", squeeze + [node("Shape", "r")], {"x": row}, {"y": np.array([3])}, constants=words, shapes={"x": ["N", "M"]},
        variants=("static",), more=[({"x": wide}, {"y": np.array([2, 3])}), ({"x": column}, {"y": np.array([3, 1])})])

    # Quantco/spox#163: a carried value that starts without elements and grows.
    def loop(body_nodes, carried, out):
        body = helper.make_graph(body_nodes, "body", [info("i", np.array(0)), info("c", np.array(True)), info("v", carried, [None])],
                                 [info("c2", np.array(True)), info("w", carried, [None])])
        return helper.make_node("Loop", ["trips", "", "start"], [out], body=body)

    for dtype in (np.int64, F, np.int32):
        one = np.array([1], dtype)
        grow = [node("Identity", "c", "c2"), node("Concat", "v one", "w", axis=0)]
        name = np.dtype(dtype).name
        start = np.zeros(0, dtype)
        add(f"loop_grows_{name}", loop(grow, start, "y"), {"trips": np.array(5), "start": start}, {"y": np.ones(5, dtype)}, constants={"one": one})
        add(f"loop_grows_{name}_constant", loop(grow, start, "y"), {"one": one}, {"y": np.ones(5, dtype)}, constants={"trips": np.array(5), "start": start})
        add(f"loop_grows_{name}_not", loop(grow, start, "y"), {"trips": np.array(0), "start": start}, {"y": start}, constants={"one": one})
        add(f"loop_grows_{name}_uses_i", loop([node("Identity", "c", "c2"), node("Cast", "i", "k", to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype))),
                                              node("Unsqueeze", "k zero", "u"), node("Concat", "v u", "w", axis=0)], start, "y"),
            {"trips": np.array(4), "start": np.array([7], dtype)}, {"y": np.array([7, 0, 1, 2, 3], dtype)}, constants={"zero": np.array([0])})
    # A condition that holds at first ends a loop later (do-while): powers of two up to the first that is not below 20.
    def doubling(first, out="y", keep=(node("Less", "w limit", "c2"),)):
        body = helper.make_graph([node("Add", "v v", "w"), *keep, node("Identity", "w", "element")], "body",
                                 [info("i", np.array(0)), info("c", np.array(True)), info("v", np.array(1.0, F))],
                                 [info("c2", np.array(True)), info("w", np.array(1.0, F)), info("element", np.array(1.0, F))])
        return helper.make_node("Loop", [*first, "one"], [out, "all"], body=body)

    # What a body yields as condition may be a carried value, as that was before the iteration.
    body = helper.make_graph([node("Identity", "v", "c2"), node("And", "v never", "w"), node("Add", "n n1", "m")], "body",
                             [info("i", np.array(0)), info("c", np.array(True)), info("v", np.array(True)), info("n", np.array(0))],
                             [info("c2", np.array(True)), info("w", np.array(True)), info("m", np.array(0))])
    add("loop_condition_is_carried", helper.make_node("Loop", ["trips", "c0", "v0", "n0"], ["v_last", "y"], body=body),
        {"v0": np.array(True), "never": np.array(False), "n0": np.array(0), "n1": np.array(1), "c0": np.array(True)},
        {"v_last": np.array(False), "y": np.array(2)}, constants={"trips": np.array(10)})
    one, limit = {"one": np.array(1, F)}, {"limit": np.array(20, F)}
    powers = {"y": np.array(32, F), "all": np.array([2, 4, 8, 16, 32], F)}
    add("loop_do_while", doubling(["", "c0"]), one, powers, constants={"c0": np.array(True), **limit})
    add("loop_do_while_counted", doubling(["trips", "c0"]), one, powers, constants={"c0": np.array(True), "trips": np.array(9), **limit})
    add("loop_do_while_fewer", doubling(["trips", "c0"]), one, {"y": np.array(8, F), "all": np.array([2, 4, 8], F)},
        constants={"c0": np.array(True), "trips": np.array(3), **limit})
    add("loop_do_while_at_run_time", doubling(["trips", "c0"]), {**one, "c0": np.array(True), "trips": np.array(9), **limit}, powers,
        more=[({"one": np.array(15, F), "c0": np.array(True), "trips": np.array(9), **limit}, {"y": np.array(30, F), "all": np.array([30], F)})])
    # Without a condition the body's is ignored.
    add("loop_for", doubling(["trips", ""]), one, {"y": np.array(128, F), "all": np.array([2, 4, 8, 16, 32, 64, 128], F)},
        constants={"trips": np.array(7), **limit})
    add("loop_false_at_first", doubling(["trips", "c0"]), one, {"y": np.array(1, F), "all": np.zeros(0, F)},
        constants={"c0": np.array(False), "trips": np.array(7), **limit})
    endless = (node("Identity", "c", "c2"),)
    add("loop_without_end", doubling(["", "c0"], keep=endless), one, constants={"c0": np.array(True)}, error="never ends")


def sequences(add):
    # openvinotoolkit/openvino#35770
    a, b = np.array([[1, 2]], F), np.array([[3, 4], [5, 6]], F)
    build = [node("SequenceEmpty", "", "s0"), node("SequenceInsert", "s0 a", "s1"), node("SequenceInsert", "s1 b", "s2")]
    add("sequence_concat", build + [node("ConcatFromSequence", "s2", axis=0)], {"a": a, "b": b}, {"y": np.concatenate([a, b])})
    add("sequence_insert_at", build[:2] + [node("SequenceInsert", "s1 b zero", "s2"), node("ConcatFromSequence", "s2", axis=0)], {"a": a, "b": b},
        {"y": np.concatenate([b, a])}, constants={"zero": np.array(0)})
    add("sequence_stack", build + [node("SequenceInsert", "s1 a", "s3"), node("ConcatFromSequence", "s3", axis=0, new_axis=1)], {"a": a, "b": b},
        {"y": np.stack([a, a])})
    add("sequence_int64", [node("SequenceEmpty", "", "s0", dtype=7), node("SequenceInsert", "s0 a", "s1"), node("SequenceInsert", "s1 a", "s2"),
                           node("ConcatFromSequence", "s2", axis=-1)], {"a": np.array([4, 5])}, {"y": np.array([4, 5, 4, 5])})
    add("sequence_at", build + [node("SequenceAt", "s2 last")], {"a": a, "b": b}, {"y": b}, constants={"last": np.array(-1)})
    add("sequence_length", build + [node("SequenceLength", "s2")], {"a": a, "b": b}, {"y": np.array(2)})
    add("sequence_at_out_of_range", build + [node("SequenceAt", "s2 third")], {"a": a, "b": b}, constants={"third": np.array(2)}, error="out of range|2")

    # A loop that collects: its condition ends it, or is ignored where there is none before it.
    sequence = lambda name: helper.make_tensor_sequence_value_info(name, 1, None)
    body = helper.make_graph([node("SequenceInsert", "s a", "s2"), node("Less", "i two", "c2")], "body",
                             [info("i", np.array(0)), info("c", np.array(True)), sequence("s")], [info("c2", np.array(True)), sequence("s2")])
    for name, first, times in (("condition", ["trips", "c0"], 3), ("trip_count", ["trips", ""], 5)):
        collect = [node("SequenceEmpty", "", "s0"), helper.make_node("Loop", [*first, "s0"], ["all"], body=body), node("ConcatFromSequence", "all", axis=0)]
        add(f"sequence_loop_{name}", collect, {"a": a}, {"y": np.concatenate([a] * times)},
            constants={"trips": np.array(5), "two": np.array(2), "c0": np.array(True)})


def recurrent(add):
    # openvinotoolkit/openvino#37819: layout 1 puts the batch first, in x, y, and the states.
    rng = np.random.RandomState(0)
    steps, batch, inputs, hidden = 3, 2, 4, 5
    x = rng.randn(steps, batch, inputs).astype(F)
    h0, c0 = rng.randn(1, batch, hidden).astype(F), rng.randn(1, batch, hidden).astype(F)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    turn = lambda v: np.ascontiguousarray(np.moveaxis(v, -2, 0))  # (dirs, batch, h) -> (batch, dirs, h)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        w, r = (rng.randn(1, gates * hidden, n).astype(F) / 2 for n in (inputs, hidden))
        bias = rng.randn(1, 2 * gates * hidden).astype(F) / 2
        wb, rb = np.split(bias[0].astype(np.float64), 2)
        for direction in ("forward", "reverse"):
            h, c, ys = h0[0].astype(np.float64), c0[0].astype(np.float64), []
            for t in (range(steps) if direction == "forward" else reversed(range(steps))):
                a, q = x[t] @ w[0].T + wb, h @ r[0].T + rb
                if op == "RNN":
                    h = np.tanh(a + q)
                elif op == "GRU":  # z r h; linear_before_reset = 1
                    (az, ar, ah), (qz, qr, qh) = np.split(a, 3, 1), np.split(q, 3, 1)
                    z = sigmoid(az + qz)
                    h = (1 - z) * np.tanh(ah + sigmoid(ar + qr) * qh) + z * h
                else:  # i o f c
                    i, o, f, g = np.split(a + q, 4, 1)
                    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                    h = sigmoid(o) * np.tanh(c)
                ys.append(h)
            y = np.stack(ys if direction == "forward" else ys[::-1])[:, None]  # steps, dirs, batch, hidden
            states = {"h0": h0, **({"c0": c0} if op == "LSTM" else {})}
            outs = {"y": y.astype(F), "yh": h[None].astype(F), **({"yc": c[None].astype(F)} if op == "LSTM" else {})}
            attributes = dict(hidden_size=hidden, direction=direction, **({"linear_before_reset": 1} if op == "GRU" else {}))
            names = f"x w r b _ {' '.join(states)}"
            weights = {"w": w, "r": r, "b": bias}
            add(f"{op}_{direction}_layout_0", node(op, names, " ".join(outs), **attributes), {"x": x, **states}, outs, constants=weights, opset=14)
            first = {"y": np.ascontiguousarray(outs["y"].transpose(2, 0, 1, 3)), **{n: turn(outs[n]) for n in list(outs)[1:]}}
            add(f"{op}_{direction}_layout_1", node(op, names, " ".join(outs), layout=1, **attributes),
                {"x": np.ascontiguousarray(x.transpose(1, 0, 2)), **{n: turn(v) for n, v in states.items()}}, first, constants=weights, opset=14)


def domains(add):
    # Xilinx/onnx-mlir#107: the name of an op belongs to its domain.
    x = np.array([1, -2], F)
    contrib, other = ("com.microsoft", 1), ("org.example", 1)
    gelu = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    # 0.5 x (1 + erf(x / sqrt 2))
    add("microsoft_gelu", gelu, {"x": x}, {"y": np.array([0.841344746, -0.045500264], F)}, domains=[contrib])
    ms = lambda op, inputs, outputs="y", **a: helper.make_node(op, inputs.split(), outputs.split(), domain="com.microsoft", **a)
    add("microsoft_bias_gelu", ms("BiasGelu", "x b"), {"x": x - F(1)}, {"y": np.array([0.841344746, -0.045500264], F)}, domains=[contrib],
        constants={"b": np.array([1, 1], F)})
    # 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    add("microsoft_fast_gelu", ms("FastGelu", "x"), {"x": x}, {"y": np.array([0.841191991, -0.045402306], F)}, domains=[contrib])
    add("microsoft_quick_gelu", ms("QuickGelu", "x", alpha=2.0), {"x": x}, {"y": np.array([0.880797078, -0.035972420], F)}, domains=[contrib])
    m = np.arange(6, dtype=F).reshape(2, 3)
    add("microsoft_fused_matmul", ms("FusedMatMul", "a b", transA=1, alpha=0.5), {"a": m, "b": m}, {"y": m.T @ m / 2}, domains=[contrib])
    pair = np.array([[1, 3]], F)  # plus [[1, 1]] is [[2, 4]]: mean 3, deviation 1
    add("microsoft_skip_layer_norm", ms("SkipLayerNormalization", "x s g b"),
        {"x": pair, "s": np.ones((1, 2), F)}, {"y": np.array([[-1, 3]], F)}, constants={"g": np.array([2, 2], F), "b": np.array([1, 1], F)}, domains=[contrib])
    add("microsoft_skip_rms_norm", helper.make_node("SkipSimplifiedLayerNormalization", ["x", "s", "g"], ["y", "", "", "sum"], domain="com.microsoft"), {"x": pair, "s": np.ones((1, 2), F)},
        {"y": np.array([[2, 4]], F) / np.sqrt(F(10)), "sum": np.array([[2, 4]], F)}, constants={"g": np.ones(2, F)}, domains=[contrib])
    add("microsoft_relu_is_unknown", helper.make_node("Relu", ["x"], ["y"], domain="com.microsoft"), {"x": x}, domains=[contrib], error="com.microsoft")
    add("foreign_relu_is_unknown", helper.make_node("Relu", ["x"], ["y"], domain="org.example"), {"x": x}, domains=[other], error="org.example")
    several = [helper.make_node("Relu", ["x"], ["a"], domain="org.example"), helper.make_node("Nonsense", ["a"], ["y"], domain="org.example")]
    add("all_unknown_ops_are_listed", several, {"x": x}, domains=[other], error="Relu.*Nonsense|Nonsense.*Relu")
    # A function of the model with the name of a known op is the model's.
    function = helper.make_function("org.example", "Relu", ["v"], ["w"], [node("Neg", "v", "w")], [helper.make_opsetid("", 21)])
    add("function_of_a_known_name", helper.make_node("Relu", ["x"], ["y"], domain="org.example"), {"x": x}, {"y": -x}, domains=[other], functions=[function])


def folding(add):
    # pytorch/pytorch#197539: scales go into the weights of a Conv only where nothing else reads what the Conv gives.
    x = np.arange(8, dtype=F).reshape(1, 2, 2, 2) - 3
    w = np.array([[1, 2], [-1, 1]], F)
    c = np.einsum("oc,nchw->nohw", w, x)
    scale, offset = np.array([2, -1], F), np.array([1, 3], F)  # of a batch norm with mean 1 and variance 4
    y = (c - 1) / 2 * scale.reshape(1, 2, 1, 1) + offset.reshape(1, 2, 1, 1)
    constants = {"w": w.reshape(2, 2, 1, 1), "g": scale, "b": offset, "m": np.ones(2, F), "v": np.full(2, 4, F)}
    conv, norm = node("Conv", "x w", "c"), node("BatchNormalization", "c g b m v", epsilon=0.0)
    relu, other = node("Relu", "c", "r"), node("Sub", "y c", "d")
    for name, nodes, more in (("alone", [conv, norm], {}), ("conv_is_an_output", [conv, norm], {"c": c}),
                              ("conv_is_read_before", [conv, relu, norm], {"r": np.maximum(c, 0)}),
                              ("conv_is_read_after", [conv, norm, other], {"d": y - c}),
                              ("conv_is_read_twice_by_norms", [conv, norm, node("BatchNormalization", "c b g m v", "z", epsilon=0.0)],
                               {"z": (c - 1) / 2 * offset.reshape(1, 2, 1, 1) + scale.reshape(1, 2, 1, 1)})):
        add(f"batch_norm_{name}", nodes, {"x": x}, {"y": y, **more}, constants=constants, opset=15)
        add(f"batch_norm_{name}_weights_at_run_time", nodes, {"x": x, "w": constants["w"]}, {"y": y, **more},
            constants={n: v for n, v in constants.items() if n != "w"}, opset=15)
