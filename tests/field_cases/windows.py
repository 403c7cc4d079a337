"""Padding, convolution and pooling: automatic padding, reflection, ceil_mode."""
import numpy as np
from field import node

F = np.float32


def cases(add):
    pads(add)
    convolutions(add)
    pools(add)


def pads(add):
    # microsoft/onnxruntime#11828: reflection reaches N - 1 elements, and no further.
    x = np.arange(3)
    for dtype in (F, np.float64, np.float16, np.int32, np.int64, np.uint8, np.bool_):
        name = np.dtype(dtype).name
        v = (x % 2 if dtype == np.bool_ else x).astype(dtype)
        widest = v[[2, 1, 0, 1, 2, 1, 0]]
        add(f"reflect_widest_{name}", node("Pad", "x pads", mode="reflect"), {"x": v}, {"y": widest}, constants={"pads": np.array([2, 2])})
        add(f"reflect_widest_{name}_at_run_time", node("Pad", "x pads", mode="reflect"), {"x": v, "pads": np.array([2, 2])}, {"y": widest})
        add(f"reflect_axis_0_{name}", node("Pad", "x pads", mode="reflect"), {"x": v.reshape(3, 1)}, {"y": widest.reshape(7, 1)},
            constants={"pads": np.array([2, 0, 2, 0])})
        for low, high in ((3, 0), (0, 3), (7, 7), (2, 3)):
            for run_time in (False, True):
                p = {"pads": np.array([low, high])}
                add(f"reflect_too_wide_{name}_{low}_{high}{'_at_run_time' * run_time}", node("Pad", "x pads", mode="reflect"),
                    {"x": v, **(p if run_time else {})}, constants={} if run_time else p, error="reflect|out of range")
    add("reflect_attributes", node("Pad", "x", mode="reflect", pads=[2, 2]), {"x": x.astype(F)}, {"y": x.astype(F)[[2, 1, 0, 1, 2, 1, 0]]}, opset=10)
    add("reflect_attributes_too_wide", node("Pad", "x", mode="reflect", pads=[3, 0]), {"x": x.astype(F)}, opset=10, error="reflect|out of range")
    add("reflect_one_element", node("Pad", "x pads", mode="reflect"), {"x": np.ones(1, F)}, constants={"pads": np.array([1, 0])}, error="reflect")
    add("reflect_nothing", node("Pad", "x pads", mode="reflect"), {"x": np.ones((1, 0), F)}, constants={"pads": np.array([0, 1, 0, 1])},
        error="reflect|no elements|without elements|empty")
    # A negative width crops; the other side still reflects what is there.
    add("reflect_and_crop", node("Pad", "x pads", mode="reflect"), {"x": np.arange(5, dtype=F)}, {"y": np.array([2, 3, 4, 3], F)},
        constants={"pads": np.array([-2, 1])})
    add("edge_wider_than_the_axis", node("Pad", "x pads", mode="edge"), {"x": x.astype(F)}, {"y": np.array([0] * 6 + [1] + [2] * 5, F)},
        constants={"pads": np.array([5, 4])})
    # ONNX Runtime crops first, and repeats what is left.
    for low, high in ((-1, 2), (2, -1), (-1, 3), (-2, 9), (7, -3), (-1, -2), (-4, 2)):
        row = np.arange(5, dtype=F)
        for run_time in (False, True):
            p = {"pads": np.array([low, high])}
            add(f"wrap_and_crop_{low}_{high}{'_at_run_time' * run_time}", node("Pad", "x pads", mode="wrap"), {"x": row, **(p if run_time else {})},
                {"y": np.pad(row[max(-low, 0):5 + min(high, 0)], (max(low, 0), max(high, 0)), mode="wrap")}, constants={} if run_time else p)
    add("wrap_nothing_left", node("Pad", "x pads", mode="wrap"), {"x": np.arange(5, dtype=F)}, constants={"pads": np.array([-5, 2])}, error="no element to pad")
    add("wrap_wider_than_the_axis", node("Pad", "x pads", mode="wrap"), {"x": x.astype(F)}, {"y": (np.arange(-4, 8) % 3).astype(F)},
        constants={"pads": np.array([4, 5])})


