#!/usr/bin/env python3
"""What tcc says about input that is not right: exit code 2 and a message with what and where; never a crash.

usage: bad_input.py TCC
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
failures = 0


def run(*command, env=None):
    return subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=120, env=env)


def expect(text, *command, code=2, variables=None):
    """Every word of `text` (separated by |) must be in what the command prints."""
    global failures
    done = run(*command, env=dict(os.environ, **(variables or {})))
    out = done.stdout + done.stderr
    missing = [word for word in text.split('|') if word not in out]
    if done.returncode != code or missing:
        failures += 1
        print(f'FAILED: {" ".join(command)}\n  exit code {done.returncode}, expected {code}; missing {missing} in:\n  {out[:600]}')


def info(name, dims, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


X, Y = info('x', [2, 3]), info('y', [None, None])


def save(name, nodes, inputs=(X,), outputs=(Y,), initializers=(), opset=21, domains=(), functions=()):
    graph = helper.make_graph(nodes, 'g', inputs, outputs, list(initializers))
    imports = [helper.make_opsetid('', opset)] + [helper.make_opsetid(d, 1) for d in domains]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10, functions=functions)
    with open(name, 'wb') as file:
        file.write(model.SerializeToString())


def node(op, inputs=('x',), outputs=('y',), name='n', **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name=name, **attributes)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def weight(name, dims, raw=None, dtype=FLOAT, external=None):
    tensor = TensorProto(name='w', data_type=dtype, dims=dims)
    if raw is not None:
        tensor.raw_data = raw
    for key, value in (external or {}).items():
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key=key, value=str(value))
    save(name, [node('Add', ('x', 'w'))], initializers=[tensor])


def varint(value):
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def nested(depth):
    """Branches within branches, as bytes: the Python library refuses to build them."""
    def field(number, data):
        return varint(number << 3 | 2) + varint(len(data)) + data
    graph = field(1, node('Relu').SerializeToString()) + field(2, b'g') + field(12, info('y', [2, 3]).SerializeToString())
    for _ in range(depth):
        branch = field(1, b'then_branch') + field(6, graph) + varint(20 << 3) + varint(5)
        other = field(1, b'else_branch') + field(6, graph if depth < 3 else b'') + varint(20 << 3) + varint(5)
        n = field(1, b'c') + field(2, b'y') + field(4, b'If') + field(5, branch) + field(5, other)
        graph = field(1, n) + field(2, b'g') + field(12, info('y', [2, 3]).SerializeToString())
    return varint(1 << 3) + varint(10) + field(7, graph) + field(8, varint(2 << 3) + varint(21))


def files(tcc):
    """Models that are none, or wrong."""
    save('ok.onnx', [node('Relu')])
    with open('ok.onnx', 'rb') as file:
        good = file.read()
    os.mkdir('folder.onnx')
    cases = {'png': (b'\x89PNG\r\n\x1a\n' + bytes(64), 'PNG signature'), 'empty': (b'', 'empty'),
             'cut': (good[:len(good) // 2], 'damaged, cut off'), 'noise': (np.random.default_rng(1).bytes(4000), 'damaged'),
             'zip': (b'PK\x03\x04' + bytes(64), 'is not'), 'text': (b'hello, world\n' * 9, 'is not'),
             'deep': (nested(5000), 'nested too deep')}
    for name, (data, text) in cases.items():
        with open(f'{name}.onnx', 'wb') as file:
            file.write(data)
        expect(f'{name}.onnx|{text}', tcc, 'run', f'{name}.onnx', '--random')
    for command in ('run', 'compile', 'bench', 'explain'):
        expect('none.onnx|no such file', tcc, command, 'none.onnx')
        expect('folder.onnx|is a folder', tcc, command, 'folder.onnx')
    expect('none.tcc|No such file', tcc, 'run', 'none.tcc')
    for name, data in (('noise', b'\x07' * 999), ('empty', b'')):
        with open(f'{name}.tcc', 'wb') as file:
            file.write(data)
        expect(f'{name}.tcc', tcc, 'run', f'{name}.tcc', code=2)


def graphs(tcc):
    def bad(name, text, *arguments, code=2, **keywords):
        save(name + '.onnx', *arguments, **keywords)
        expect(text, tcc, 'run', name + '.onnx', '--random', code=code)
    bad('cycle', "has a cycle|'first' (Add)", [node('Add', ('x', 'b'), ('a',), 'first'), node('Relu', ('a',), ('b',)), node('Relu', ('b',))])
    bad('undefined', "'n' (Add)|reads 'nothing'", [node('Add', ('x', 'nothing'))])
    bad('twice', "'second' (Abs)|'y' is defined a second time", [node('Relu'), node('Abs', name='second')])
    bad('unsupported', "'one' (Foo)|my.Foo|'two' (Bar)|my.Bar",
        [node('Foo', outputs=('t',), name='one', domain='my'), node('Bar', ('t',), name='two', domain='my')], domains=['my'])
    bad('unknown', 'Frobnicate', [node('Frobnicate')])
    bad('future', 'op set 999', [node('Relu')], opset=999)
    bad('no_outputs', 'no outputs', [node('Relu')], outputs=())
    bad('axis', "'n' (Softmax)|axis 7", [node('Softmax', axis=7)])
    bad('inner', "'n' (MatMul)|3 and 2", [node('MatMul', ('x', 'x'))])
    bad('mixed', "'n' (Add)|types", [node('Add', ('x', 'i'))], inputs=(X, info('i', [2, 3], TensorProto.INT64)))
    bad('reshape', "'n' (Reshape)|6 elements to 8", [node('Reshape', ('x', 's'))], initializers=[ints('s', 4, 2)])
    bad('index', "'n' (Gather)|out of range", [node('Gather', ('x', 'i'))], initializers=[ints('i', 0, 7)])
    bad('permutation', "'n' (Transpose)|twice", [node('Transpose', perm=[0, 0])])
    image = info('x', [1, 2, 3, 3])
    kernel = numpy_helper.from_array(np.ones((2, 2, 1, 1), np.float32), 'w')
    out = info('y', [None] * 4)
    for name, text, attributes in (('group', "'group'", {'group': 0}), ('stride', 'positive', {'strides': [0, 0]}),
                                   ('dilation', 'Conv', {'dilations': [-1, 1]})):
        bad('conv_' + name, f"'n' (Conv)|{text}", [node('Conv', ('x', 'w'), **attributes)], (image,), (out,), [kernel])
    # What is too large for this machine, or for tcc, is the work that fails: code 1.
    for name, op, shape, code in (('expand', 'Expand', (1 << 40, 2, 3), 1), ('tile', 'Tile', (1 << 62, 1 << 62), 2),
                                  ('zeros', 'ConstantOfShape', (1 << 40, 1 << 20), 1)):
        inputs = ('s',) if op == 'ConstantOfShape' else ('x', 's')
        bad('huge_' + name, 'error', [node(op, inputs)], outputs=(info('y', [None] * len(shape)),), initializers=[ints('s', *shape)], code=code)
    bad('huge_input', 'overflow', [node('Relu')], inputs=(info('x', [1 << 40, 1 << 40]),))
    call = [node('F', domain='f')]
    body = helper.make_function('f', 'F', ['x'], ['y'], [node('F', domain='f')], [helper.make_opsetid('f', 1)])
    bad('recursive', 'F', call, domains=['f'], functions=[body])
    chain = [helper.make_function('f', 'F0', ['x'], ['y'], [node('Relu')], [helper.make_opsetid('', 21)])]
    for k in range(1, 40):
        inner = [node(f'F{k - 1}', outputs=('t',), domain='f'), node(f'F{k - 1}', ('t',), domain='f')]
        chain.append(helper.make_function('f', f'F{k}', ['x'], ['y'], inner, [helper.make_opsetid('f', 1)]))
    bad('exponential', 'error', [node('F39', domain='f')], domains=['f'], functions=chain, code=1)


def tensors(tcc):
    """Weights whose description lies."""
    def bad(name, text, dims=(2, 3), **keywords):
        weight(name + '.onnx', dims, **keywords)
        expect("'w'|" + text, tcc, 'run', name + '.onnx', '--random')
    bad('huge', 'overflow', (1 << 40, 1 << 40), raw=b'1234')
    bad('missing_data', 'has 0', (1 << 20, 1 << 20))
    bad('negative', 'negative', (-2, 3), raw=bytes(24))
    bad('short', '24 bytes|20', raw=bytes(20))
    bad('long', '24 bytes|28', raw=bytes(28))
    bad('dtype_0', 'element type 0', dtype=0, raw=bytes(24))
    bad('dtype_99', 'element type 99', dtype=99, raw=bytes(24))
    with open('short.bin', 'wb') as file:
        file.write(bytes(10))
    os.mkdir('inner')
    os.symlink('/etc/passwd', 'inner/link.bin')
    os.link('short.bin', 'hard.bin')
    for name, text, external in (
            ('none', 'none.bin|no such file', {'location': 'none.bin'}), ('short', '24 bytes|10', {'location': 'inner/ten.bin'}),
            ('up', 'outside', {'location': '../up.bin'}), ('absolute', 'outside', {'location': '/etc/passwd', 'length': 24}),
            ('link', 'outside', {'location': 'inner/link.bin', 'length': 24}), ('hard', 'hard links', {'location': 'hard.bin'}),
            ('folder', 'folder', {'location': 'inner'}), ('nowhere', 'no location', {'offset': 0}),
            ('wraps', 'only 10', {'location': 'inner/ten.bin', 'offset': (1 << 64) - 16, 'length': 24}),
            ('word', 'no number', {'location': 'inner/ten.bin', 'offset': 'abc'})):
        if not os.path.exists('inner/ten.bin'):
            with open('inner/ten.bin', 'wb') as file:
                file.write(bytes(10))
        bad('external_' + name, text, external=external)
    # A call that may read the data leaves nothing in the cache for one that may not.
    os.makedirs('rooted/model')
    with open('rooted/data.bin', 'wb') as file:
        file.write(bytes(24))
    rooted = 'rooted/model/rooted.onnx'
    weight(rooted, (2, 3), external={'location': '../data.bin', 'length': 24})
    for _ in range(2):
        expect('outside', tcc, 'run', rooted, '--random')
        expect('y', tcc, 'run', rooted, '--random', '--external-data-root', 'rooted', code=0)


def calls(tcc):
    """A good model, called wrongly."""
    np.savez('good.npz', x=np.ones((2, 3), np.float32))
    for name, text, array in (('rank', "'x'|f32[2,3,1]|2 axes", np.ones((2, 3, 1), np.float32)),
                              ('dtype', "'x'|f64", np.ones((2, 3))), ('extent', "'x'|f32[2,4]|axis 1 at 3", np.ones((2, 4), np.float32))):
        np.savez(name + '.npz', x=array)
        expect(text, tcc, 'run', 'ok.onnx', '--input', name + '.npz')
    np.savez('other.npz', q=np.ones((2, 3), np.float32))
    with open('good.npz', 'rb') as file:
        data = file.read()
    with open('cut.npz', 'wb') as file:
        file.write(data[:150])
    for suffix in ('npy', 'npz', 'pb'):
        with open('noise.' + suffix, 'wb') as file:
            file.write(np.random.default_rng(2).bytes(200))
        expect('noise.' + suffix, tcc, 'run', 'ok.onnx', '--input', 'x=noise.' + suffix)
        expect('none.' + suffix, tcc, 'run', 'ok.onnx', '--input', 'x=none.' + suffix)
    for text, value in (("'x' is missing", None), ('none.npz', 'none.npz'), ('cut.npz', 'cut.npz'), ('noise.npz', 'noise.npz'),
                        ('other.npz|named like an input', 'other.npz'), ("no input 'q'", 'q=good.npz'), ('NAME=VALUE', 'x'),
                        ('f32[2,', 'x=f32[2,'), ('f99', 'x=f99[2,3]'), ('-2', 'x=f32[-2,3]'), ('.npy', 'x=image.jpg'),
                        ('99999999999999999999', 'x=f32[99999999999999999999,3]')):
        expect(text, tcc, 'run', 'ok.onnx', *(['--input', value] if value else []))
    for text, options in (
            ("unknown mode 'quick'|max-autotune", ['--mode=quick']), ("unknown target 'gpu'|there are cpu, cpu:NAME", ['--target=gpu']), ("target 'cuda' is for the GPU of this machine", ['--target=cuda']),
            ("unknown CPU 'foo'", ['--target=cpu:foo']), ("'f8'|bf16", ['--precision=f8']), ("'no'|strict", ['--numerics=no']),
            ("'abc'", ['--random=abc']), ('5..2', ['--dynamic', 'x=[a:5..2,3]']), ('2 axes', ['--dynamic', 'x=[a:2..9]']),
            ("no input 'q'", ['--dynamic', 'q=[a:2..9,3]']), ('axis 0', ['--dynamic', 'x=[a:5..9,3]']),
            ('at least 1', ['--recompile-limit=-3']), ('timeout', ['--compile-timeout=-3']), ('timeout', ['--compile-timeout=nan']),
            ('none.npz', ['--expect', 'none.npz']), ('folder.onnx|folder', ['--output', 'folder.onnx']),
            ('No such file', ['--output', 'none/out.npz']), ('device', ['--output', 'pipe'])):
        expect(text, tcc, 'run', 'ok.onnx', *([] if '--random' in options[0] else ['--random']), *options)
    expect('folder.onnx|folder', tcc, 'compile', 'ok.onnx', '-o', 'folder.onnx')
    expect('none/out.tcc', tcc, 'compile', 'ok.onnx', '-o', 'none/out.tcc')
    expect("'pipe'|device", tcc, 'compile', 'ok.onnx', '-o', 'pipe')
    expect("no command 'frob'|compile", tcc, 'frob')
    # Names that cannot even be looked up, and folders that are not there.
    long = 300 * 'y'
    expect('too long', tcc, 'run', 'ok.onnx', '--input', f'x={long}.npz')
    expect(f"no input '{long}'", tcc, 'run', 'ok.onnx', '--input', f'{long}=.npz')
    expect('too long', tcc, 'compile', 'ok.onnx', '-o', long)
    expect('too long', tcc, 'run', f'{long}.onnx')
    expect("root 'none'|no such folder", tcc, 'run', 'ok.onnx', '--random', '--external-data-root', 'none')
    expect('none/tcc-|No such file', tcc, 'run', 'ok.onnx', '--random', '--no-cache', variables={'TMPDIR': 'none'})
    expect('none/tcc-|No such file', tcc, 'bench', 'ok.onnx', '--random', variables={'TMPDIR': 'none'})
    for size in ('-5', '5XB', 'MB', '1.5G', '99999999T'):
        expect(f"--max-bytes|'{size}'|20GiB", tcc, 'cache', 'gc', '--max-bytes', size)
    expect("'tcc cache foo'|stats, ls, clear, verify, gc", tcc, 'cache', 'foo')
    expect('stats, ls, clear, verify, gc', tcc, 'cache')
    expect("'--inptu' of tcc run; did you mean --input?", tcc, 'run', 'ok.onnx', '--inptu', 'x')
    expect("'--inptu' of tcc run; did you mean --input?", tcc, 'run', '--inptu', 'x', 'ok.onnx')
    expect("--input 'x=image.npy'", tcc, 'run', 'ok.onnx', '--input', 'image.npy')
    expect('TCC_CACHE_MAX_BYTES is ignored', tcc, 'cache', 'stats', code=0, variables={'TCC_CACHE_MAX_BYTES': 'much'})
    # The model itself is no place for an output.
    os.symlink('ok.onnx', 'same.onnx')
    expect("'same.onnx' is the model", tcc, 'compile', 'ok.onnx', '-o', 'same.onnx')
    expect("'./ok.onnx' is the model", tcc, 'run', 'ok.onnx', '--random', '--output', './ok.onnx')
    save('indices.onnx', [node('Gather', ('x', 'i'))], inputs=(X, info('i', [2], TensorProto.INT64)))
    expect("inputs 'x', 'i' are missing|--input 'x=FILE' --input 'i=FILE'", tcc, 'run', 'indices.onnx')
    save('open.onnx', [node('Add', ('x', 'z'))], inputs=(info('x', ['n', 3]), info('z', ['n', 3])))
    expect("--input 'x=f32[n,3]' --input 'z=f32[n,3]'", tcc, 'compile', 'open.onnx')
    huge = f'f32[{1 << 44},3]'
    expect('memory', tcc, 'run', 'open.onnx', '--random', '--input', f'x={huge}', '--input', f'z={huge}', code=1)
    for index in ([0, 5], [-9, 0], [np.iinfo(np.int64).min, 0]):
        np.savez('indices.npz', x=np.ones((2, 3), np.float32), i=np.array(index))
        expect("'n' (Gather)|out of range", tcc, 'run', 'indices.onnx', '--input', 'indices.npz')


def packages(tcc):
    """What a package cannot do is said of the package, and options that do nothing for it are refused."""
    expect('package', tcc, 'compile', 'ok.onnx', '-o', 'ok.tcc', code=0)
    for option, value in (('--mode', 'max-autotune'), ('--target', 'cpu:x86-64-v3'), ('--precision', 'bf16'), ('--numerics', 'strict'),
                          ('--dynamic', 'x=[n:1..9,3]')):
        expect(f'ok.tcc: a package is compiled already: {option} has no effect', tcc, 'run', 'ok.tcc', '--random', option, value)
    expect('--mode, --precision, --fullgraph have no effect', tcc, 'run', 'ok.tcc', '--random', '--mode=max-autotune', '--precision=bf16', '--fullgraph')
    expect('the package was compiled for 3 at axis 1|--dynamic', tcc, 'run', 'ok.tcc', '--input', 'extent.npz')
    save('range.onnx', [node('Relu')], inputs=(info('x', ['n', 3]),))
    expect('package', tcc, 'compile', 'range.onnx', '-o', 'range.tcc', '--dynamic', 'x=[batch:4..64,3]', code=0)
    expect('y: f32[4,3]', tcc, 'run', 'range.tcc', '--random', code=0)
    expect('y: f32[8,3]', tcc, 'run', 'range.tcc', '--random', '--input', 'x=f32[8,3]', code=0)
    expect('kernels', tcc, 'explain', 'range.tcc', '--random', code=0)
    # No one package serves what is asked for.
    save('ranks.onnx', [node('Expand', ('x', 's'))], inputs=(info('x', [1]), info('s', ['k'], TensorProto.INT64)), outputs=(helper.make_tensor_value_info('y', FLOAT, None),))
    for cache in ([], ['--no-cache'], []):
        expect("no package can serve what --dynamic asks for|'n' (Expand)", tcc, 'compile', 'ranks.onnx', '-o', 'ranks.tcc', '--dynamic', 's=[k:1..4]', *cache)
        expect('', 'test', '!', '-e', 'ranks.tcc', code=0)
    expect('"warnings":["extents marked dynamic are numbers', tcc, 'compile', 'ranks.onnx', '--dynamic', 's=[k:1..4]', '--json', code=0)
    expect('package', tcc, 'compile', 'ranks.onnx', '-o', 'ranks.tcc', '--input', 's=i64[2]', code=0)
    # Ops are checked without extents.
    save('open_bad.onnx', [node('Foo', name='one', domain='my')], inputs=(info('x', ['n', 3]),), domains=['my'])
    save('open_good.onnx', [node('Relu')], inputs=(info('x', ['n', 3]),))
    for phase in ('load', 'import'):
        expect("'one' (Foo)|my.Foo", tcc, 'compile', 'open_bad.onnx', '--to-phase', phase)
        expect('import', tcc, 'compile', 'open_good.onnx', '--to-phase', phase, code=0)


def machines(tcc):
    """With --json errors are JSON, on stdout and nothing else there; what is wrong with the command line too."""
    global failures
    for text, code, command in (
            ('no such file', 'NOT_FOUND', ['run', 'none.onnx']), ('is a folder', None, ['compile', 'folder.onnx']),
            ("'x' is missing", 'INVALID_ARGUMENT', ['run', 'ok.onnx']), ('--frob', 'INVALID_ARGUMENT', ['run', 'ok.onnx', '--frob']),
            ("no command 'frob'", 'INVALID_ARGUMENT', ['frob']), ('MODEL', 'INVALID_ARGUMENT', ['bench']),
            ('unknown mode', 'INVALID_ARGUMENT', ['explain', 'ok.onnx', '--random', '--mode=quick']),
            ('none', None, ['test', 'none']), ('none.onnx', 'NOT_FOUND', ['verify', 'none.onnx'])):
        done = run(tcc, *command, '--json')
        try:
            error = json.loads(done.stdout)['error']
            right = text in error['message'] and error['exit_code'] == 2 == done.returncode and code in (None, error['code'])
        except (ValueError, KeyError, TypeError):
            right = False
        if not right or done.stderr:
            failures += 1
            print(f'FAILED: {command} --json: exit code {done.returncode}: {done.stdout[:600]} {done.stderr[:600]}')
    expect('"error": {"code"', tcc, '--help', code=0)


def fine(tcc):
    """What only looks wrong: it must run."""
    expect('f32[2,3]', tcc, 'run', 'ok.onnx', '--random', code=0)
    expect('f32[2,3]', tcc, 'run', '--random', 'ok.onnx', code=0)
    expect('f32[2,3]', tcc, 'run', '--random', '7', 'ok.onnx', code=0)
    for text, bytes_ in (('3', 3), ('5MB', 5000000), ('5M', 5000000), ('1GiB', 1 << 30), ('2Ki', 2048)):
        expect(f'"max_bytes":{bytes_}', tcc, 'cache', 'stats', '--json', code=0, variables={'TCC_CACHE_MAX_BYTES': text})
    expect('', tcc, 'cache', 'gc', '--max-bytes', '20GiB', code=0)
    save('no_shape.onnx', [node('Relu')], outputs=(helper.make_tensor_value_info('y', FLOAT, None),))
    expect('f32[2,3]', tcc, 'run', 'no_shape.onnx', '--random', code=0)
    save('no_rank.onnx', [node('Relu')], inputs=(helper.make_tensor_value_info('x', FLOAT, None),))
    expect('f32[2,3]', tcc, 'run', 'no_rank.onnx', '--input', 'good.npz', code=0)
    save('nothing.onnx', [], outputs=(X,))
    expect('f32[2,3]', tcc, 'run', 'nothing.onnx', '--random', code=0)
    integer = info('a', [3], TensorProto.INT32), info('b', [3], TensorProto.INT32)
    for op in ('Div', 'Mod'):
        # What these give is not defined, but they must not end the process.
        save('zero.onnx', [node(op, ('a', 'b'))], inputs=integer, outputs=(info('y', [3], TensorProto.INT32),))
        np.savez('zero.npz', a=np.array([1, 2, -2 ** 31], np.int32), b=np.array([0, 1, -1], np.int32))
        expect('i32[3]', tcc, 'run', 'zero.onnx', '--input', 'zero.npz', code=0)
    save('dynamic.onnx', [node('Relu')], inputs=(info('x', ['n', 3]),))
    expect('kernels', tcc, 'compile', 'dynamic.onnx', '--dynamic', 'x=[n:1..9,3]', code=0)


def main():
    tcc = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.environ['TCC_CACHE_DIR'] = os.path.join(folder, 'cache')
        os.mkdir(os.path.join(folder, 'models'))
        os.chdir(os.path.join(folder, 'models'))
        with open('../up.bin', 'wb') as file:
            file.write(bytes(24))
        os.mkfifo('pipe')
        for part in (files, graphs, tensors, calls, packages, machines, fine):
            part(tcc)
        os.chdir('/')
    print(f'{failures} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
