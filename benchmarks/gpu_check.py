#!/usr/bin/env python3
"""tcc on a GPU beside PyTorch: what benchmarks/gpu_check.sh runs.

usage: gpu_check.py --tree TREE --out DIR [--minutes 8] [--models a,b] [--batches 1,4,16] [--precision model|f16|bf16] [--dry-run]
TREE holds bin/tcc and, where they are not the machine's own, lib/. Writes DIR/gpu_check.md and .json as it goes: what there was no time
for is in them as such. Exit code 1 where a result is wrong or a step of tcc's failed; what PyTorch cannot do is a line.
Times: medians of a call with inputs and outputs in host memory ("host"), as `tcc bench` measures; for PyTorch also with inputs on the device
and outputs left there ("device"). float32 without TF32, on both sides, unless --precision says otherwise.
"""
import argparse, concurrent.futures, glob, json, os, re, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MODES = ("default", "reduce-overhead", "max-autotune")
DEFAULT_MODELS = "resnet50,vit,bert"


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tree", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--minutes", type=float, default=8)
    p.add_argument("--models", default=DEFAULT_MODELS)
    p.add_argument("--batches", default="1,4,16")
    p.add_argument("--precision", default="model", choices=("model", "f16", "bf16"))
    p.add_argument("--dry-run", action="store_true")
    p.add_argument("--peer", help=argparse.SUPPRESS)  # this process times PyTorch on one model, and prints lines of JSON
    p.add_argument("--references", help=argparse.SUPPRESS)
    return p.parse_args()


A = arguments()
START = time.monotonic()


def left():
    return A.minutes * 60 - (time.monotonic() - START)


# --- PyTorch, in a process of its own ---


def median_ms(call, seconds):
    for _ in range(3):
        call()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 5:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def peer(name, batches):
    import numpy as np
    import torch
    sys.path.insert(0, HERE)
    import zoo
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device = "cpu" if A.dry_run else "cuda"
    dtype = {"model": None, "f16": torch.float16, "bf16": torch.bfloat16}[A.precision]
    seconds = 0.1 if A.dry_run else 1.5

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    cast = lambda x: x.to(dtype) if dtype is not None and x.is_floating_point() else x
    with torch.inference_mode():
        for mode in ("eager",) + (() if A.dry_run else MODES):
            for batch in batches:
                row = {"model": name, "batch": batch, "side": "PyTorch", "mode": mode}
                try:
                    module, inputs = zoo.build(name, A.dry_run, batch)
                    module = module.to(device)
                    module = module.to(dtype) if dtype is not None else module
                    run = module if mode == "eager" else torch.compile(module, mode=mode, dynamic=False)
                    there = [cast(x.to(device)) for x in inputs]

                    def on_device():
                        run(*there)
                        wait()

                    def on_host():
                        return [y.float().cpu().numpy() if y.is_floating_point() else y.cpu().numpy() for y in run(*[cast(x.to(device)) for x in inputs])]

                    got = on_host()
                    path = os.path.join(A.references or "", f"{name}.{batch}", f"{name}.npz")
                    if os.path.exists(path):
                        data = np.load(path)
                        row["error"] = max(float(np.abs(y - data[f"o{k}"]).max() / np.abs(data[f"o{k}"]).max()) for k, y in enumerate(got))
                    row["device_ms"], row["host_ms"] = median_ms(on_device, seconds), median_ms(on_host, seconds)
                except Exception as error:  # whatever PyTorch says: a line of the table
                    row["failed"] = f"{type(error).__name__}: {str(error)[:200]}"
                print(json.dumps(row), flush=True)
                torch._dynamo.reset()


# --- tcc ---


