"""Gather, Scatter, OneHot, NonMaxSuppression: negative, repeated and out-of-range indices."""
import numpy as np
from field import AT_RUN_TIME, node

F = np.float32
TOP = np.iinfo(np.int64).max


def cases(add):
    gathers(add)
    out_of_range(add)
    scatters(add)
    suppression(add)


def gathers(add):
    # apache/tvm#20217
    for dtype in (F, np.float16, np.int32, np.int64, np.uint8, np.bool_):
        x = np.arange(12).reshape(3, 4).astype(dtype)
        name = np.dtype(dtype).name
        add(f"gather_nd_{name}", node("GatherND", "x i"), {"x": x, "i": np.array([[-1, -1], [0, -2]])}, {"y": x[[2, 0], [3, 2]]})
        add(f"gather_nd_rows_{name}", node("GatherND", "x i"), {"x": x}, {"y": x[[2, 0]]}, constants={"i": np.array([[-1], [-3]])})
        add(f"gather_nd_batch_{name}", node("GatherND", "x i", batch_dims=1), {"x": x, "i": np.array([[-1], [0], [-4]])}, {"y": x[[0, 1, 2], [3, 0, 0]]})
        for index in (np.int32, np.int64):
            add(f"gather_{name}_{np.dtype(index).name}", node("Gather", "x i", axis=-1), {"x": x, "i": np.array([-1, 0, -4], index)}, {"y": x[:, [3, 0, 0]]})
            add(f"gather_elements_{name}_{np.dtype(index).name}", node("GatherElements", "x i", axis=1),
                {"x": x, "i": np.array([[-1, 0], [-4, 1], [2, -2]], index)}, {"y": x[[[0, 0], [1, 1], [2, 2]], [[3, 0], [0, 1], [2, 2]]]})
    values = np.array([2, 5], F)
    for index in (np.int64, np.int32, np.uint8, F):
        i = np.array([-1, 0, 4, -5], F).astype(index) if index != np.uint8 else np.array([4, 0, 4, 0], index)
        y = np.full((4, 5), 2, F)
        y[[0, 1, 2, 3], [4, 0, 4, 0]] = 5
        name = np.dtype(index).name
        add(f"one_hot_{name}", node("OneHot", "i depth values"), {"i": i}, {"y": y}, constants={"depth": np.array(5), "values": values})
        add(f"one_hot_{name}_at_run_time", node("OneHot", "i depth values"), {"i": i, "depth": np.array([5]), "values": values}, {"y": y})
        add(f"one_hot_{name}_axis_0", node("OneHot", "i depth values", axis=0), {"i": i}, {"y": y.T}, constants={"depth": np.array([5]), "values": values})
    # Outside [-depth, depth - 1] every slot has the off value.
    y = np.full((2, 3), 2, F)
    add("one_hot_outside", node("OneHot", "i depth values"), {"i": np.array([3, -4])}, {"y": y}, constants={"depth": np.array(3), "values": values})
    add("one_hot_outside_at_run_time", node("OneHot", "i depth values"), {"i": np.array([3, -4]), "depth": np.array(3)}, {"y": y}, constants={"values": values})


