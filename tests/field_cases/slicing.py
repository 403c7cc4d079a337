"""Slice, Reshape, Squeeze and Concat: bounds, zeros, unknown extents."""
import numpy as np
from field import node

F = np.float32
TOP, BOTTOM = np.iinfo(np.int64).max, np.iinfo(np.int64).min
T32, B32 = np.iinfo(np.int32).max, np.iinfo(np.int32).min


def cases(add):
    slices(add)
    reshapes(add)
    squeezes(add)
    concats(add)


def slices(add):
    x = np.arange(10)
    down = list(range(9, -1, -1))
    table = [  # start, end, step, what must come out
        (9, 0, -1, down[:9]),  # iree-org/iree#24584
        (-1, TOP, -1, []), (-1, BOTTOM, -1, down), (-1, T32, -1, []), (-1, B32, -1, down),  # microsoft/onnxruntime#11107
        (TOP, BOTTOM, -1, down), (0, TOP, 1, list(range(10))), (BOTTOM, TOP, 3, [0, 3, 6, 9]), (9, BOTTOM, -4, [9, 5, 1]),
        (20, -20, -3, [9, 6, 3, 0]), (-20, 20, 4, [0, 4, 8]), (3, 3, 1, []), (5, 2, 1, []), (2, 5, -1, []), (-3, -1, 1, [7, 8]),
        (8, -8, -2, [8, 6, 4]), (10, 20, 1, []), (0, -20, -1, [0]), (0, TOP, TOP, [0]), (-1, BOTTOM, BOTTOM, [9])]
    for start, end, step, y in table:
        for index in (np.int64, np.int32):
            if not all(np.iinfo(index).min <= v <= np.iinfo(index).max for v in (start, end, step)):
                continue
            words = {"starts": np.array([start], index), "ends": np.array([end], index), "axes": np.array([0], index), "steps": np.array([step], index)}
            name = f"slice_{start}_{end}_{step}_{np.dtype(index).name}"
            slice_node = node("Slice", "x starts ends axes steps")
            add(name, slice_node, {"x": x.astype(F)}, {"y": np.array(y, F)}, constants=words)
            add(name + "_at_run_time", slice_node, {"x": x.astype(F), **words}, {"y": np.array(y, F)})
            if index == np.int64:
                words["axes"] = np.array([-1])
                rows = np.stack([x, x + 10]).astype(np.int32)
                add(name + "_last_axis", slice_node, {"x": rows}, {"y": rows[:, y]}, constants=words)
    add("slice_attributes", node("Slice", "x", starts=[1, -3], ends=[1000, TOP], axes=[0, 1]), {"x": np.arange(12, dtype=F).reshape(3, 4)},
        {"y": np.array([[5, 6, 7], [9, 10, 11]], F)}, opset=9)
    add("slice_step_0", node("Slice", "x starts ends axes steps"), {"x": x.astype(F)}, error="step", constants={
        "starts": np.array([0]), "ends": np.array([5]), "axes": np.array([0]), "steps": np.array([0])})


def reshapes(add):
    # microsoft/onnxruntime#15203: 0 copies the input's extent at that position.
    x = np.arange(24).reshape(2, 2, 3, 2)
    for dtype in (F, np.int64, np.bool_):
        v = x.astype(dtype)
        for shape, target in (([-1, 0, 0], (4, 2, 3)), ([0, -1], (2, 12)), ([0, 0, -1], (2, 2, 6)), ([0, 0, 3, 0], (2, 2, 3, 2)),
                              ([0, 0, 0, 0, 1], (2, 2, 3, 2, 1)), ([-1], (24,))):
            name = f"reshape_{'_'.join(map(str, shape))}_{np.dtype(dtype).name}"
            add(name, node("Reshape", "x shape"), {"x": v}, {"y": v.reshape(target)}, constants={"shape": np.array(shape)})
            add(name + "_at_run_time", node("Reshape", "x shape"), {"x": v, "shape": np.array(shape)}, {"y": v.reshape(target)})
    add("reshape_attribute", node("Reshape", "x", shape=[-1, 0, 0]), {"x": x.astype(F)}, {"y": x.astype(F).reshape(4, 2, 3)}, opset=1)
    add("reshape_zero_allowed", node("Reshape", "x shape", allowzero=1), {"x": np.zeros((0, 3), F)}, {"y": np.zeros((3, 0), F)},
        constants={"shape": np.array([3, 0])})
    add("reshape_zero_copies_zero", node("Reshape", "x shape"), {"x": np.zeros((0, 3), F)}, {"y": np.zeros((0, 1, 3), F)},
        constants={"shape": np.array([0, 1, 3])})
    v = {"x": x.astype(F)}
    add("reshape_zero_beyond_the_rank", node("Reshape", "x shape"), v, constants={"shape": np.array([2, 2, 3, 2, 0])}, error="0")
    add("reshape_two_unknown", node("Reshape", "x shape"), v, constants={"shape": np.array([-1, -1])}, error="-1")
    add("reshape_does_not_fit", node("Reshape", "x shape"), v, constants={"shape": np.array([5, 5])}, error="elements|reshape")
    add("reshape_does_not_divide", node("Reshape", "x shape"), v, constants={"shape": np.array([5, -1])}, error="elements|reshape|divi|multiple")


