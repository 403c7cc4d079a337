"""Scatters of what gathers pick from the same value, so that updates fit where extents vary."""
import numpy as np

from graphs.movement import any_value


def update(g, picked):
    return g.node(g.pick(['Neg', 'Abs']), [picked]) if picked.dtype in ('float32', 'int32', 'int64') and g.chance(0.5) else picked


def reduction(g):
    """An element with several updates: only where the order of them does not show."""
    name = g.pick(['none', 'add', 'mul', 'max', 'min'])
    return name, name in ('max', 'min')


def indices(g, low, count, repeat):
    picked = g.rng.integers(-low, low, count) if repeat else g.rng.permutation(low)[:count] - (low if g.chance(0.3) else 0)
    return picked.astype(np.int64)


def scatter_nd(g):
    x = any_value(g)
    if x is None or not min(x.dim(0)):
        return
    kind, repeat = reduction(g)
    low = min(x.dim(0))
    count = int(g.rng.integers(0, 2 * low)) if repeat else int(g.rng.integers(0, low + 1))
    at = indices(g, low, count, repeat)
    picked = g.node('Gather', [x, g.const(g.rng.integers(0, low, len(at)))], axis=0, shapes=[(len(at),) + s[1:] for s in x.shapes])
    g.node('ScatterND', [x, g.const(at[:, None]), update(g, picked)], shapes=x.shapes, reduction=kind)


def scatter_elements(g):
    x = any_value(g)
    if x is None or len(x.shapes) > 1 or 0 in x.shapes[0]:
        return
    axis = g.pick(range(x.rank))
    kind, repeat = reduction(g)
    low = x.shapes[0][axis]
    count = int(g.rng.integers(1, 2 * low)) if repeat else int(g.rng.integers(1, low + 1))
    lines = x.shapes[0][:axis] + x.shapes[0][axis + 1:]
    at = np.stack([indices(g, low, count, repeat) for _ in range(int(np.prod(lines)))]).reshape(lines + (-1,))
    at = np.moveaxis(at, -1, axis)
    picked = g.node('Gather', [x, g.const(g.rng.integers(0, low, at.shape[axis]))], axis=axis, shapes=[at.shape])
    g.node('ScatterElements', [x, g.const(at.astype(g.pick([np.int64, np.int32]))), update(g, picked)], shapes=x.shapes, axis=axis,
           reduction=kind)
