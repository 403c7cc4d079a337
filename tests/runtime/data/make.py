"""Writes the files of this folder with numpy: python3 make.py (needs numpy and ml_dtypes)."""
import os

import ml_dtypes
import numpy as np

folder = os.path.dirname(os.path.abspath(__file__))
np.savez_compressed(
    os.path.join(folder, "numpy.npz"),
    f32=np.arange(6, dtype=np.float32).reshape(2, 3),
    big=np.array([1.5, -2], dtype=">f8"),
    fortran=np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)),
    scalar=np.array(7, dtype=np.int64),
    empty=np.zeros((0, 3), np.uint8),
    flags=np.array([True, False]),
    half=np.array([0.1, 65504], np.float16),
    brain=np.array([1.5, -3], ml_dtypes.bfloat16),
    complex=np.array([1 + 2j], np.complex64),
    text=np.array(["a", "bc\u00e9\U0001f600"]),
    bytes=np.array([b"ab", b"c"]),
    big_text=np.array(["xy"], dtype=">U3"),
)
np.save(os.path.join(folder, "object.npy"), np.array([None, {}], dtype=object), allow_pickle=True)
np.save(os.path.join(folder, "struct.npy"), np.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))