def convolutions(add):
    # microsoft/onnxscript#3037, microsoft/onnxruntime#20582: SAME counts the dilated kernel, (3 - 1) * 2 + 1 = 5.
    x = np.random.RandomState(0).randint(-3, 4, (1, 1, 22, 27)).astype(F)
    wide = np.pad(x[0, 0], 2)
    cross = np.zeros((1, 1, 3, 3), F)
    cross[0, 0] = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    y = sum(cross[0, 0, i, j] * wide[2 * i:2 * i + 22, 2 * j:2 * j + 27] for i in range(3) for j in range(3)).reshape(1, 1, 22, 27)
    for side in ("SAME_UPPER", "SAME_LOWER"):
        for dtype in (F, np.float64, np.float16):
            add(f"conv_{side}_dilated_{np.dtype(dtype).name}", node("Conv", "x w", auto_pad=side, dilations=[2, 2], kernel_shape=[3, 3]),
                {"x": x.astype(dtype), "w": cross.astype(dtype)}, {"y": y.astype(dtype)})
    # An even kernel leaves an odd padding: UPPER puts the extra element at the end, LOWER at the beginning.
    row = np.arange(1, 5, dtype=F).reshape(1, 1, 4)
    for side, expected in (("SAME_UPPER", [3, 5, 7, 4]), ("SAME_LOWER", [1, 3, 5, 7])):
        add(f"conv_{side}_even", node("Conv", "x w", auto_pad=side), {"x": row, "w": np.ones((1, 1, 2), F)},
            {"y": np.array(expected, F).reshape(1, 1, 4)})
        # Stride 2 over 5: (ceil(5 / 2) - 1) * 2 + 3 - 5 = 2, one on each side.
        add(f"conv_{side}_strided", node("Conv", "x w", auto_pad=side, strides=[2]),
            {"x": np.arange(1, 6, dtype=F).reshape(1, 1, 5), "w": np.ones((1, 1, 3), F)}, {"y": np.array([3, 9, 9], F).reshape(1, 1, 3)})
        # A stride beyond the kernel: no negative padding.
        add(f"conv_{side}_stride_beyond_the_kernel", node("Conv", "x w", auto_pad=side, strides=[3]),
            {"x": np.arange(1, 8, dtype=F).reshape(1, 1, 7), "w": np.ones((1, 1, 1), F)}, {"y": np.array([1, 4, 7], F).reshape(1, 1, 3)})
    add("conv_VALID_dilated", node("Conv", "x w", auto_pad="VALID", dilations=[2]),
        {"x": np.arange(1, 7, dtype=F).reshape(1, 1, 6), "w": np.ones((1, 1, 3), F)}, {"y": np.array([9, 12], F).reshape(1, 1, 2)})

    # microsoft/onnxruntime#11927: the output is 2 * 3 = 6, so total_padding = 2 * (3 - 1) + 1 + 3 - 6 = 2.
    x = np.arange(18, dtype=F).reshape(1, 2, 3, 3)
    w = np.arange(1, 19, dtype=F).reshape(2, 1, 3, 3)
    full = np.zeros((8, 8), F)  # 2 * (3 - 1) + 3 + 1
    for c in range(2):
        for i in range(3):
            for j in range(3):
                full[2 * i:2 * i + 3, 2 * j:2 * j + 3] += x[0, c, i, j] * w[c, 0]
    for side in ("SAME_UPPER", "SAME_LOWER"):
        add(f"conv_transpose_{side}", node("ConvTranspose", "x w", auto_pad=side, strides=[2, 2], output_padding=[1, 1]), {"x": x, "w": w},
            {"y": full[1:7, 1:7].reshape(1, 1, 6, 6)})
        # Without output_padding the total is 1: UPPER takes it off the end, LOWER off the beginning.
        at = 0 if side == "SAME_UPPER" else 1
        add(f"conv_transpose_{side}_odd", node("ConvTranspose", "x w", auto_pad=side, strides=[2, 2]), {"x": x, "w": w},
            {"y": full[at:at + 6, at:at + 6].reshape(1, 1, 6, 6)}, opset=11)
    add("conv_transpose_output_shape", node("ConvTranspose", "x w", strides=[2, 2], output_shape=[8, 8], output_padding=[1, 1]),
        {"x": x, "w": w}, {"y": full.reshape(1, 1, 8, 8)})
    add("conv_transpose_pads", node("ConvTranspose", "x w", strides=[2, 2], output_padding=[1, 1], pads=[1, 0, 2, 1]), {"x": x, "w": w},
        {"y": full[1:6, 0:7].reshape(1, 1, 5, 7)})


