"""Ops that move or select data, mostly for every dtype."""
import numpy as np



# Data movement, for every dtype.
def any_value(g, at_least=1):
    found = [v for v in g.values if v.rank >= at_least and v.elements() < 60000 and v.dtype != 'bool']
    return found[-1 - min(int(g.rng.exponential(2.0)), len(found) - 1)] if found else None


def transpose(g):
    x = any_value(g)
    if x is None:
        return
    perm = [int(p) for p in g.rng.permutation(x.rank)]
    g.node('Transpose', [x], perm=perm, shapes=[[s[p] for p in perm] for s in x.shapes])


def reshape(g):
    x = any_value(g)
    if x is None:
        return
    static = [a for a in range(x.rank) if x.static(a)]
    if len(static) < x.rank:
        # Leading static extents stay, the rest is one; or two neighbours merge.
        axis = g.pick(range(x.rank))
        if any(0 in s for s in x.shapes) and axis + 1 < x.rank:
            # -1 cannot be told from 0 where another extent is 0.
            if any(0 in [d for i, d in enumerate(s) if i not in (axis, axis + 1)] for s in x.shapes):
                return
        if axis + 1 < x.rank:
            target = [0] * axis + [-1] + [x.shapes[0][a] if x.static(a) else None for a in range(axis + 2, x.rank)]
            if None in target:
                return
            shapes = [s[:axis] + (s[axis] * s[axis + 1],) + s[axis + 2:] for s in x.shapes]
            if any(0 in target_s[axis + 1:] for target_s in shapes):
                return
            g.node('Reshape', [x, g.ints(*target)], shapes=shapes)
        elif x.static(axis):
            d = x.shapes[0][axis]
            if d == 0:
                return
            f = g.pick([q for q in range(1, d + 1) if d % q == 0])
            g.node('Reshape', [x, g.ints(*([0] * axis), f, d // f)], shapes=[s[:axis] + (f, d // f) for s in x.shapes])
        return
    total = int(np.prod(x.shapes[0]))
    if total == 0:
        return
    dims, rest = [], total
    for _ in range(g.pick([0, 1, 2, 3])):
        f = g.pick([q for q in range(1, min(rest, 64) + 1) if rest % q == 0])
        dims.append(f)
        rest //= f
    dims.insert(g.pick(range(len(dims) + 1)), rest)
    written = list(dims)
    if g.chance(0.4):
        written[g.pick(range(len(dims)))] = -1
    g.node('Reshape', [x, g.ints(*written)], shapes=[dims] * len(x.shapes))


def flatten(g):
    x = any_value(g)
    if x is None:
        return
    axis = g.pick(range(x.rank + 1))
    g.node('Flatten', [x], axis=axis, shapes=[(int(np.prod(s[:axis])), int(np.prod(s[axis:]))) for s in x.shapes])


def squeeze(g):
    x = any_value(g, 0)
    if x is None:
        return
    ones = [a for a in range(x.rank) if set(x.dim(a)) == {1}]
    if ones and g.chance(0.6):
        axis = g.pick(ones)
        g.node('Squeeze', [x, g.ints(axis)], shapes=[s[:axis] + s[axis + 1:] for s in x.shapes])
    elif x.rank < 5:
        axis = g.pick(range(x.rank + 1))
        g.node('Unsqueeze', [x, g.ints(axis - (x.rank + 1 if g.chance(0.3) else 0))], shapes=[s[:axis] + (1,) + s[axis:] for s in x.shapes])


def slice_(g):
    x = any_value(g)
    if x is None:
        return
    axes = [a for a in range(x.rank) if g.chance(0.5)] or [g.pick(range(x.rank))]
    starts, ends, steps, shapes = [], [], [], [list(s) for s in x.shapes]
    for a in axes:
        step = g.pick([1, 1, 1, 2, 3, -1, -2])
        start = int(g.rng.integers(-3, 6))
        end = g.pick([2 ** 31 - 1, 2 ** 63 - 1, -1, 4, 7]) if step > 0 else g.pick([-2 ** 63, -2 ** 31, 0, -5])
        for i, s in enumerate(x.shapes):
            # As the specification says: a backward slice starts within the axis, numpy's may start before it.
            d = s[a]
            first = min(max(start + d if start < 0 else start, 0), d if step > 0 else d - 1)
            last = min(max(end + d if end < 0 else end, 0 if step > 0 else -1), d if step > 0 else d - 1)
            shapes[i][a] = len(range(first, last, step))
        starts.append(start), ends.append(end), steps.append(step)
    g.node('Slice', [x, g.ints(*starts), g.ints(*ends), g.ints(*axes), g.ints(*steps)], shapes=shapes)


def concat(g):
    x = any_value(g)
    if x is None:
        return
    axis = g.pick(range(x.rank))
    parts = [x]
    for other in reversed(g.values):
        if len(parts) < 3 and other.dtype == x.dtype and other.rank == x.rank and all(
                a[:axis] + a[axis + 1:] == b[:axis] + b[axis + 1:] for a, b in zip(x.shapes, other.shapes)):
            parts.insert(g.pick([0, len(parts)]), other)
    if len(parts) < 2 or sum(p.elements() for p in parts) > 60000:
        return
    g.node('Concat', parts, axis=axis, exact=all(p.exact for p in parts),
           shapes=[s[:axis] + (sum(p.shapes[i][axis] for p in parts),) + s[axis + 1:] for i, s in enumerate(x.shapes)])


def split(g):
    x = any_value(g)
    if x is None:
        return
    axis = g.pick(range(x.rank))
    if not x.static(axis) or x.shapes[0][axis] < 2:
        return
    first = g.pick(range(x.shapes[0][axis] + 1))
    sizes = [first, x.shapes[0][axis] - first]
    g.node('Split', [x, g.ints(*sizes)], outputs=2, axis=axis, shapes=[[s[:axis] + (k,) + s[axis + 1:] for s in x.shapes] for k in sizes])


def pad(g):
    x = any_value(g)
    if x is None:
        return
    mode = g.pick(['constant', 'constant', 'reflect', 'edge', 'wrap'])
    before = [g.pick([0, 0, 1, 2]) for _ in range(x.rank)]
    after = [g.pick([0, 0, 1, 3]) for _ in range(x.rank)]
    if mode == 'constant' and g.chance(0.2):
        before = [b if b else g.pick([0, -1]) for b in before]
    for a in range(x.rank):
        low = min(x.dim(a))
        if low + min(before[a], 0) < 0:
            before[a] = 0
        if mode != 'constant' and (before[a] >= low or after[a] >= low):
            before[a] = after[a] = 0
    if mode != 'constant' and (any(0 in s for s in x.shapes) or x.dtype not in ('float32', 'int32', 'int64', 'uint8', 'int8')):
        return
    ins = [x, g.ints(*before, *after)] + ([g.const(np.array(2, x.dtype))] if mode == 'constant' and g.chance(0.5) else [])
    g.node('Pad', ins, mode=mode, shapes=[[b + d + e for b, d, e in zip(before, s, after)] for s in x.shapes])


def expand(g):
    x = any_value(g, 0)
    if x is None or x.elements() > 10000:
        return
    if g.chance(0.5):
        repeats = [g.pick([1, 1, 2, 3]) for _ in range(x.rank)]
        if x.rank and x.elements() < 3000:
            g.node('Tile', [x, g.ints(*repeats)], shapes=[[d * r for d, r in zip(s, repeats)] for s in x.shapes])
        return
    lead = g.pick([[], [2], [1, 3]])
    target = [g.pick([1, 4]) if set(x.dim(a)) == {1} else 1 for a in range(x.rank)]
    g.node('Expand', [x, g.ints(*lead, *target)], shapes=[np.broadcast_shapes(s, tuple(lead + target)) for s in x.shapes])


def gather(g):
    x = any_value(g)
    if x is None:
        return
    axis = g.pick(range(x.rank))
    low = min(x.dim(axis))
    if low == 0:
        return
    index = g.rng.integers(-low, low, g.pick([(), (1,), (3,), (2, 2)]))
    dtype = g.pick([np.int64, np.int32])
    g.node('Gather', [x, g.const(index.astype(dtype))], axis=axis, shapes=[s[:axis] + index.shape + s[axis + 1:] for s in x.shapes])


def space(g):
    x = any_value(g, 4)
    if x is None or x.rank != 4 or x.dtype not in ('float32',):
        return
    if x.static(1) and x.shapes[0][1] % 4 == 0 and x.shapes[0][1]:
        g.node('DepthToSpace', [x], blocksize=2, mode=g.pick(['DCR', 'CRD']), shapes=[(s[0], s[1] // 4, s[2] * 2, s[3] * 2) for s in x.shapes])


def resize(g):
    x = g.floats(rank=4)
    if x is None or any(0 in s for s in x.shapes) or x.elements() > 15000:
        return
    scale = g.pick([2.0, 1.5, 0.5, 3.0])
    mode = g.pick(['nearest', 'linear', 'cubic'])
    # Where the scaled extent is rounded, ONNX's own tests take it as it was, ONNX Runtime as it is.
    corners = 'align_corners' if scale in (2.0, 3.0) else 'asymmetric'
    shapes = [s[:2] + tuple(int(d * scale) for d in s[2:]) for s in x.shapes]
    if any(0 in s for s in shapes):
        return
    g.node('Resize', [x, '', g.const(np.array([1, 1, scale, scale], np.float32))], mode=mode, shapes=shapes, exact=False,
           coordinate_transformation_mode=g.pick(['half_pixel', 'asymmetric', corners]))


def cumsum(g):
    x = g.floats(at_least=1)
    if x is None:
        return
    g.node('CumSum', [x, g.const(np.array(g.pick(range(x.rank)), np.int64))], exclusive=g.pick([0, 1]), reverse=g.pick([0, 1]), exact=False)


def arg(g):
    exact = [v for v in g.values if v.dtype == 'float32' and v.exact and v.rank and not any(0 in s for s in v.shapes)]
    if not exact:
        return
    x = g.pick(exact)
    axis, keep = g.pick(range(x.rank)), g.pick([0, 1])
    g.node(g.pick(['ArgMax', 'ArgMin']), [x], axis=axis, keepdims=keep, dtype='int64', select_last_index=g.pick([0, 1]),
           shapes=[s[:axis] + ((1,) if keep else ()) + s[axis + 1:] for s in x.shapes])


def shape_of(g):
    x = any_value(g)
    if x is None:
        return
    shape = g.node('Shape', [x], dtype='int64', shapes=[(x.rank,)] * len(x.shapes), exact=True)
    if g.chance(0.5) and x.rank >= 2:
        # Flattening by computed extents.
        first = g.node('Gather', [shape, g.ints(0)], shapes=[(1,)] * len(x.shapes), dtype='int64')
        target = g.node('Concat', [first, g.ints(-1)], axis=0, shapes=[(2,)] * len(x.shapes))
        if not any(0 in s for s in x.shapes):
            g.node('Reshape', [x, target], shapes=[(s[0], int(np.prod(s[1:]))) for s in x.shapes])