def out_of_range(add):
    # microsoft/onnxruntime#10234, apache/tvm#20297, microsoft/onnxruntime#27963: an error, wherever the index comes from.
    x = np.arange(12, dtype=F).reshape(3, 4)
    table = {
        "gather": (node("Gather", "x i"), [[3], [-4], [TOP], [0, -TOP - 1]]),
        "gather_axis_1": (node("Gather", "x i", axis=1), [[4], [-5], [1 << 33]]),
        "gather_elements": (node("GatherElements", "x i"), [[[3, 0, 0, 0]], [[0, -4, 0, 0]], [[0, 0, TOP, 0]]]),
        "gather_elements_axis_1": (node("GatherElements", "x i", axis=1), [[[4], [0], [0]], [[0], [0], [-5]]]),
        "gather_nd": (node("GatherND", "x i"), [[[3, 0]], [[0, 4]], [[-4, 0]], [[0, -5]], [[1 << 40, 1 << 40]]]),
        "gather_nd_rows": (node("GatherND", "x i"), [[[3]], [[-4]]]),
    }
    for name, (gather, indices) in table.items():
        for k, i in enumerate(indices):
            i = np.array(i)
            wrong = r"out of range|outside|out of bounds|not in \[|beyond"
            add(f"{name}_out_of_range_{k}", gather, {"x": x, "i": i}, error=wrong)
            add(f"{name}_out_of_range_{k}_constant_index", gather, {"x": x}, constants={"i": i}, error=wrong)
            # Fused: producers and consumers around it.
            around = [node("Exp", "x", "e"), node(gather.op_type, "e i", "g", **{a.name: a.i for a in gather.attribute}), node("Sqrt", "g")]
            add(f"{name}_out_of_range_{k}_fused", around, {"x": x, "i": i}, error=wrong, variants=AT_RUN_TIME)
            if (i == i.astype(np.int32)).all():
                add(f"{name}_out_of_range_{k}_int32", gather, {"x": x, "i": i.astype(np.int32)}, error=wrong)
    wrong = r"out of range|outside|out of bounds|not in \[|beyond"
    # What the index names may be known without it: it is wrong all the same.
    one, ones = np.arange(4, dtype=F).reshape(4, 1), np.ones((4, 2), F)
    for k, i in enumerate((1, -2, 1 << 33)):
        i = np.array([i])
        add(f"gather_of_one_out_of_range_{k}", node("Gather", "x i", axis=1), {"x": one, "i": i}, error=wrong)
        add(f"gather_of_one_out_of_range_{k}_fused", [node("Exp", "x", "e"), node("Gather", "e i", "g", axis=1), node("Sqrt", "g")],
            {"x": one, "i": i}, error=wrong, variants=AT_RUN_TIME)
        add(f"gather_elements_of_one_out_of_range_{k}", node("GatherElements", "x i", axis=1), {"x": one, "i": np.repeat(i[None], 4, 0)}, error=wrong)
        add(f"gather_nd_of_one_out_of_range_{k}", node("GatherND", "x i"), {"x": one, "i": np.array([[0, i[0]]])}, error=wrong)
        add(f"gather_of_equal_out_of_range_{k}", node("Gather", "x i", axis=1), {"i": i * 4}, constants={"x": ones}, error=wrong, variants=AT_RUN_TIME)
        add(f"gather_of_expanded_out_of_range_{k}", [node("Expand", "x to", "e"), node("Gather", "e i", axis=1)], {"x": one, "i": i * 4},
            constants={"to": np.array([4, 3])}, error=wrong, variants=AT_RUN_TIME)
    # Only rows that are read are checked: those of y are not in x.
    x, i, y = np.arange(8, dtype=F).reshape(2, 4), np.full((2, 4), 3), np.zeros((3, 4), F)
    wanted = np.concatenate([np.take_along_axis(x, i, 1), y])
    add("gather_elements_before_concat", [node("GatherElements", "x i", "g", axis=1), node("Concat", "g y", "z", axis=0)],
        {"x": x, "i": i, "y": y}, {"z": wanted}, variants=AT_RUN_TIME)
    rows = np.zeros((1, 4), F)
    scatters = {
        "scatter_elements": (node("ScatterElements", "x i u"), [[[3, 0, 0, 0]], [[-4, 0, 0, 0]], [[TOP, 0, 0, 0]]], rows),
        "scatter_elements_add": (node("ScatterElements", "x i u", reduction="add"), [[[3, 0, 0, 0]]], rows),
        "scatter_nd": (node("ScatterND", "x i u"), [[[3]], [[-4]]], rows),
        "scatter_nd_mul": (node("ScatterND", "x i u", reduction="mul"), [[[0, 4]], [[1 << 40, 1 << 40]]], np.zeros(1, F)),
    }
    for name, (scatter, indices, updates) in scatters.items():
        for k, i in enumerate(indices):
            add(f"{name}_out_of_range_{k}", scatter, {"x": x, "i": np.array(i), "u": updates}, error=wrong)
            add(f"{name}_out_of_range_{k}_constant_index", scatter, {"x": x, "u": updates}, constants={"i": np.array(i)}, error=wrong)
    # Nothing is gathered from nothing; anything from nothing is an error.
    add("gather_nothing_from_nothing", node("Gather", "x i"), {"x": np.zeros((0, 4), F), "i": np.zeros(0, np.int64)}, {"y": np.zeros((0, 4), F)})
    add("gather_from_nothing", node("Gather", "x i"), {"x": np.zeros((0, 4), F), "i": np.zeros(1, np.int64)}, error=wrong)


