#!/usr/bin/env python3
"""Every command's --json is one line of JSON whose keys are those that docs/command-line.md lists.

usage: json_keys.py TCC SOURCE_DIR MODEL     (MODEL: y = x + x of two open axes)
Needs: pip install numpy onnx
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

tcc, source, model = (os.path.abspath(path) for path in sys.argv[1:])
failures = 0


def documented():
    """Command -> keys of the whole row: of the object itself and of what is in it."""
    rows = {}
    for line in open(os.path.join(source, 'docs/command-line.md')):
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if len(cells) == 2 and cells[0].startswith('`'):
            for command in re.findall(r'`([^`]+)`', cells[0]):
                rows.setdefault(command, set()).update(re.findall(r'`([a-z0-9_]+)`', cells[1]))
    rows['cache gc'] = rows['cache verify'] = rows['cache clear']
    return rows


# Below these come names of other people: phases, options, kernels' own numbers.
OPEN = {'phase_ms', 'options', 'signature', 'emitted', 'emitted_files', 'autotune'}


def keys_of(value):
    if isinstance(value, list):
        return set().union(*[keys_of(item) for item in value]) if value else set()
    if not isinstance(value, dict):
        return set()
    keys = set(value)
    for key, inner in value.items():
        if key not in OPEN:
            keys |= keys_of(inner)
    return keys


def check(command, *arguments, code=0, required=()):
    global failures
    run = subprocess.run([tcc, *command.split(), *arguments, '--json'], capture_output=True, text=True)
    name = 'cache gc' if command.startswith('cache gc') else command
    try:
        value = json.loads(run.stdout)
        assert run.returncode == code, f'exit code {run.returncode}'
        assert run.stdout.count('\n') == 1, 'more than one line'
        # (What `error` holds, tests/robustness checks.)
        unknown = keys_of({key: inner for key, inner in value.items() if key != 'error'} if 'error' in value else value) - ROWS[name] - {'error'}
        assert not unknown, f'keys that are not documented: {sorted(unknown)}'
        missing = set(required) - keys_of(value)
        assert not missing, f'keys that are missing: {sorted(missing)}'
        return value
    except (ValueError, AssertionError, KeyError) as error:
        failures += 1
        print(f'FAILED: {command} {" ".join(arguments)}: {error!r}\n{run.stdout[:300]}\n{run.stderr[:300]}')
    return {}


ROWS = documented()
with tempfile.TemporaryDirectory() as scratch:
    os.environ['TCC_CACHE_DIR'] = os.path.join(scratch, 'cache')
    shape = ['--input', 'x=f32[4,3]']
    compiled = ['graphs', 'graph_breaks', 'kernels_generated', 'kernels_library', 'phase_ms', 'seconds', 'package', 'signature', 'cache', 'warnings']
    check('compile', model, *shape, required=compiled)
    assert check('compile', model, *shape, required=compiled).get('cache') == 'hit' or failures
    texts = check('compile', model, *shape, '--emit', 'kernels,plan', required=['emitted'])
    if texts and 'tcc.kernel' not in texts['emitted']['kernels']:
        failures += 1
        print('FAILED: the text of --emit is not in the JSON')
    check('compile', model, *shape, '--emit', 'asm', os.path.join(scratch, 'texts'), required=['emitted_files'])
    check('run', model, *shape, '--random', required=['outputs', 'cache_hit', 'warnings'])
    # --expect adds keys; where the outputs differ, beside the error.
    x = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    np.savez(os.path.join(scratch, 'right.npz'), x=x, y=x + x * 1.00001)
    np.savez(os.path.join(scratch, 'wrong.npz'), x=x, y=x)
    keys = ['outputs', 'cache_hit', 'warnings', 'compared', 'max_error']
    right, wrong = ([os.path.join(scratch, f'{name}.npz')] for name in ('right', 'wrong'))
    close = check('run', model, '--input', *right, '--expect', *right, required=keys)
    far = check('run', model, '--input', *wrong, '--expect', *wrong, required=keys + ['error'], code=1)
    if close and far and not (0 < close['max_error'] < 1e-4 and abs(far['max_error'] - 1) < 1e-4):
        failures += 1
        print(f'FAILED: the errors are {close["max_error"]}, {far["max_error"]}')
    # Extents have the names of their symbols, each its own.
    named = check('compile', model, '--dynamic', 'x=[rows:2..64,?]', required=compiled)['signature']
    symbols = [symbol['name'] for symbol in named['symbols']]
    if named['inputs'][0]['dims'] != symbols or symbols[0] != 'rows' or len(set(symbols)) != 2 or named['symbols'][1]['max'] is not None:
        failures += 1
        print(f'FAILED: the names of extents: {named}')
    bench = ['first_ms', 'min_ms', 'median_ms', 'mean_ms', 'p90_ms', 'p99_ms', 'calls_per_s', 'calls', 'peak_rss_mb']
    trace = os.path.join(scratch, 'trace.json')
    check('bench', model, *shape, '--random', '--iterations', '3', '--warmup', '0', '--profile', trace, required=bench + ['cold_ms'])
    events = json.load(open(trace))['traceEvents']
    if not events or not all(event['args']['sources'] for event in events):
        failures += 1
        print(f'FAILED: a kernel without sources in the trace: {events}')
    explained = check('explain', model, *shape, '--random', required=['graphs', 'guards', 'kernels', 'sources', 'schedule', 'flops', 'bytes',
                                                                  'library_time_share', 'graph_breaks', 'recompiles', 'ms'])
    if explained and len(explained['graphs'][0]['kernels']) != len(events):
        failures += 1
        print('FAILED: explain and the trace disagree on the number of kernels')
    check('explain', model, *shape, required=['graphs', 'kernels'])
    verified = ['agrees', 'max_error', 'where', 'reproducer']
    check('verify', model, *shape, required=verified)
    check('verify', model, *shape, '--max-error', '0.5', required=verified)
    # Rounding is no difference, except where nothing may differ.
    for precision in ('bf16', 'f16'):
        check('verify', model, '--input', *right, '--precision', precision, required=verified)
        check('run', model, '--input', *right, '--expect', *right, '--precision', precision, required=keys)
    # Estimates are of the call, whether its extents are numbers or symbols in the code.
    size = ['--input', 'x=f32[6,8]', '--random', '--no-cache']
    numbers = check('explain', model, *size)['graphs'][0]
    symbols = check('explain', model, *size, '--dynamic', 'x=[rows:1..64%2,columns:1..64]')['graphs'][0]
    if not 'rows >= 1' in ' '.join(symbols['guards']) or any(numbers[key] != symbols[key] for key in ('flops', 'bytes')) or numbers['bytes'] < 6 * 8 * 8:
        failures += 1
        print(f'FAILED: estimates of one call differ: {numbers}, {symbols}')
    # A folder as the ONNX backend tests have them, with one data set.
    case = os.path.join(scratch, 'tests', 'double')
    os.makedirs(os.path.join(case, 'test_data_set_0'))
    shutil.copy(model, os.path.join(case, 'model.onnx'))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for name, array in (('input_0', x), ('output_0', x + x)):
        with open(os.path.join(case, 'test_data_set_0', name + '.pb'), 'wb') as file:
            file.write(onnx.numpy_helper.from_array(array).SerializeToString())
    tested = ['tests', 'name', 'outcome', 'reason', 'library_kernels', 'passed', 'failed', 'skipped']
    result = check('test', os.path.join(scratch, 'tests'), required=tested)
    if result and [test['outcome'] for test in result['tests']] != ['PASS'] or (result.get('passed'), result.get('failed')) != (1, 0):
        failures += 1
        print(f'FAILED: one test passes: {result}')
    with open(os.path.join(case, 'test_data_set_0', 'output_0.pb'), 'wb') as file:
        file.write(onnx.numpy_helper.from_array(x).SerializeToString())
    result = check('test', os.path.join(scratch, 'tests'), required=tested, code=1)
    if result.get('failed') != 1:
        failures += 1
        print(f'FAILED: one test fails: {result}')
    for command in ('cache stats', 'cache ls', 'cache gc', 'cache verify', 'devices', 'cache clear'):
        check(command)
print(f'{failures} failures')
sys.exit(1 if failures else 0)
