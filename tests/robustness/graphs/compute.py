"""Reductions, normalisations, matrix products, convolutions and pooling."""
import numpy as np


def reduce(g):
    x = g.floats(at_least=1)
    if x is None:
        return
    op = g.pick(['ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceL1', 'ReduceL2', 'ReduceLogSumExp',
                 'ReduceSumSquare', 'ReduceProd', 'ReduceLogSum'])
    axes = [a for a in range(x.rank) if g.chance(0.5)] or [g.pick(range(x.rank))]
    if op in ('ReduceMax', 'ReduceMin', 'ReduceMean', 'ReduceLogSumExp') and any(0 in x.dim(a) for a in axes):
        return
    if op == 'ReduceProd':
        x = g.node('Tanh', [x], exact=False)
    if op == 'ReduceLogSum':
        if any(0 in x.dim(a) for a in axes):
            return
        x = g.node('Add', [g.node('Abs', [x], exact=False), g.const(np.float32(0.5))])
    if op == 'ReduceSumSquare' or op == 'ReduceSum':
        x = g.node('Tanh', [x], exact=False)
    keep = g.pick([0, 1])
    shapes = [tuple((1 if a in axes else d) for a, d in enumerate(s) if keep or a not in axes) for s in x.shapes]
    written = [a - x.rank if g.chance(0.4) else a for a in axes]
    g.node(op, [x, g.ints(*written)], shapes=shapes, keepdims=keep, exact=False)


def softmax(g):
    x = g.floats(at_least=1)
    if x is None:
        return
    axis = g.pick(range(x.rank))
    g.node(g.pick(['Softmax', 'LogSoftmax']), [x], axis=axis - (x.rank if g.chance(0.5) else 0), exact=False)


def layer_norm(g):
    x = g.floats(at_least=1)
    if x is None:
        return
    axis = g.pick(range(x.rank))
    if not all(x.static(a) for a in range(axis, x.rank)) or x.elements() == 0:
        return
    dims = list(x.shapes[0][axis:])
    ins = [x, g.weight(dims)] + ([g.weight(dims)] if g.chance(0.6) else [])
    g.node('LayerNormalization', ins, axis=axis - x.rank, epsilon=1e-5, exact=False)


def manual_norm(g):
    x = g.floats(at_least=2)
    if x is None or not x.static(x.rank - 1) or x.shapes[0][-1] == 0:
        return
    axis = g.ints(-1)
    kept = [s[:-1] + (1,) for s in x.shapes]
    mean = g.node('ReduceMean', [x, axis], shapes=kept, keepdims=1, exact=False)
    d = g.node('Sub', [x, mean], exact=False)
    var = g.node('ReduceMean', [g.node('Mul', [d, d], exact=False), axis], shapes=kept, keepdims=1, exact=False)
    s = g.node('Sqrt', [g.node('Add', [var, g.const(np.float32(1e-3))])], exact=False)
    y = g.node('Div', [d, s], shapes=x.shapes, exact=False)
    if g.chance(0.7):
        y = g.node('Mul', [y, g.weight([x.shapes[0][-1]])], exact=False)
        g.node('Add', [y, g.weight([x.shapes[0][-1]])], exact=False)


def batch_norm(g):
    x = g.floats(at_least=2)
    if x is None or not x.static(1) or x.shapes[0][1] == 0:
        return
    c = x.shapes[0][1]
    g.node('BatchNormalization', [x, g.weight([c]), g.weight([c]), g.weight([c]),
                                  g.const(np.abs(g.rng.standard_normal(c)).astype(np.float32) + 0.3)], exact=False)


def instance_norm(g):
    x = g.floats(at_least=3)
    if x is None or not x.static(1) or x.shapes[0][1] == 0 or any(0 in s for s in x.shapes):
        return
    c = x.shapes[0][1]
    if g.chance(0.5):
        groups = g.pick([k for k in range(1, c + 1) if c % k == 0])
        g.node('GroupNormalization', [x, g.weight([c]), g.weight([c])], num_groups=groups, exact=False)
    else:
        g.node('InstanceNormalization', [x, g.weight([c]), g.weight([c])], exact=False, epsilon=1e-3)