def scatters(add):
    # microsoft/onnxruntime#29879, NVIDIA/TensorRT#3650
    reductions = {"none": lambda x, u: u, "add": lambda x, u: x + u, "mul": lambda x, u: x * u, "max": max, "min": min}
    for dtype in (np.int32, np.int64, np.uint8, np.int8, F, np.float64, np.float16):
        name = np.dtype(dtype).name
        for reduction, f in reductions.items():
            x, u = np.array([2], dtype), np.array([3], dtype)
            scatter = node("ScatterElements", "x i u", reduction=reduction)
            add(f"scatter_elements_{reduction}_{name}", scatter, {"x": x, "i": np.array([0]), "u": u}, {"y": np.array([f(2, 3)], dtype)})
            add(f"scatter_nd_{reduction}_{name}", node("ScatterND", "x i u", reduction=reduction), {"x": x, "i": np.array([[-1]]), "u": u},
                {"y": np.array([f(2, 3)], dtype)})
            if reduction == "none":
                continue
            # Five indices into two rows: repeated ones accumulate.
            y = [2, 1]
            for i, v in zip([0, 1, 0, 0, 1], [3, 2, 1, 2, 4]):
                y[i] = f(y[i], v)
            add(f"scatter_elements_{reduction}_{name}_repeated", scatter,
                {"x": np.array([2, 1], dtype), "i": np.array([0, -1, -2, 0, 1]), "u": np.array([3, 2, 1, 2, 4], dtype)}, {"y": np.array(y, dtype)})
    # More indices than rows along another axis, too.
    add("scatter_elements_fewer_columns", node("ScatterElements", "x i u", axis=0), {"x": np.zeros((2, 3), F),
        "i": np.array([[1, 0], [1, 1], [0, 1]]), "u": np.array([[1, 2], [3, 4], [5, 6]], F)}, {"y": np.array([[5, 2, 0], [3, 6, 0]], F)})
    add("scatter_bool", node("ScatterElements", "x i u"), {"x": np.array([True, False]), "i": np.array([1]), "u": np.array([True])},
        {"y": np.array([True, True])})
    add("scatter_old", node("Scatter", "x i u"), {"x": np.zeros(3, F), "i": np.array([2]), "u": np.ones(1, F)}, {"y": np.array([0, 0, 1], F)}, opset=10)


def suppression(add):
    # ROCm/AMDMIGraphX#4679: as many rows as boxes are kept.
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11], [0, 0, 1, 1]]], F)
    scores = np.array([[[0.9, 0.75, 0.95, 0.2]]], F)
    limits = {"most": np.array([3]), "overlap": np.array([0.5], F), "least": np.array([0], F)}
    nms = node("NonMaxSuppression", "boxes scores most overlap least")
    add("nms", nms, {"boxes": boxes, "scores": scores}, {"y": np.array([[0, 0, 2], [0, 0, 0]])}, constants=limits)
    add("nms_at_run_time", nms, {"boxes": boxes, "scores": scores, **limits}, {"y": np.array([[0, 0, 2], [0, 0, 0]])})
    add("nms_first", nms, {"boxes": boxes, "scores": scores}, {"y": np.array([[0, 0, 2]])}, constants={**limits, "most": np.array([1])})
    add("nms_threshold", nms, {"boxes": boxes, "scores": scores}, {"y": np.array([[0, 0, 2]])}, constants={**limits, "least": np.array([0.92], F)})
    add("nms_none", nms, {"boxes": boxes, "scores": scores}, {"y": np.zeros((0, 3), np.int64)}, constants={**limits, "least": np.array([2], F)})
    # The default keeps nothing: max_output_boxes_per_class is 0.
    add("nms_default", node("NonMaxSuppression", "boxes scores"), {"boxes": boxes, "scores": scores}, {"y": np.zeros((0, 3), np.int64)})
    # What follows sees the same number of rows.
    after = [node("NonMaxSuppression", "boxes scores most overlap least", "kept"), node("Shape", "kept", "y")]
    add("nms_rows", after, {"boxes": boxes, "scores": scores}, {"y": np.array([2, 3])}, constants=limits)
    add("nms_pick", [after[0], node("Gather", "kept column", "which", axis=1), node("Gather", "rows which")],
        {"boxes": boxes, "scores": scores, "rows": np.arange(4, dtype=F) + 10}, {"y": np.array([12, 10], F)},
        constants={**limits, "column": np.array(2)})
