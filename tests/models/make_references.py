#!/usr/bin/env python3
"""Writes NAME.npz for each published model: inputs i0.. made from real data (a source file, a rendered line of text, speech,
a chord) and ONNX Runtime's float32 outputs o0... The results are checked in; run this again only to change the inputs.

usage: make_references.py MODELS OUT      MODELS as scripts/models writes it
Needs: pip install onnxruntime numpy pillow; espeak-ng, fonts-dejavu-core.
"""
import io, json, os, subprocess, sys, wave
import numpy as np
import onnxruntime as ort
from PIL import Image, ImageDraw, ImageFont

models, out = sys.argv[1:3]
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


def text_line(text, width, height):
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).text((8, height // 6), text, fill="black", font=ImageFont.truetype(FONT, height * 5 // 9))
    pixels = np.asarray(image, np.float32) / 255
    return ((pixels - 0.5) / 0.5).transpose(2, 0, 1)[None]


def page(width, height):
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for k, line in enumerate(["Total 12.50", "Invoice 2024", "Thank you"]):
        draw.text((20, 14 + k * height // 4), line, fill="black", font=ImageFont.truetype(FONT, height // 7))
    return np.asarray(image, np.float32)


def speech(samples):
    data = subprocess.run(["espeak-ng", "--stdout", "hello, this is a test"], check=True, capture_output=True).stdout
    with wave.open(io.BytesIO(data)) as w:
        rate = w.getframerate()
        pcm = np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float32) / 32768
    pcm = np.interp(np.arange(0, len(pcm) * 16000 // rate) * rate / 16000, np.arange(len(pcm)), pcm).astype(np.float32)
    return pcm[4000:4000 + samples][None]


def magika(path):
    content = open(path, "rb").read()
    begin, end = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
    pad = [256]
    row = list(begin) + pad * (1024 - len(begin)) + pad * (1024 - len(end)) + list(end)
    return np.array([row], np.int32)


def run(name, path, feed):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    results = session.run(None, dict(zip(names, feed)))
    np.savez_compressed(os.path.join(out, name + ".npz"), **{f"i{k}": x for k, x in enumerate(feed)}, **{f"o{k}": x for k, x in enumerate(results)})
    print(name, [(x.shape, str(x.dtype)) for x in feed], [(x.shape, float(np.abs(x).max())) for x in results])


mean, std = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
run("magika", f"{models}/magika/model.onnx", [magika(os.path.join(os.path.dirname(__file__), "../../CMakeLists.txt"))])
run("rapidocr_rec", f"{models}/rapidocr/ch_PP-OCRv4_rec_infer.onnx", [text_line("Invoice 2024 Total 12.50", 320, 48)])
run("rapidocr_cls", f"{models}/rapidocr/ch_ppocr_mobile_v2.0_cls_infer.onnx", [text_line("Total 12.50", 192, 48)])
run("rapidocr_det", f"{models}/rapidocr/ch_PP-OCRv4_det_infer.onnx", [((page(320, 160) / 255 - mean) / std).transpose(2, 0, 1)[None].astype(np.float32)])
run("nudenet", f"{models}/nudenet/320n.onnx", [(page(320, 320) / 255).transpose(2, 0, 1)[None].astype(np.float32)])
t = np.arange(43844) / 22050
run("basic_pitch", f"{models}/basic-pitch/nmp.onnx", [(0.3 * np.sin(2 * np.pi * 440 * t) + 0.2 * np.sin(2 * np.pi * 659.3 * t)).astype(np.float32)[None, :, None]])
state, rate = np.zeros((2, 1, 128), np.float32), np.array(16000, np.int64)
window = np.concatenate([speech(64 + 512)], axis=1)
for name, feed in {"silero_vad": [window, state, rate], "silero_vad_16k_op15": [window, state, rate],
                   "silero_vad_op18_ifless": [window, rate, state], "silero_vad_half": [window, state]}.items():
    run(name, f"{models}/silero-vad/{name}.onnx", feed)
