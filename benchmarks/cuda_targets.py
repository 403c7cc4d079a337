"""The figures of the CUDA targets, for benchmarks/targets: what can be measured without a GPU. Names begin with "cuda.".

NVRTC has to be found (docs/cuda-kernels.md), and clang++ for the simulated device.
"""
import collections, glob, json, os, re, shutil, subprocess, sys, time, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ARCHS = ("sm_80", "sm_90a", "sm_100", "sm_120")
# Models of one encoder or decoder layer after another: launches from one attention to the next are those of a layer.
LAYERS = (("vit", 7), ("bert", 7), ("gemma", 9))


class CudaTargets:
    """`t` is benchmarks/targets itself: its options, models and ways to report."""

    def __init__(self, t):
        self.t = t

    def run(self):
        t = self.t
        self.launches()
        self.simulated_zoo()
        if t.ARGS.suites:
            self.node_tests()
        if any(self.fitting(name) for name in ("cuda.kernels", "cuda.package", "cuda.cold", "cuda.layer")):
            self.with_nvrtc()

    def with_nvrtc(self):
        t = self.t
        with t.Cache() as cache:
            model, reference = t.tiny("vit")
            if "nvidia-cuda-nvrtc" in cache.json("compile", model, "--input", reference, "--target=cuda:sm_80").get("error", {}).get("message", ""):
                return t.report("cuda.kernels, package, cold, layer", "no NVRTC", "", None)
        self.assembled()
        full = [n for n in t.TINY + ["minilm"] if t.ARGS.zoo and os.path.exists(t.full(n)[0])]
        self.packages("cuda.package.full", full, t.full)
        self.packages("cuda.package.published", [n for n in t.PUBLISHED if t.ARGS.models], t.published)
        for name in ("resnet50", "vit"):
            if name in full:
                self.cold(name)
        for name, limit in LAYERS:
            if name in full:
                self.layer(name, limit)
        if "resnet50" in full:
            self.bottleneck()

    def fitting(self, name):
        return self.t.wanted(name)

    # --- without models ---

    def launches(self):
        """What the executor costs for each launch, on a device that runs nothing."""
        if not self.fitting("cuda.launches"):
            return
        done = subprocess.run([os.path.join(os.path.dirname(self.t.TCC), "bench_launches")], capture_output=True, text=True)
        times = dict(re.findall(r"^  (.*?)\s+([\d.]+)$", done.stdout, re.M))
        for mode, limit in (("default", 1000), ("recorded, graphs", 100)):
            self.t.below(f"cuda.launches ({mode})", float(times[mode]) if mode in times else None, limit, " ns")

    def assembled(self):
        """Every kernel of the small models, for all generations: no warning, no spill."""
        for precision in ("model", "f16", "bf16"):
            for arch in ARCHS:
                name = f"cuda.kernels.{arch}" + ("" if precision == "model" else f".{precision}")
                if not self.fitting(name):
                    continue
                with self.t.Cache() as cache:
                    done = subprocess.run([sys.executable, f"{ROOT}/tests/cuda_zoo/compile_zoo.py", f"--precision={precision}", self.t.TCC, f"{ROOT}/tests/zoo", arch],
                                          env=cache.env, capture_output=True, text=True)
                lines = done.stdout.splitlines() or [done.stderr[-300:]]
                counts = re.search(r"(\d+) different.*, (\d+) faults", lines[0])
                self.t.report(name, f"{counts[1]} kernels, {counts[2]} faults" if counts else "failed", "0 faults", done.returncode == 0)
                print(*lines[1:], sep="\n", end="\n" if lines[1:] else "", file=sys.stderr)

    def simulated_zoo(self):
        """The bounds are those of tests/zoo, where they are explained."""
        text = open(f"{ROOT}/tests/zoo/CMakeLists.txt").read()
        words = re.search(r"set\(f16_error\s+(.*?)\)", text, re.S)[1].split()
        half = {name: int(error) * 1e-6 for name, error in zip(words[::2], words[1::2])}
        for name in self.t.TINY:
            for precision, bound in (("model", 2e-5), ("f16", 2 * half[name]), ("bf16", 20 * half[name])):
                figure = f"cuda.sim.zoo.{name}" + ("" if precision == "model" else f".{precision}")
                if not self.fitting(figure):
                    continue
                model, reference = self.t.tiny(name)
                with self.t.Cache() as cache:
                    error = cache.json("run", model, "--target=cuda-sim", "--no-fallback", f"--precision={precision}", "--input", reference,
                                       "--expect", reference, "--max-error", "1e30").get("max_error")
                self.t.report(figure, "failed" if error is None else f"{error:.1e}", f"<= {bound:.1e}", error is not None and error <= bound)

    # --- packages ---

    def package(self, cache, model, reference, *options):
        """(path, summary) of a package for sm_90a; path None: it does not compile."""
        path = os.path.join(cache.dir, "model.tcc")
        summary = cache.json("compile", model, "--input", reference, "--target=cuda:sm_90a", "--no-fallback", "-o", path, *options)
        return (path if "error" not in summary and os.path.exists(path) else None), summary

    def packages(self, group, names, find):
        """Cubins and their sources, of models that the CPU target runs."""
        for name in names:
            if not self.fitting(f"{group}.{name}"):
                continue
            with self.t.Cache() as cache:
                path, summary = self.package(cache, *find(name))
                if path is None:
                    print(summary.get("error", {}).get("message", "")[-1000:], file=sys.stderr)
                    self.t.report(f"{group}.{name}", "failed", "cubins, sources", False)
                    continue
                listed = zipfile.ZipFile(path).namelist()
            sources = {n[:-len(".cu")] for n in listed if n.startswith("code/") and n.endswith(".cu")}
            cubins = {n[:-len(".sm_90a.cubin")] for n in listed if n.endswith(".sm_90a.cubin")}
            self.t.report(f"{group}.{name}", f"{len(cubins)} cubins, {summary['kernels_library']} on host", "cubins, sources", bool(sources) and sources == cubins)

    def cold(self, name):
        """Wall time of a whole compile with an empty cache on two processors; then a process that finds the model, and one that finds its kernels."""
        if not self.fitting(f"cuda.cold.{name}"):
            return
        model, reference = self.t.full(name)
        allowed = os.sched_getaffinity(0)
        with self.t.Cache() as cache:
            os.sched_setaffinity(0, sorted(allowed)[:2])
            start = time.perf_counter()
            path, _ = self.package(cache, model, reference)
            seconds = time.perf_counter() - start
            os.sched_setaffinity(0, allowed)
            self.t.below(f"cuda.cold.{name}", None if path is None else seconds, 20, " s")
            for figure, forget in (("model", False), ("kernels", True)):
                if forget:
                    shutil.rmtree(os.path.join(cache.dir, "v1", "packages"), ignore_errors=True)
                done = cache.run("compile", model, "--input", reference, "--target=cuda:sm_90a", "--json", LD_DEBUG="files")
                loaded = sorted(set(re.findall(r"lib(?:nvrtc|LLVM|MLIR)[^ ;:\[]*", done.stderr)))
                if forget:  # the model is compiled, its kernels are not
                    loaded = [library for library in loaded if "nvrtc" in library]
                ok = done.returncode == 0 and "libc.so" in done.stderr and not loaded
                self.t.report(f"cuda.cold.{name} (second process, {figure} cached)", ",".join(loaded) or "none loaded", "no NVRTC", ok)

    # --- launches of a model ---

    def explain(self, name):
        """Kernels in the order of the plan, as `tcc explain` lists them: those that are launched, and library kernels."""
        with self.t.Cache() as cache:
            path, _ = self.package(cache, *self.t.full(name))
            return cache.json("explain", path)["graphs"][0]["kernels"] if path else []

    def between(self, kernels, marks):
        """Launches from each marked kernel to the next one."""
        marked = [i for i, kernel in enumerate(kernels) if marks(kernel)]
        count = lambda kernel: max(1, kernel["launches"])  # a library kernel is one
        return [sum(count(k) for k in kernels[a:b]) for a, b in zip(marked, marked[1:])]

    def layer(self, name, limit):
        figure = f"cuda.layer.{name}"
        if not self.fitting(figure):
            return
        counts = self.between(self.explain(name), lambda kernel: "attention" in kernel["schedule"] or "attention" in kernel["name"])
        self.t.report(figure, f"{max(counts)} launches" if counts else "no attention found", f"<= {limit}", bool(counts) and max(counts) <= limit)

    def bottleneck(self):
        """ResNet-50: from each 3x3 convolution to that of the next bottleneck, the projections of shortcuts included."""
        if not self.fitting("cuda.layer.resnet50"):
            return
        import onnx
        graph = onnx.load(self.t.full("resnet50")[0], load_external_data=False).graph
        square = {n.name for n in graph.node if n.op_type == "Conv" for a in n.attribute if a.name == "kernel_shape" and list(a.ints) == [3, 3]}
        counts = self.between(self.explain("resnet50"), lambda kernel: any(name in square for source in kernel["sources"] for name in re.findall(r"'([^']*)'", source)))
        self.t.report("cuda.layer.resnet50", f"{max(counts)} launches" if counts else "no 3x3 found", "<= 4", bool(counts) and max(counts) <= 4)

    # --- ONNX's own tests ---

    def node_tests(self):
        """Those the CPU target passes: how many pass on the simulated device with every op in a kernel of the device. Others are listed."""
        if not self.fitting("cuda.sim.onnx"):
            return
        results = {}
        for target in ("cpu", "cuda-sim"):
            with self.t.Cache() as cache:
                answer = cache.json("test", f"--target={target}", "--no-fallback", "--threads", "2", "--skip-list", f"{ROOT}/tests/conformance/random.txt",
                                    os.path.join(self.t.ARGS.suites, "node") if os.path.isdir(os.path.join(self.t.ARGS.suites, "node")) else self.t.ARGS.suites)
            results[target] = {test["name"]: test for test in answer.get("tests", [])}
        passed = {name for name, test in results["cpu"].items() if test["outcome"] == "PASS"}
        sim = {name: results["cuda-sim"].get(name, {"outcome": "FAIL", "reason": "not run", "library_kernels": []}) for name in passed}
        right = [name for name, test in sim.items() if test["outcome"] == "PASS"]
        # ("node 'x' (Flatten) (reshape)": the model's node and tcc's op. A reshape of what is on the host computes nothing.)
        library = {name: {kernel.rsplit("(", 1)[-1].rstrip(")") for kernel in sim[name]["library_kernels"]} - {"reshape"} for name in right}
        on_device = [name for name in right if not library[name]]
        reasons = collections.defaultdict(list)
        for name in sorted(passed - set(on_device)):
            kernels = library.get(name)
            reasons[f"library kernels on the host: {', '.join(sorted(kernels))}" if kernels else f"{sim[name]['outcome']} {sim[name]['reason'][:150]}"].append(name)
        for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
            print(f"  {len(names):4} {reason}: {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}", file=sys.stderr)
        share = len(on_device) / len(passed) if passed else 0
        self.t.report("cuda.sim.onnx (right)", f"{len(right)} of {len(passed)}", "all", bool(passed) and len(right) == len(passed))
        self.t.report("cuda.sim.onnx (all on the device)", f"{share * 100:.1f} %", ">= 95 %", share >= 0.95)
