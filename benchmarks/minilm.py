#!/usr/bin/env python3
"""Exports the sentence-embedding model all-MiniLM-L6-v2, real weights, to ONNX with dynamic batch and length.

usage: minilm.py MODELS [--out DIR]      MODELS: a folder in which `scripts/models MODELS minilm` put the weights
Writes OUT/minilm.onnx and OUT/minilm.npz: token ids and mask of a few sentences (i0, i1), PyTorch's token embeddings (o0).
Needs: pip install torch transformers onnx onnxscript.
"""
import argparse, os
import numpy as np
import torch
from transformers import AutoTokenizer, BertConfig, BertModel
from safetensors.torch import load_file

SENTENCES = ["A compiler turns a graph into machine code.", "Graphs become native kernels.", "The cat sleeps on the warm windowsill."]


class Embeddings(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models")
    p.add_argument("--out", default="zoo")
    a = p.parse_args()
    folder = os.path.join(a.models, "minilm")
    model = BertModel(BertConfig.from_json_file(os.path.join(folder, "config.json")), add_pooling_layer=False)
    weights = {k.removeprefix("bert."): v for k, v in load_file(os.path.join(folder, "model.safetensors")).items()}
    missing = model.load_state_dict(weights, strict=False).missing_keys
    if missing:
        raise SystemExit(f"{folder}: the weights lack {missing[:5]}")
    module = Embeddings(model).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(SENTENCES, padding=True, return_tensors="pt")
    inputs = (tokens["input_ids"], tokens["attention_mask"])
    dims = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("length", min=2, max=512)}
    os.makedirs(a.out, exist_ok=True)
    base = os.path.join(a.out, "minilm")
    with torch.no_grad():
        expected = module(*inputs)
        torch.onnx.export(module, inputs, base + ".onnx", dynamo=True, external_data=True, verbose=False,
                          dynamic_shapes={"input_ids": dims, "attention_mask": dims})
    np.savez(base + ".npz", i0=inputs[0].numpy(), i1=inputs[1].numpy(), o0=expected.numpy())
    pooled = (expected * inputs[1][..., None]).sum(1) / inputs[1].sum(1, keepdim=True)
    print("cosine similarity to the first sentence:", torch.nn.functional.cosine_similarity(pooled[:1], pooled).tolist())


if __name__ == "__main__":
    main()