def pools(add):
    # apache/tvm#18594, onnx/onnx#4958: ceil((17 + 2 - 2) / 2) + 1 = 10, but the tenth window would start at 18 - 1 = 17, in the padding.
    x = np.random.RandomState(1).randint(0, 9, (1, 1, 17, 17)).astype(F)
    padded, inside = np.pad(x[0, 0], 1), np.pad(np.ones((17, 17), F), 1)
    windows = [(slice(2 * i, 2 * i + 2), slice(2 * j, 2 * j + 2)) for i in range(9) for j in range(9)]
    sums = np.array([padded[w].sum() for w in windows], F).reshape(1, 1, 9, 9)
    counts = np.array([inside[w].sum() for w in windows], F).reshape(1, 1, 9, 9)
    attributes = dict(kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
    highest = np.array([np.pad(x[0, 0], 1, constant_values=-np.inf)[w].max() for w in windows], F).reshape(1, 1, 9, 9)
    for dtype in (F, np.float64, np.float16):
        name = np.dtype(dtype).name
        v = x.astype(dtype)
        add(f"average_pool_{name}", node("AveragePool", "x", **attributes), {"x": v}, {"y": (sums / counts).astype(dtype)}, opset=19)
        add(f"average_pool_with_pad_{name}", node("AveragePool", "x", count_include_pad=1, **attributes), {"x": v},
            {"y": (sums / 4).astype(dtype)}, opset=19)
        add(f"max_pool_{name}", node("MaxPool", "x", **attributes), {"x": v}, {"y": highest.astype(dtype)})
    for dtype in (np.uint8, np.int8):
        add(f"max_pool_{np.dtype(dtype).name}", node("MaxPool", "x", **attributes), {"x": x.astype(dtype)}, {"y": highest.astype(dtype)})
    add("lp_pool", node("LpPool", "x", p=1, **attributes), {"x": x}, {"y": sums}, opset=18)
    add("max_pool_negative", node("MaxPool", "x", **attributes), {"x": -1 - x}, {"y": np.array(
        [np.pad(-1 - x[0, 0], 1, constant_values=-np.inf)[w].max() for w in windows], F).reshape(1, 1, 9, 9)})
    # Rounding up that does give a further window: 5 elements, kernel 3, stride 3: the second has two elements.
    row = np.array([1, 2, 3, 4, 8], F).reshape(1, 1, 5)
    add("average_pool_partial", node("AveragePool", "x", kernel_shape=[3], strides=[3], ceil_mode=1), {"x": row},
        {"y": np.array([2, 6], F).reshape(1, 1, 2)}, opset=19)
    # What ceil_mode adds beyond the padding counts with count_include_pad no more than without it.
    add("average_pool_partial_with_pad", node("AveragePool", "x", kernel_shape=[3], strides=[3], ceil_mode=1, count_include_pad=1), {"x": row},
        {"y": np.array([2, 6], F).reshape(1, 1, 2)}, opset=19)
    add("average_pool_dilated", node("AveragePool", "x", kernel_shape=[2], dilations=[2], strides=[2], ceil_mode=1), {"x": row},
        {"y": np.array([2, 5.5], F).reshape(1, 1, 2)}, opset=19)
    # A kernel larger than the padded input: ceil((n + pads - span) / stride) + 1 is 1 where span - n - pads < stride.
    for n, kernel, stride, low, high, dilation in ((2, 3, 3, 0, 0, 1), (2, 3, 2, 0, 0, 1), (3, 2, 2, 0, 0, 3), (2, 4, 3, 0, 0, 1), (5, 3, 4, 1, 0, 2),
                                                   (1, 4, 8, 1, 1, 1), (6, 3, 4, 0, 2, 1), (7, 2, 2, 1, 1, 1)):
        count = -(-(n + low + high - (kernel - 1) * dilation - 1) // stride) + 1
        count -= (count - 1) * stride >= n + low
        line = np.arange(1, n + 1, dtype=F) * np.where(np.arange(n) % 2, -1, 1).astype(F)
        places = [[i * stride + j * dilation - low for j in range(kernel)] for i in range(count)]
        inside = [line[[p for p in w if 0 <= p < n]] for w in places]
        attributes = dict(kernel_shape=[kernel], strides=[stride], pads=[low, high], dilations=[dilation], ceil_mode=1)
        name = f"pool_{n}_of_{kernel}_by_{stride}_pads_{low}_{high}_dilation_{dilation}"
        for suffix, op, extra, values in (("max", "MaxPool", {}, [w.max() for w in inside]), ("average", "AveragePool", {}, [w.mean() for w in inside]),
                                          ("average_with_pad", "AveragePool", {"count_include_pad": 1},
                                           [w.sum() / sum(-low <= p < n + high for p in at) for w, at in zip(inside, places)]),
                                          ("lp", "LpPool", {"p": 1}, [np.abs(w).sum() for w in inside])):
            add(f"{name}_{suffix}", node(op, "x", **attributes, **extra), {"x": line.reshape(1, 1, n)}, {"y": np.array(values, F).reshape(1, 1, count)},
                opset=19)
    for side, expected in (("SAME_UPPER", [1.5, 2.5, 3.5, 6, 8]), ("SAME_LOWER", [1, 1.5, 2.5, 3.5, 6])):
        add(f"average_pool_{side}", node("AveragePool", "x", kernel_shape=[2], auto_pad=side), {"x": row},
            {"y": np.array(expected, F).reshape(1, 1, 5)}, opset=19)