def matmul(g):
    x = g.floats(at_least=1)
    if x is None or not x.static(x.rank - 1):
        return
    k = x.shapes[0][-1]
    n = g.extent()
    if g.chance(0.15):
        y = g.node('MatMul', [x, g.weight([k], max(k, 1) ** -0.5)], shapes=[s[:-1] for s in x.shapes], exact=False)
    elif x.rank == 2 and g.chance(0.4):
        trans = g.pick([0, 1])
        w = g.weight([n, k] if trans else [k, n], max(k, 1) ** -0.5)
        c = [g.weight(g.pick([[n], [1, n], [1, 1], [1]]))] if g.chance(0.6) else []
        y = g.node('Gemm', [x, w] + c, shapes=[s[:-1] + (n,) for s in x.shapes], transB=trans, exact=False,
                   alpha=float(g.pick([1.0, 0.5])), beta=float(g.pick([1.0, 2.0])))
    elif x.rank >= 3 and g.chance(0.3) and x.static(0):
        y = g.node('MatMul', [x, g.weight([x.shapes[0][0]] + [1] * (x.rank - 3) + [k, n], max(k, 1) ** -0.5)],
                   shapes=[s[:-1] + (n,) for s in x.shapes], exact=False)
    else:
        y = g.node('MatMul', [x, g.weight([k, n], max(k, 1) ** -0.5)], shapes=[s[:-1] + (n,) for s in x.shapes], exact=False)
    if g.chance(0.5):
        op = g.pick(['Relu', 'Sigmoid', 'Gelu'])
        if g.chance(0.5) and y.rank:
            y = g.node('Add', [y, g.weight([y.shapes[0][-1]]) if y.static(y.rank - 1) else g.const(np.float32(0.1))])
        g.node(op, [y], exact=False)


def self_product(g):
    """x times its own transpose: products of two values, as in attention."""
    x = g.floats(at_least=2)
    if x is None or x.elements() > 8000:
        return
    perm = list(range(x.rank))
    perm[-1], perm[-2] = perm[-2], perm[-1]
    scaled = g.node('Mul', [x, g.const(np.float32(max(x.shapes[0][-1], 1) ** -0.5))], exact=False)
    t = g.node('Transpose', [x], perm=perm, shapes=[s[:-2] + (s[-1], s[-2]) for s in x.shapes])
    scores = g.node('MatMul', [scaled, t], shapes=[s[:-1] + (s[-2],) for s in x.shapes], exact=False)
    if g.chance(0.6):
        if g.chance(0.3) and scores.static(scores.rank - 1):
            scores = g.node('Add', [scores, g.weight([scores.shapes[0][-1]])])
        p = g.node('Softmax', [scores], axis=-1, exact=False)
        g.node('MatMul', [p, x], shapes=x.shapes, exact=False)


