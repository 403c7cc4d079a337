#!/usr/bin/env python3
"""Times one peer on one model: load, first call, median call; checks its outputs.

usage: peers/bench_peer.py ort|openvino|torch|torch-compile|torch-freezing MODEL_BASE [--threads 2] [--seconds 4] [--size full|tiny]
MODEL_BASE is what zoo.py wrote, without extension (BASE.onnx, BASE.pt, BASE.npz); --size as given to zoo.py, for torch-compile
and torch-freezing, which build the model again. One JSON line; exit code 1 where an output is off by 1e-2 of its scale.
Needs the peer: pip install onnxruntime / openvino / torch (and transformers).
"""
import argparse, json, os, resource, statistics, sys, time
import numpy as np

PEERS = ["ort", "openvino", "torch", "torch-compile", "torch-freezing"]
p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("peer", choices=PEERS)
p.add_argument("base")
p.add_argument("--threads", type=int, default=2)
p.add_argument("--seconds", type=float, default=4)
p.add_argument("--size", choices=["full", "tiny"], default="full")
a = p.parse_args()
data = np.load(a.base + ".npz")
inputs, expected = ([data[f"{kind}{k}"] for k in range(sum(n[0] == kind for n in data.files))] for kind in "io")
name = os.path.basename(a.base)
start = time.perf_counter()
if a.peer == "ort":
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads = a.threads
    session = ort.InferenceSession(a.base + ".onnx", o, providers=["CPUExecutionProvider"])
    feed = dict(zip([i.name for i in session.get_inputs()], inputs))
    call = lambda: session.run(None, feed)
elif a.peer == "openvino":
    import openvino as ov
    m = ov.Core().compile_model(a.base + ".onnx", "CPU", {"INFERENCE_NUM_THREADS": a.threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    request = m.create_infer_request()

    def call():
        r = request.infer(dict(enumerate(inputs)), share_inputs=True)
        return [r[k] for k in m.outputs]
else:
    import torch
    torch.set_num_threads(a.threads)
    if a.peer == "torch":
        m = torch.jit.load(a.base + ".pt")
    else:  # torch.compile needs the Python module
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
        import zoo
        m, _ = zoo.build(name, a.size == "tiny", len(inputs[name == "owlvit"]))
        if a.peer == "torch-freezing":
            import torch._inductor.config as config
            config.freezing = True
        m = torch.compile(m)
    tensors = [torch.from_numpy(x) for x in inputs]

    def call():
        with torch.no_grad():
            return m(*tensors)
load = time.perf_counter() - start
start = time.perf_counter()
out = call()
first = time.perf_counter() - start
out = out if isinstance(out, (list, tuple)) else [out]
if len(out) != len(expected):
    sys.exit(f"{len(out)} outputs, {len(expected)} expected")
error = float(np.max([np.abs(np.asarray(x) - y).max() / (np.abs(y).max() + 1e-30) for x, y in zip(out, expected)]))
times = []
end = time.perf_counter() + a.seconds
while time.perf_counter() < end or len(times) < 5:
    t = time.perf_counter()
    call()
    times.append(time.perf_counter() - t)
print(json.dumps({"peer": a.peer, "model": name, "load_s": round(load, 2), "first_s": round(first, 2), "median_ms": round(statistics.median(times) * 1e3, 3),
                  "relative_error": error, "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))
sys.exit(not error < 1e-2)