class Check:
    def __init__(self):
        self.rows, self.facts, self.failures = [], [], []
        self.scratch = tempfile.TemporaryDirectory()
        libraries = os.path.join(A.tree, "lib")
        self.env = dict(os.environ)
        # (A build folder's lib holds tcc's own libraries.)
        if glob.glob(os.path.join(libraries, "libstdc++*")):
            self.env["LD_LIBRARY_PATH"] = ":".join(filter(None, [libraries, self.env.get("LD_LIBRARY_PATH")]))
        self.env.setdefault("TCC_CACHE_DIR", os.path.join(self.scratch.name, "cache"))
        self.tcc = os.path.join(A.tree, "bin", "tcc")
        self.target = "cuda-sim" if A.dry_run else "cuda"

    def fact(self, what, value, good=True):
        self.facts.append((what, value))
        if not good:
            self.failures.append(f"{what}: {value}")
        print(f"[{time.monotonic() - START:5.0f} s] {what}: {value}", flush=True)
        self.write()

    def run(self, *command, limit=120, **env):
        try:
            return subprocess.run(command, env=dict(self.env, **env), capture_output=True, text=True, timeout=max(1, min(limit, left())))
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", "no time left")
        except OSError as error:
            return subprocess.CompletedProcess(command, 127, "", str(error))

    def json(self, *command, limit=120):
        done = self.run(self.tcc, *command, "--json", limit=limit)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {"error": {"message": done.stderr.strip()[-300:] or f"exit code {done.returncode}"}}

    def machine(self):
        answer = self.json("devices")
        found = [d for d in answer.get("devices", []) if d["device"].split(":")[0] == self.target and "error" not in d]
        self.fact("device", ", ".join(f"{d['device']} {d.get('name', '')} {d.get('arch', '')}" for d in found) or f"none: {answer}", bool(found))
        return bool(found)

    def device_suites(self):
        """What every device promises, and the device library (tests/devices, tests/cuda_device)."""
        for name, tests in (("devices_test", "*/DeviceTest.*/null" if A.dry_run else "*/DeviceTest.*/cuda"), ("cuda_device_test", "Gpu/*")):
            suite = os.path.join(A.tree, "bin", name)
            if not os.path.exists(suite):
                suite = next(iter(glob.glob(os.path.join(A.tree, "tests", "**", name), recursive=True)), None)
            if suite is None:
                self.fact(name, "not in the tree", A.dry_run)
                continue
            done = self.run(suite, f"--gtest_filter={tests}", TCC_TEST_SOURCES=f"{ROOT}/tests", **({"TCC_DEVICE": "cuda-sim"} if A.dry_run and name == "cuda_device_test" else {}))
            counts = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
            skipped = re.search(r"\[  SKIPPED \] (\d+) test", done.stdout)
            self.fact(name, f"{counts[1] if counts else 0} passed, {skipped[1] if skipped else 0} skipped" if done.returncode == 0 else (done.stdout + done.stderr)[-600:],
                      done.returncode == 0 and counts is not None and int(counts[1]) > 0)

    def small_models(self):
        """Against PyTorch's float32 outputs, with the bounds of tests/zoo."""
        text = open(f"{ROOT}/tests/zoo/CMakeLists.txt").read()
        words = re.search(r"set\(f16_error\s+(.*?)\)", text, re.S)[1].split()
        cases = []
        for name, error in zip(words[::2], words[1::2]):
            for precision, bound in (("model", 2e-5), ("f16", 2e-6 * int(error)), ("bf16", 20e-6 * int(error))):
                cases.append((name, precision, bound))
        if A.dry_run:
            cases = [c for c in cases if c[0] in A.models.split(",") and c[1] == "model"]

        def one(case):
            name, precision, bound = case
            base = f"{ROOT}/tests/zoo/{name}"
            answer = self.json("run", f"{base}.onnx", f"--target={self.target}", "--no-fallback", f"--precision={precision}", "--input", f"{base}.npz",
                               "--expect", f"{base}.npz", "--max-error", "1e30")
            return case, answer.get("max_error"), answer.get("error", {}).get("message", "")

        good, worst = 0, 0.0
        with concurrent.futures.ThreadPoolExecutor(2 if A.dry_run else 6) as pool:
            for (name, precision, bound), error, message in pool.map(one, cases):
                right = error is not None and error <= bound
                good += right
                worst = max(worst, (error or 0) / bound)
                if not right:
                    self.fact(f"{name} {precision}", f"error {error:.1e}, at most {bound:.1e} allowed" if error is not None else message[:300], False)
        self.fact("small models against PyTorch", f"{good} of {len(cases)} right, the worst at {worst:.2f} of its bound", good == len(cases))

    def make_models(self, names, batches):
        """In the background: {(name, batch): future of the model's path without extension}."""
        pool = concurrent.futures.ThreadPoolExecutor(6)

        def make(name, batch):
            if A.dry_run:
                return f"{ROOT}/tests/zoo/{name}"
            target = os.path.join(self.scratch.name, f"{name}.{batch}")
            environment = dict(os.environ, OMP_NUM_THREADS="4", CUDA_VISIBLE_DEVICES="")
            done = subprocess.run([sys.executable, os.path.join(HERE, "zoo.py"), "--batch", str(batch), "--no-torchscript", "--out", target, name],
                                  env=environment, capture_output=True, text=True, timeout=max(1, left()))
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip()[-300:])
            return os.path.join(target, name)

        return {(name, batch): pool.submit(make, name, batch) for batch in batches for name in names}

    def time_tcc(self, name, batch, base):
        precision = f"--precision={A.precision}"
        for mode in MODES[:2] if A.dry_run else MODES:
            row = {"model": name, "batch": batch, "side": "tcc", "mode": mode}
            self.rows.append(row)
            if left() < 5:
                row["failed"] = "no time left"
                continue
            common = (base + ".onnx", f"--target={self.target}", f"--mode={mode}", precision, "--input", base + ".npz")
            begin = time.monotonic()
            answer = self.json("run", *common, "--expect", base + ".npz", "--max-error", "1e30")
            row["first_s"] = time.monotonic() - begin
            if "max_error" not in answer:
                row["failed"] = answer.get("error", {}).get("message", "?")[:200]
                self.failures.append(f"{name}, batch {batch}, {mode}: {row['failed']}")
                continue
            row["error"] = answer["max_error"]
            bound = {"model": 1e-4, "f16": 2e-2, "bf16": 1e-1}[A.precision]
            if row["error"] is None or row["error"] > bound:
                self.failures.append(f"{name}, batch {batch}, {mode}: error {row['error']}, at most {bound} allowed")
            length = ("--iterations", "2", "--warmup", "0") if A.dry_run else ("--warmup", "300", "--duration", "1500")
            row["host_ms"] = self.json("bench", *common, "--skip-cold", *length).get("median_ms")
            self.write()

    def time_pytorch(self, names, batches):
        """One process for each model; what is measured when time runs out stays."""
        try:
            import importlib.util
            if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
                raise ImportError
        except ImportError:
            return self.fact("PyTorch", "not here: torch and transformers are needed", A.dry_run)
        for i, name in enumerate(names):
            share = (left() - 10) / (len(names) - i)
            if share < 10:
                self.fact(f"PyTorch, {name}", "no time left")
                continue
            command = [sys.executable, os.path.abspath(__file__), "--tree", A.tree, "--out", A.out, "--batches", ",".join(map(str, batches)), "--precision", A.precision, "--peer", name, "--references", self.scratch.name]
            process = subprocess.Popen(command + (["--dry-run"] if A.dry_run else []), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            timer = threading.Timer(share, process.kill)
            timer.start()
            errors = []
            reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
            reader.start()
            for line in process.stdout:
                if line.startswith("{"):
                    self.rows.append(json.loads(line))
                    self.write()
            code = process.wait()
            timer.cancel()
            reader.join()
            self.fact(f"PyTorch, {name}", "measured" if code == 0 else f"ended early ({code}): {errors[0].strip()[-200:]}")

    # --- what comes out ---

    def write(self):
        number = lambda row, key, form: format(row[key], form) if row.get(key) is not None else ""
        lines = ["# tcc on a GPU", "", "| | |", "|---|---|"] + [f"| {what} | {str(value).replace(chr(10), ' ')} |" for what, value in self.facts]
        lines += ["", "| model | batch | | mode | host, ms | device, ms | error | first call, s |", "|---|---|---|---|---|---|---|---|"]
        for row in sorted(self.rows, key=lambda r: (r["model"], r["batch"], r["side"] != "tcc")):
            values = row.get("failed") or f"{number(row, 'host_ms', '.3f')} | {number(row, 'device_ms', '.3f')} | {number(row, 'error', '.1e')} | {number(row, 'first_s', '.1f')}"
            lines.append(f"| {row['model']} | {row['batch']} | {row['side']} | {row['mode']} | {values} |")
        lines += [""] + ([f"- {failure}" for failure in self.failures] or ["Nothing failed."])
        with open(os.path.join(A.out, "gpu_check.md"), "w") as file:
            file.write("\n".join(lines) + "\n")
        with open(os.path.join(A.out, "gpu_check.json"), "w") as file:
            json.dump({"facts": self.facts, "rows": self.rows, "failures": self.failures}, file, indent=1)

    def all(self):
        names = A.models.split(",")
        batches = [1] if A.dry_run else [int(b) for b in A.batches.split(",")]
        if not self.machine():
            return
        models = self.make_models(names, batches)
        self.device_suites()
        self.small_models()
        for (name, batch), future in models.items():
            try:
                base = future.result(timeout=max(1, left()))
            except Exception as error:
                self.fact(f"{name}, batch {batch}", f"could not be made: {type(error).__name__}: {str(error)[-300:]}", False)
                continue
            self.time_tcc(name, batch, base)
        self.time_pytorch(names, batches)


def main():
    if A.peer:
        return peer(A.peer, [int(b) for b in A.batches.split(",")])
    os.makedirs(A.out, exist_ok=True)
    check = Check()
    try:
        check.all()
    finally:
        check.write()
    print(open(os.path.join(A.out, "gpu_check.md")).read())
    sys.exit(1 if check.failures else 0)


main()
