#!/usr/bin/env python3
"""Cache entries that are damaged, cut off, left half written or of another version: rebuilt, right, and reported once.
Folders that cannot be used, or that are full: a warning. Many processes at once: one compile.

usage: damaged_cache.py TCC ZOO_DIR
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

import harness
from harness import Model, check, small


def rebuilt(model, what):
    """The next call is right and says what it found, the one after it hits and is silent."""
    code, out = model.run()
    reports = [line for line in out.splitlines() if 'warning' in line]
    check(code == 0 and 'as expected' in out, f'{what}: exit code {code}: {out[:500]}')
    check(': miss ' in out, f'{what}: the entry was used: {out[:500]}')
    check(len(reports) == 1, f'{what}: reported {len(reports)} times: {out[:500]}')
    code, out = model.run()
    check(code == 0 and ': hit ' in out and 'warning' not in out, f'{what}: then: {out[:500]}')


def ranges(path):
    """Where the parts of a package lie that are checked when it is opened."""
    with zipfile.ZipFile(path) as archive, open(path, 'rb') as file:
        for entry in archive.infolist():
            file.seek(entry.header_offset + 26)
            name, extra = np.frombuffer(file.read(4), '<u2')
            yield entry.filename, entry.header_offset + 30 + int(name) + int(extra), entry.file_size


def damage(model):
    path = model.package()
    with open(path, 'rb') as file:
        good = file.read()
    rng = np.random.default_rng(3)
    for name, start, size in ranges(path):
        if size == 0 or 'constant' in name or name.startswith('dumps'):
            continue
        for position in {start, start + size - 1, start + int(rng.integers(size))}:
            data = bytearray(good)
            data[position] ^= 1 << int(rng.integers(8))
            with open(path, 'wb') as file:
                file.write(data)
            rebuilt(model, f'bit flipped at {position} ({name})')
    for size in (0, 1, len(good) // 2, len(good) - 1):
        with open(path, 'wb') as file:
            file.write(good[:size])
        rebuilt(model, f'cut to {size} bytes')
    for text, data in (('garbage', rng.bytes(5000)), ('text', b'hello\n')):
        with open(path, 'wb') as file:
            file.write(data)
        rebuilt(model, text)
    # Half-written files of a writer that died are no entries.
    with open(os.path.join(os.path.dirname(path), '.tmp-1-1-36'), 'wb') as file:
        file.write(good[:100])
    code, out = model.run()
    check(code == 0 and ': hit ' in out, f'beside a temporary file: {out[:500]}')
    os.unlink(path)
    os.mkdir(path)
    code, out = model.run()
    check(code == 0 and 'as expected' in out, f'a folder in the place of an entry: {out[:500]}')
    if os.path.isdir(path):
        os.rmdir(path)
    model.run()


def other_version(model):
    """A newer format with right checksums, as another tcc would leave it."""
    path = model.package()
    with zipfile.ZipFile(path) as archive:
        entries = [(e.filename, archive.read(e)) for e in archive.infolist()]
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            if name == 'manifest.json':
                manifest = json.loads(data)
                manifest['format'] = [9, 0] if isinstance(manifest['format'], list) else {'major': 9, 'minor': 0}
                data = json.dumps(manifest)
            archive.writestr(name, data)
    rebuilt(model, 'another format')


def upgraded(model, tcc, scratch):
    """After an upgrade (another worker: it holds the compiler) old entries are misses, not errors, and going back finds them again."""
    worker = os.path.join(scratch, 'tcc-worker')
    shutil.copy(os.path.join(os.path.dirname(tcc), 'tcc-worker'), worker)
    with open(worker, 'ab') as file:
        file.write(b'another build')
    for wanted in (': miss ', ': hit '):
        out = model.right('upgraded', variables={'TCC_WORKER': worker})
        check(wanted in out and 'warning' not in out, f'upgraded: not{wanted}without a warning: {out[:500]}')
    out = model.right('back')
    check(': hit ' in out and 'warning' not in out, f'back from an upgrade: {out[:500]}')


def warns(model, what, **keywords):
    """Each call is right, and warns once."""
    for _ in range(2):
        out = model.right(what, **keywords)
        check(out.count('warning') == 1, f'{what}: {out.count("warning")} warnings: {out[:500]}')


def unusable(tcc, scratch, name):
    def folder(what, cache):
        warns(Model(tcc, scratch, cache, name), what)
    plain = os.path.join(scratch, 'plain')
    with open(plain, 'w'):
        pass
    folder('a file', plain)
    folder('below a file', os.path.join(plain, 'cache'))
    if os.geteuid() == 0:
        other = os.path.join(scratch, 'other')
        os.mkdir(other)
        os.chown(other, 12345, 12345)
        folder("another user's", other)
    folder('not creatable', '/proc/none/cache')


def read_only(tcc, scratch, name):
    """What is in it is used, what is not is compiled, and nothing is kept. Root may write everywhere: then as nobody."""
    model = Model(tcc, scratch, os.path.join(scratch, 'read_only'), name)
    user = {'user': 65534} if os.geteuid() == 0 else {}
    try:
        if user:
            os.chmod(scratch, 0o755)
        subprocess.run([tcc, '--version'], check=True, capture_output=True, **user)
    except (OSError, subprocess.SubprocessError) as error:
        print(f'SKIPPED: a read-only folder: {error}')
        return
    os.mkdir(model.cache)
    model.right('before it is read-only')
    for folder, _, names in os.walk(model.cache):
        for entry in [folder] + [os.path.join(folder, n) for n in names]:
            if user:
                os.chown(entry, 65534, 65534)
            os.chmod(entry, 0o500 if os.path.isdir(entry) else 0o400)
    code, out = model.run(**user)
    check(code == 0 and ': hit ' in out, f'read-only, with an entry: exit code {code}: {out[:500]}')
    files = sum(len(names) for _, _, names in os.walk(model.cache))
    model.command.append('--numerics=strict')
    out = model.right('read-only, without an entry', **user)
    check(': miss ' in out and out.count('warning') == 1, f'read-only, without an entry: {out[:500]}')
    check(files == sum(len(names) for _, _, names in os.walk(model.cache)), 'read-only: something was written')
    for folder, _, _ in os.walk(model.cache):
        os.chmod(folder, 0o700)


def full_disk(tcc, scratch, name):
    """From no space at all to too little for what is written last."""
    model = Model(tcc, scratch, os.path.join(scratch, 'full'), name)
    os.mkdir(model.cache)
    mount = shutil.which('unshare') and ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs -o size=$0k,nr_inodes=$1 none "$2" && shift 2 && exec "$@"']
    if not mount or subprocess.run([*mount, '64', '9', model.cache, 'true'], capture_output=True).returncode != 0:
        print('SKIPPED: a full disk: needs the right to mount a tmpfs')
        return
    for kilobytes, inodes in ((4, 100), (12, 100), (20, 100), (1000, 2), (1000, 5), (1000, 9)):
        out = model.right(f'{kilobytes} kB, {inodes} files', prefix=[*mount, str(kilobytes), str(inodes), model.cache])
        check(out.count('warning') <= 1, f'{kilobytes} kB, {inodes} files: {out[:500]}')


def together(model):
    processes = [model.start() for _ in range(8)]
    outs = [p.communicate(timeout=600)[0] for p in processes]
    check(all(p.returncode == 0 for p in processes), f'eight at once: {[p.returncode for p in processes]} {outs}')
    misses = sum(': miss ' in out for out in outs)
    check(misses == 1, f'eight at once compiled {misses} times')


def main():
    tcc, zoo = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        name = small(scratch)
        model = Model(tcc, scratch, os.path.join(scratch, 'cache'), name)
        check(': miss ' in model.right('first'), 'first: a hit')
        damage(model)
        other_version(model)
        upgraded(model, tcc, scratch)
        unusable(tcc, scratch, name)
        read_only(tcc, scratch, name)
        full_disk(tcc, scratch, name)
        together(Model(tcc, zoo, os.path.join(scratch, 'together'), 'mobilenet'))
    print(f'{harness.failures} failures')
    return 1 if harness.failures else 0


if __name__ == '__main__':
    sys.exit(main())
