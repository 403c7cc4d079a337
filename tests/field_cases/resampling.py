"""Resize and GridSample: ties, and modes renamed by an op set."""
import numpy as np
from field import node

F = np.float32


def cases(add):
    # microsoft/onnxruntime#28291, openvinotoolkit/openvino#36023: (i + 0.5) * 20 / 6 - 0.5 is exactly 4.5 and 14.5 at i = 1 and 4.
    columns = {"round_prefer_ceil": [1, 5, 8, 11, 15, 18], "round_prefer_floor": [1, 4, 8, 11, 14, 18],
               "floor": [1, 4, 7, 11, 14, 17], "ceil": [2, 5, 8, 12, 15, 18]}
    for dtype in (F, np.float64, np.float16, np.uint8, np.int8, np.int32, np.int64):
        x = np.arange(20, dtype=dtype).reshape(1, 1, 1, 20)
        for mode, expected in columns.items():
            if dtype != F and mode != "round_prefer_ceil":
                continue
            resize = node("Resize", "x _ _ sizes", mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode=mode)
            y = np.array(expected, dtype).reshape(1, 1, 1, 6)
            for opset in (13, 19):
                add(f"nearest_{mode}_{np.dtype(dtype).name}_{opset}", resize, {"x": x}, {"y": y}, opset=opset,
                    constants={"sizes": np.array([1, 1, 1, 6])})
            add(f"nearest_{mode}_{np.dtype(dtype).name}_sizes_at_run_time", resize, {"x": x, "sizes": np.array([1, 1, 1, 6])}, {"y": y})
            by_scales = node("Resize", "x _ scales", mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode=mode)
            add(f"nearest_{mode}_{np.dtype(dtype).name}_axis_2", resize, {"x": x.reshape(1, 1, 20, 1)}, {"y": y.reshape(1, 1, 6, 1)},
                constants={"sizes": np.array([1, 1, 6, 1])})
            # 20 / 2.5 columns: (i + 0.5) * 2.5 - 0.5 = 0.75, 3.25, 5.75, 8.25, ...
            near = {"floor": [0, 3, 5, 8, 10, 13, 15, 18], "ceil": [1, 4, 6, 9, 11, 14, 16, 19]}.get(mode, [1, 3, 6, 8, 11, 13, 16, 18])
            add(f"nearest_{mode}_{np.dtype(dtype).name}_scales", by_scales, {"x": x}, {"y": np.array(near, dtype).reshape(1, 1, 1, 8)},
                constants={"scales": np.array([1, 1, 1, 0.4], F)})

    # NVIDIA/TensorRT#4646: the modes are bilinear and bicubic up to op set 19, linear and cubic from 20 on.
    x = np.arange(4, dtype=F).reshape(1, 1, 2, 2)  # 0 1 / 2 3
    grid = np.array([0, 0, 0.25, 0.5], F).reshape(1, 1, 2, 2)  # in pixels, align_corners: (0.5, 0.5) and (0.625, 0.75)
    values = {"linear": [1.5, 0.625 + 2 * 0.75], "nearest": [0, 3]}
    for mode, expected in values.items():
        y = np.array(expected, F).reshape(1, 1, 1, 2)
        for opset in (16, 20, 22):
            name = mode if mode == "nearest" or opset >= 20 else "bilinear"
            add(f"grid_sample_{name}_{opset}", node("GridSample", "x grid", mode=name, align_corners=1), {"x": x, "grid": grid}, {"y": y},
                opset=opset)
    # The default is that of the op set too.
    for opset in (16, 20):
        add(f"grid_sample_default_{opset}", node("GridSample", "x grid", align_corners=1), {"x": x, "grid": grid},
            {"y": np.array(values["linear"], F).reshape(1, 1, 1, 2)}, opset=opset)
    # A cubic kernel with a = -0.75 reproduces a linear ramp away from the borders: 4x4 ramp, at its middle.
    ramp = np.arange(16, dtype=F).reshape(1, 1, 4, 4)
    middle = np.zeros((1, 1, 1, 2), F)
    for opset, name in ((16, "bicubic"), (20, "cubic")):
        add(f"grid_sample_{name}_{opset}", node("GridSample", "x grid", mode=name, align_corners=1), {"x": ramp, "grid": middle},
            {"y": np.full((1, 1, 1, 1), 7.5, F)}, opset=opset)
    # Points outside with padding "border": each tap is on the border. (What PyTorch 2.11 and ONNX Runtime return.)
    x = np.array([1, 2, 4, 3, 7, 5, 9, 8, 6], F).reshape(1, 1, 3, 3)
    outside = np.array([1.5, -0.5, -1.75, 1.25, 0.25, 1.1], F).reshape(1, 1, 3, 2)
    for align, expected in ((0, [4.19140625, 9.0615234375, 7.196346759796143]), (1, [4.40625, 9.686508178710938, 7.470119953155518])):
        add(f"grid_sample_cubic_border_{align}", node("GridSample", "x grid", mode="cubic", padding_mode="border", align_corners=align),
            {"x": x, "grid": outside}, {"y": np.array(expected, F).reshape(1, 1, 1, 3)}, opset=20)
    for opset, name in ((16, "linear"), (16, "cubic"), (20, "bilinear"), (20, "bicubic"), (20, "area"), (20, "")):
        add(f"grid_sample_no_{name or 'empty'}_{opset}", node("GridSample", "x grid", mode=name), {"x": x, "grid": grid}, opset=opset,
            error="'mode' must be")
    add("grid_sample_no_padding", node("GridSample", "x grid", padding_mode="mirror"), {"x": x, "grid": grid}, error="'padding_mode' must be")
    add("resize_no_mode", node("Resize", "x _ _ sizes", mode="area"), {"x": x}, constants={"sizes": np.array([1, 1, 4, 4])}, error="'mode' must be")
