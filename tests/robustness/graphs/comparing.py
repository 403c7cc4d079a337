"""What tcc and ONNX Runtime say about a graph, and whether they agree."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from graphs.kinds import rewrite, rounded, stored_as

TOLERANCE = 2e-5
# Of half-precision storage: a unit in the last place, and how many of them a graph may lose.
UNIT = {TensorProto.FLOAT16: 2.0 ** -10, TensorProto.BFLOAT16: 2.0 ** -7}
LOST_UNITS = 8


def reference(model, feed):
    """By ONNX Runtime, or where it lacks a dtype by the ONNX project's own evaluator."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        with np.errstate(all='ignore'):
            return [np.asarray(value) for value in ReferenceEvaluator(model).run(None, feed)]
    return session.run(None, {i.name: feed[i.name] for i in session.get_inputs()})


def difference(a, b, tolerance=TOLERANCE):
    """Relative to the scale of b; infinite where kinds of values differ."""
    if a.shape != b.shape:
        return float('inf'), f'shape {a.shape}, expected {b.shape}'
    if a.size == 0:
        return 0.0, ''
    if b.dtype.kind != 'f':
        wrong = np.argwhere(a != b)
        if not len(wrong):
            return 0.0, ''
        at = tuple(wrong[0])
        return float('inf'), f'{len(wrong)} of {a.size} differ, first at {wrong[0].tolist()}: {a[at]} != {b[at]}'
    a, b = a.astype(np.float64), b.astype(np.float64)
    fa, fb = np.isfinite(a), np.isfinite(b)
    if (fa != fb).any() or not np.array_equal(np.where(fb, 0, a), np.where(fb, 0, b), equal_nan=True):
        at = tuple(np.argwhere((fa != fb) | ~(fb | (a == b) | (np.isnan(a) & np.isnan(b))))[0])
        return float('inf'), f'at {[int(i) for i in at]}: {a[at]} != {b[at]}'
    scale = max(float(np.abs(np.where(fb, b, 0)).max()), 0.03)
    d = np.abs(np.where(fb, a - b, 0))
    at = np.unravel_index(d.argmax(), d.shape)
    return float(d.max()) / scale, (f'at {[int(i) for i in at]}: {a[at]} != {b[at]} (scale {scale:.3g}, '
                                    f'{int((d > tolerance * scale).sum())} of {a.size})')


