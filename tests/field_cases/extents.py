"""Extents that are not what a graph assumes: an error that names the node, never a read outside a tensor."""
import numpy as np
from field import AT_RUN_TIME, node

F = np.float32


def cases(add):
    baked(add)
    mismatches(add)


def baked(add):
    # microsoft/onnxruntime#10463: a batch size that was written into a Reshape.
    x = np.arange(24, dtype=F).reshape(2, 3, 4)
    fixed = [node("Relu", "x", "r"), node("Reshape", "r shape", name="flatten_it")]
    for shapes in ({"x": ["N", 3, 4]}, {"x": ["N", "C", "L"]}, None):
        kind = "declared" if not shapes else "_".join(shapes["x"][:1] + [str(s) for s in shapes["x"][1:]])
        add(f"baked_batch_{kind}", fixed, {"x": x[:1]}, {"y": x[:1].reshape(1, 12)}, constants={"shape": np.array([1, 12])}, shapes=shapes)
        add(f"baked_batch_{kind}_another", fixed, {"x": x}, constants={"shape": np.array([1, 12])}, shapes=shapes, error="flatten_it")
        # With -1 for the rest the elements of another batch still fit: right by the specification.
        rest = [node("Relu", "x", "r"), node("Reshape", "r shape", name="flatten_it"), node("MatMul", "y w", "z", name="dense")]
        add(f"baked_batch_and_rest_{kind}", rest, {"x": x[:1]}, {"z": x[:1].reshape(1, 12) @ np.eye(12, dtype=F)},
            constants={"shape": np.array([1, -1]), "w": np.eye(12, dtype=F)}, shapes=shapes)
        add(f"baked_batch_and_rest_{kind}_another", rest, {"x": x}, constants={"shape": np.array([1, -1]), "w": np.eye(12, dtype=F)}, shapes=shapes,
            error="dense|flatten_it")


def mismatches(add):
    # microsoft/onnxruntime#27963 and its like. Two names for extents that must be equal and are not: far more elements are needed than there are.
    big = 1 << 14
    few, many = np.ones((2, 3), F), np.ones((big, 3), F)
    table = {
        "add": (node("Add", "a b"), few, many),
        "add_inner": (node("Add", "a b"), few, np.ones((2, big), F)),
        "where": (node("Where", "c a b"), few, many),
        "concat": (node("Concat", "a b", axis=1), few, many),
        "matmul": (node("MatMul", "a b"), few, np.ones((big, 4), F)),
        "gemm": (node("Gemm", "a b"), few, np.ones((big, 4), F)),
        "batch_matmul": (node("MatMul", "a b"), np.ones((2, 3, 3), F), np.ones((big, 3, 3), F)),
        "prelu": (node("PRelu", "a b"), few, many),
        "layer_norm_scale": (node("LayerNormalization", "a b"), few, np.ones(big, F)),
        "batch_norm": (node("BatchNormalization", "a b b b b"), np.ones((2, big, 3), F), np.ones(3, F)),
        "conv_channels": (node("Conv", "a b"), np.ones((1, 2, 5), F), np.ones((1, 64, 3), F)),
        "conv_bias": (node("Conv", "a w b"), np.ones((1, 2, 5), F), np.ones(1, F)),
        "mean_of_two": (node("Mean", "a b"), few, many),
        "scatter_elements": (node("ScatterElements", "a i b"), np.ones((4, 3), F), np.ones((1, 3), F)),
        "gather_elements": (node("GatherElements", "a i", axis=1), np.ones((2, 3), F), None),
        "gather_nd_batch": (node("GatherND", "a i", batch_dims=1), np.ones((2, 3), F), None),
        "einsum": (node("Einsum", "a b", equation="ij,ij->i"), few, many),
        "expand": (node("Expand", "a s"), few, None),
        "rms_norm_scale": (node("RMSNormalization", "a b"), few, np.ones(big, F)),
    }
    extra = {"where": {"c": np.ones((2, 3), bool)}, "scatter_elements": {"i": np.zeros((big, 3), np.int64)},
             "gather_elements": {"i": np.zeros((big, 3), np.int64)}, "gather_nd_batch": {"i": np.zeros((big, 1), np.int64)},
             "expand": {"s": np.array([big, 3])}, "conv_bias": {"w": np.ones((64, 2, 3), F)}}
    for name, (op, a, b) in table.items():
        inputs = {"a": a, **({} if b is None else {"b": b}), **extra.get(name, {})}
        named = {n: [f"{n}{k}" for k in range(v.ndim)] for n, v in inputs.items()}
        opset = 23 if name == "rms_norm_scale" else 18
        declared = "." if name == "expand" else op.op_type + "|must|extent"
        add(f"mismatch_{name}", op, inputs, error=declared, opset=opset)
        add(f"mismatch_{name}_named", op, inputs, error=declared, shapes=named, opset=opset, variants=AT_RUN_TIME)
        fused = [node("Exp", "a", "e"), node(op.op_type, [{"a": "e"}.get(i, i) for i in op.input], "m", **{x.name: __import__("onnx").helper.get_attribute_value(x) for x in op.attribute}), node("Neg", "m")]
        add(f"mismatch_{name}_fused", fused, inputs, error=declared, shapes=named, opset=opset, variants=AT_RUN_TIME)