def squeezes(add):
    # onnx/onnx#6313, apache/tvm#20185: which axes go is known with the real extents only, and may differ from call to call.
    row, column, both = np.arange(3, dtype=F).reshape(1, 3), np.arange(3, dtype=F).reshape(3, 1), np.full((1, 1), 7, F)
    flat = np.arange(3, dtype=F)
    # The rank of y is not declared the same by every set: only the first is.
    for opset in (11, 13, 21):
        add(f"squeeze_unknown_{opset}", [node("Squeeze", "x", "s"), node("Shape", "s", "y")], {"x": row}, {"y": np.array([3])},
            shapes={"x": ["N", "M"]}, opset=opset, variants=("static",),
            more=[({"x": column}, {"y": np.array([3])}), ({"x": both}, {"y": np.zeros(0, np.int64)}),
                  ({"x": np.zeros((2, 3), F)}, {"y": np.array([2, 3])}), ({"x": row}, {"y": np.array([3])})])
        add(f"squeeze_known_{opset}", node("Squeeze", "x"), {"x": row}, {"y": flat}, opset=opset)
    add("squeeze_all", node("Squeeze", "x"), {"x": both}, {"y": np.array(7, F)})
    for axes, v in (([0], row), ([-1], column), ([0], row.astype(np.int64)), ([1], column.astype(np.float16))):
        y = v.reshape(3)
        name = f"squeeze_axes_{axes[0]}_{v.dtype.name}"
        add(name, node("Squeeze", "x axes"), {"x": v}, {"y": y}, constants={"axes": np.array(axes)})
        add(name + "_at_run_time", node("Squeeze", "x axes"), {"x": v, "axes": np.array(axes)}, {"y": y})
        add(name + "_attribute", node("Squeeze", "x", axes=axes), {"x": v}, {"y": y}, opset=11)
        other = node("Squeeze", "x axes")
        add(name + "_not_1", other, {"x": np.concatenate([v, v], axis=axes[0])}, constants={"axes": np.array(axes)}, error="1")
        add(name + "_not_1_unknown", other, {"x": np.concatenate([v, v], axis=axes[0])}, constants={"axes": np.array(axes)}, error="1",
            shapes={"x": ["N", "M"]})
    # An extent that depends on values: as a converted while loop's, of which the first row is taken.
    rows = np.arange(6, dtype=F).reshape(2, 3)
    first = [node("NonZero", "mask", "where"), node("Gather", "x where", "g", axis=0), node("Squeeze", "g axes")]
    for axes in ([0, 1], [1, 0], [0, -2]):
        name = f"squeeze_found_{axes[0]}_{axes[1]}".replace("-", "m")
        words = {"axes": np.array(axes)}
        add(name, first, {"x": rows, "mask": np.array([False, True])}, {"y": rows[1]}, constants=words)
        add(name + "_two", first, {"x": rows, "mask": np.array([True, True])}, constants=words, error="out of range|1|squeeze")
        add(name + "_none", first, {"x": rows, "mask": np.array([False, False])}, constants=words, error="out of range|1|squeeze")


def concats(add):
    # microsoft/onnxruntime#681
    for dtype in (F, np.int64, np.uint8, np.bool_, np.float16):
        two, none = np.array([1, 0], dtype), np.zeros(0, dtype)
        name = np.dtype(dtype).name
        add(f"concat_nothing_first_{name}", node("Concat", "a b", axis=0), {"a": none, "b": two}, {"y": two})
        add(f"concat_nothing_last_{name}", node("Concat", "a b", axis=-1), {"a": two, "b": none}, {"y": two})
        add(f"concat_nothing_{name}", node("Concat", "a b c", axis=0), {"a": none, "b": none, "c": none}, {"y": none})
        add(f"concat_nothing_constant_{name}", node("Concat", "a b a", axis=0), {"b": two}, {"y": two}, constants={"a": none})
    rows = np.arange(6, dtype=F).reshape(2, 3)
    add("concat_axis_1", node("Concat", "a b", axis=1), {"a": np.zeros((2, 0), F), "b": rows}, {"y": rows})
    add("concat_axis_0", node("Concat", "a b a", axis=0), {"a": np.zeros((0, 3), F), "b": rows}, {"y": rows})
    # An extent that is sometimes 0: the cache of a decoder's first step.
    grown = np.concatenate([rows, rows])
    add("concat_grows", node("Concat", "past x", axis=0), {"past": np.zeros((0, 3), F), "x": rows}, {"y": rows},
        shapes={"past": ["P", 3], "x": ["N", 3]}, more=[({"past": rows, "x": rows}, {"y": grown}),
                                                       ({"past": np.zeros((0, 3), F), "x": rows[:1]}, {"y": rows[:1]})],
        variants=("static",))
    add("concat_rank_differs", node("Concat", "a b", axis=0), {"a": np.zeros(0, F), "b": rows}, error="rank")