def conv(g):
    x = g.floats(at_least=3)
    if x is None or x.rank > 5 or not x.static(1) or x.shapes[0][1] == 0:
        return
    spatial = x.rank - 2
    c = x.shapes[0][1]
    kernel, strides, dilations, pads_b, pads_e = [], [], [], [], []
    for axis in range(2, x.rank):
        low = min(x.dim(axis))
        if max(x.dim(axis)) == 0:
            return
        k, d, s = g.pick([1, 2, 3, 3, 5]), g.pick([1, 1, 2]), g.pick([1, 1, 2, 3])
        b, e = g.pick([0, 1, 2]), g.pick([0, 1, 2])
        if low + b + e < (k - 1) * d + 1:
            k, b, e = 1, 0, 0
            if low == 0:
                b = 1
        kernel.append(k), strides.append(s), dilations.append(d), pads_b.append(b), pads_e.append(e)
    group = g.pick([q for q in range(1, c + 1) if c % q == 0])
    m = group * g.pick([1, 1, 2, 3])
    if group == 1:
        m = g.pick([1, 3, 8, 16, 17])
    w = g.weight([m, c // group] + kernel, (c // group * np.prod(kernel)) ** -0.5)
    shapes = []
    for s in x.shapes:
        out = [(s[2 + i] + pads_b[i] + pads_e[i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(spatial)]
        shapes.append((s[0], m, *out))
    if max(np.prod(s) for s in shapes) > 60000:
        return
    y = g.node('Conv', [x, w] + ([g.weight([m])] if g.chance(0.5) else []), shapes=shapes, exact=False, kernel_shape=kernel,
               strides=strides, dilations=dilations, pads=pads_b + pads_e, group=group)
    if g.chance(0.4):
        y = g.node(g.pick(['Relu', 'Sigmoid', 'HardSwish']), [y], exact=False)
        if g.chance(0.3):
            g.node('Mul', [y, y], exact=False)


def conv_transpose(g):
    x = g.floats(at_least=3)
    if x is None or x.rank > 4 or not x.static(1) or any(0 in s for s in x.shapes):
        return
    spatial, c = x.rank - 2, x.shapes[0][1]
    kernel = [g.pick([1, 2, 3]) for _ in range(spatial)]
    strides = [g.pick([1, 2, 3]) for _ in range(spatial)]
    dilations = [g.pick([1, 1, 2]) for _ in range(spatial)]
    pads = [g.pick([0, 1]) if (kernel[i] - 1) * dilations[i] + 1 > 2 else 0 for i in range(spatial)]
    extra = [g.pick([0, s - 1]) for s in strides]
    group = g.pick([q for q in range(1, c + 1) if c % q == 0])
    m = g.pick([1, 2, 3])
    shapes = []
    for s in x.shapes:
        out = [strides[i] * (s[2 + i] - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1 - 2 * pads[i] for i in range(spatial)]
        if min(out) <= 0:
            return
        shapes.append((s[0], m * group, *out))
    if max(np.prod(s) for s in shapes) > 60000:
        return
    g.node('ConvTranspose', [x, g.weight([c, m] + kernel, (c // group) ** -0.5)] + ([g.weight([m * group])] if g.chance(0.5) else []),
           shapes=shapes, exact=False, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads * 2,
           output_padding=extra, group=group)


def pool(g):
    x = g.floats(at_least=3)
    if x is None or x.rank > 5 or any(0 in s for s in x.shapes):
        return
    if g.chance(0.25):
        g.node(g.pick(['GlobalAveragePool', 'GlobalMaxPool']), [x], shapes=[s[:2] + (1,) * (x.rank - 2) for s in x.shapes], exact=False)
        return
    spatial = x.rank - 2
    op = g.pick(['MaxPool', 'AveragePool', 'LpPool'])
    kernel, strides, pb, pe = [], [], [], []
    for axis in range(2, x.rank):
        k = g.pick([1, 2, 3])
        b, e = (g.pick(range(k)), g.pick(range(k)))
        if min(x.dim(axis)) + b + e < k:
            k, b, e = 1, 0, 0
        kernel.append(k), strides.append(g.pick([1, 2, 3])), pb.append(b), pe.append(e)
    if op == 'LpPool':
        pb, pe = [0] * spatial, [0] * spatial
        if any(min(x.dim(a + 2)) < kernel[a] for a in range(spatial)):
            return
    attributes = {}
    if op == 'AveragePool':
        attributes['count_include_pad'] = g.pick([0, 1])
    ceil = op != 'LpPool' and g.chance(0.3)
    shapes = []
    for s in x.shapes:
        out = []
        for i in range(spatial):
            span = s[2 + i] + pb[i] + pe[i] - kernel[i]
            o = (-(-span // strides[i]) if ceil else span // strides[i]) + 1
            if ceil and (o - 1) * strides[i] >= s[2 + i] + pb[i]:
                o -= 1
            out.append(o)
        shapes.append((*s[:2], *out))
    if ceil:
        attributes['ceil_mode'] = 1
    g.node(op, [x], shapes=shapes, kernel_shape=kernel, strides=strides, pads=pb + pe, exact=False, **attributes)