class Runner:
    """`tcc run` on models and inputs, in a folder."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def run(self, model, feed, dynamic):
        """(outputs, what it printed), or (None, what went wrong)."""
        base = os.path.join(self.folder, 'm')
        onnx.save(model, base + '.onnx')
        names = [i.name for i in model.graph.input]
        np.savez(base + '.npz', **{n: feed[n] for n in names})
        command = [*self.command, base + '.onnx', '--input', base + '.npz', '--output', base + '.out.npz', '--compile-timeout', '120']
        if dynamic:
            for i in model.graph.input:
                dims = [d.dim_param + ':0..64' if d.dim_param else str(d.dim_value) for d in i.type.tensor_type.shape.dim]
                if any(':' in d for d in dims):
                    command += ['--dynamic', f'{i.name}=[{",".join(dims)}]']
        if os.path.exists(base + '.out.npz'):
            os.unlink(base + '.out.npz')
        done = subprocess.run(command, capture_output=True, text=True, errors='replace')
        if done.returncode != 0:
            return None, f'exit code {done.returncode}: {done.stderr.strip()}'
        with np.load(base + '.out.npz') as data:
            arrays = [data[o.name] for o in model.graph.output]
        return arrays, done.stderr.strip()


def nudge(model, feed, seed, unit=3e-7):
    """Every number of the graph, also between its nodes, a few units in the last place away."""
    copy = shape_inference.infer_shapes(model, strict_mode=True)
    floats = {v.name for v in list(copy.graph.value_info) + list(copy.graph.input) + list(copy.graph.output)
              if v.type.tensor_type.elem_type == TensorProto.FLOAT} | {
                  t.name for t in copy.graph.initializer if t.data_type == TensorProto.FLOAT}
    ends = {o.name for o in copy.graph.output}
    scales = {name for node in copy.graph.node if node.op_type == 'Resize' for name in node.input[1:]}
    one = helper.make_tensor('nudge_one', TensorProto.FLOAT, [], [1.0])
    nodes = []

    def moved(name):
        k = len(nodes)
        nodes.extend([
            helper.make_node('RandomUniformLike', [name], [f'nudge_a{k}'], low=-unit, high=unit, seed=float(1000 * seed + k + 1)),
            helper.make_node('Add', [f'nudge_a{k}', one.name], [f'nudge_b{k}']),
            helper.make_node('Mul', [name, f'nudge_b{k}'], [f'{name}_nudged'])])

    for name in [i.name for i in copy.graph.input] + [i.name for i in copy.graph.initializer]:
        if name in floats and name not in scales:
            moved(name)
    for node in copy.graph.node:
        node.input[:] = [f'{n}_nudged' if n in floats and n not in scales and n not in ends else n for n in node.input]
        nodes.append(node)
        for name in node.output:
            if name in floats and name not in ends:
                moved(name)
    nodes = [type(n).FromString(n.SerializeToString()) for n in nodes]
    del copy.graph.node[:], copy.graph.value_info[:]
    copy.graph.node.extend(nodes)
    copy.graph.initializer.append(one)
    return copy, feed


def second_opinion(model, feed, output, value):
    """Whether the ONNX project's own evaluator finds `value`: ONNX Runtime rounds more than it must in places."""
    try:
        expected = ReferenceEvaluator(model).run(None, feed)[output]
    except Exception:
        return False
    return difference(value, np.asarray(expected))[0] <= TOLERANCE


def check(model, feed, runner, dynamic=False, stored=None):
    """(True, '') where right, (False, what is wrong, or what it warned of), (None, why) where the reference has no opinion.

    The error is relative to the scale of each output; where ONNX Runtime itself moves as much when every number on the way moves
    by units in the last place, the value says nothing and is left out. With `stored`, another float dtype, tcc computes in it, and
    is compared with float32 on the same (rounded) numbers.
    """
    if stored is not None:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        model = rewrite(copy, lambda t: numpy_helper.from_array(np.asarray(rounded(numpy_helper.to_array(t), stored)), t.name))
        feed = {n: rounded(v, stored) for n, v in feed.items()}
    try:
        expected = reference(model, feed)
    except Exception as error:
        return None, f'reference: {str(error)[:200]}'
    if stored in UNIT and any(e.dtype.kind == 'f' and e.size and not np.abs(e).max() < 2e4 for e in expected):
        return None, 'reference: out of range'
    own, own_feed = model, feed
    if stored is not None:
        own = onnx.ModelProto()
        own.CopyFrom(model)
        stored_as(own, stored)
        try:
            onnx.checker.check_model(own, full_check=True)
        except Exception as error:
            return None, f'no such dtype: {str(error)[:200]}'
        names = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in own.graph.input}
        own_feed = {n: v.astype(names[n]) if n in names else v for n, v in feed.items()}
    got, log = runner.run(own, own_feed, dynamic)
    if got is None:
        return False, log
    unit = UNIT.get(stored)
    tolerance = LOST_UNITS * unit if unit else TOLERANCE
    moved = None
    for k, (a, b) in enumerate(zip(got, expected)):
        error, text = difference(a, b, tolerance)
        if error <= tolerance:
            continue
        if moved is None and error != float('inf'):
            moved = [reference(*nudge(model, feed, seed, unit or 3e-7)) for seed in range(3)]
        if moved is not None:
            change = max(difference(m[k], b)[0] for m in moved)
            if change > tolerance / 4 or (unit and error < LOST_UNITS * change):
                continue
            if second_opinion(model, feed, k, a):
                continue
        return False, f'output {model.graph.output[k].name}: error {error:.3g} {text}'
    # Such as that no code could be generated: right, but slow.
    return not log, log
