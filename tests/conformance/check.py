#!/usr/bin/env python3
"""Runs ONNX backend test folders through `tcc test` and compares the outcome with the checked-in lists.

usage: check.py [--target=TARGET] [--on-device=PERCENT] TCC LISTS VARIANT SHARD/SHARDS DIR...     VARIANT: static, dynamic or constant-inputs; shards count from 0
LISTS is the folder of two lists. unsupported.txt has a line `NAME reason` (or `VARIANT:NAME reason`) for each test that is not supported
yet. A listed test that passes, an unlisted one that is skipped, and any FAIL (a wrong result or a crash, listed or not) is an error: what
is not supported must be SKIP, a clear refusal. The tests of random.txt are not run. Kernels for which no code can be generated fail, instead of
falling back to library kernels. --on-device: at least so many of the tests that pass do it without a library kernel on the host.
"""
import json, os, subprocess, sys


def read_list(path, variant):
    names = {}
    for line in open(path):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, reason = line.partition(" ")
        scope, colon, rest = name.partition(":")
        if colon and scope != variant:
            continue
        names[rest if colon else name] = reason
    return names


def results(text, is_json):
    """(outcome, name, reason, library kernels) of each test."""
    if is_json:
        tests = json.loads(text)["tests"] if text.startswith("{") else []
        return [(test["outcome"], test["name"], test["reason"], test["library_kernels"]) for test in tests]
    lines = [line.split(" ", 2) for line in text.splitlines()]
    return [(line[0], line[1], line[2] if len(line) > 2 else "", []) for line in lines if line[0] in ("PASS", "FAIL", "SKIP")]


def main():
    arguments = sys.argv[1:]
    target = [arguments.pop(0)] if arguments[0].startswith("--target=") else []
    on_device = float(arguments.pop(0).partition("=")[2]) if arguments[0].startswith("--on-device=") else None
    tcc, lists, variant, shard = arguments[:4]
    listed = read_list(os.path.join(lists, "unsupported.txt"), variant)
    random = os.path.join(lists, "random.txt")
    listed.update(read_list(random, variant))
    json_flag = [] if on_device is None else ["--json"]
    done = subprocess.run([tcc, "test", *json_flag, "--mode-variant", variant, "--shard", shard, "--threads", "1", "--no-fallback", "--skip-list", random] + target + arguments[4:],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    errors, counts = [], {"PASS": 0, "FAIL": 0, "SKIP": 0}
    wholly = 0
    for outcome, name, reason, kernels in results(done.stdout, on_device is not None):
        # (A reshape of what is on the host computes nothing.)
        wholly += outcome == "PASS" and all(kernel.rsplit("(", 1)[-1].rstrip(")") == "reshape" for kernel in kernels)
        counts[outcome] += 1
        if outcome == "FAIL":
            errors.append(f"failed: {name} {reason}")
        elif outcome == "SKIP" and name not in listed:
            errors.append(f"not supported any more: {name} {reason}")
        elif outcome == "PASS" and name in listed:
            errors.append(f"passes now, remove it from the list: {name}")
    if on_device is not None and wholly * 100 < on_device * counts["PASS"]:
        errors.append(f"{wholly} of {counts['PASS']} ran wholly on the device, fewer than {on_device:g} %")
    if sum(counts.values()) == 0 or done.returncode not in (0, 1):
        errors.append(f"tcc test ended with exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    print("\n".join(errors))
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped, {len(errors)} not as listed")
    sys.exit(1 if errors else 0)


main()
