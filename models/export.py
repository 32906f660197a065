#!/usr/bin/env python3
"""Makes models/zoo/*.onnx.xz: the five models of the paper as an exporter writes them, with seeded weights.

    python export.py [NAME...]    # yolov8n whisper_tiny swinv2_tiny clip_text distilbert; needs requirements.txt

The graphs are the public architectures'; the weights are a short pseudo-random pattern, repeated, with the spread that
the architecture starts from, so that 900 MB of files compress to a few. They compute nothing useful: they are there for
structure, speed, memory and for comparing outputs with other runtimes.
"""
import argparse
import lzma
import pathlib
import shutil
import tempfile

import numpy as np
import torch
import transformers
from torch import nn
from yolov8 import Head, YoloV8n

OUT = pathlib.Path(__file__).resolve().parent / "zoo"
PERIOD = 1009  # a prime: no row of a weight repeats its neighbour
STEP = 13  # each weight begins elsewhere in the pattern: exporters store equal weights once, real models have none


def fill(model, seed=0):
    """Weights from the repeated pattern: spread sqrt(2 / fan_in) for convolutions, the usual 0.02 for the rest."""
    pattern = np.random.default_rng(seed).standard_normal(PERIOD).astype(np.float32)
    pattern -= pattern.mean()
    with torch.no_grad():
        for module in model.modules():
            for name, weight in module.named_parameters(recurse=False):
                pattern = np.roll(pattern, STEP)
                values = torch.from_numpy(np.resize(pattern, weight.numel()).reshape(weight.shape))
                if isinstance(module, nn.LayerNorm):
                    weight.copy_(1 + 0.1 * values if name == "weight" else 0.1 * values)
                elif name == "bias":
                    weight.copy_(0.02 * values)
                elif isinstance(module, (nn.Conv1d, nn.Conv2d)):
                    weight.copy_(values * (2 / weight[0].numel()) ** 0.5)
                elif weight.ndim > 1:
                    weight.copy_(0.02 * values)
    for module in model.modules():
        if isinstance(module, Head):  # the expectation over the bins is no trained weight
            module.bins.weight.data.copy_(torch.arange(module.BINS).view(1, -1, 1, 1))
    return model.eval()


class Outputs(nn.Module):
    """Calls a transformers model with positional inputs and returns the named outputs as a tuple."""

    def __init__(self, model, inputs, outputs):
        super().__init__()
        self.model, self.inputs, self.outputs = model, inputs, outputs

    def forward(self, *values):
        given = dict(zip(self.inputs, values))
        if "decoder_input_ids" in given:  # without a mask, transformers looks for packed sequences, which no exporter can write
            given["decoder_attention_mask"] = torch.ones_like(given["decoder_input_ids"])
        result = self.model(**given, return_dict=True)
        return tuple(result[name] for name in self.outputs)


def transformer(model, inputs, outputs):
    if hasattr(model.config, "use_cache"):
        model.config.use_cache = False
    return Outputs(fill(model), list(inputs), outputs), inputs


def tokens(batch=2, length=16):
    ids = torch.arange(batch * length).view(batch, length) % 1000
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def yolov8n():
    return fill(YoloV8n()), {"images": torch.rand(1, 3, 640, 640)}, ["output0"], {}


def whisper_tiny():
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6,
                                        encoder_ffn_dim=1536, decoder_ffn_dim=1536, attn_implementation="eager")
    module, inputs = transformer(transformers.WhisperForConditionalGeneration(config),
                                 {"input_features": torch.rand(1, 80, 3000), "decoder_input_ids": torch.arange(8).view(1, 8)}, ["logits"])
    return module, inputs, ["logits"], {"decoder_input_ids": {1: "seq"}}


def swinv2_tiny():
    config = transformers.Swinv2Config(image_size=224, embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24], window_size=7, num_labels=1000)
    module, inputs = transformer(transformers.Swinv2ForImageClassification(config), {"pixel_values": torch.rand(1, 3, 224, 224)}, ["logits"])
    return module, inputs, ["logits"], {}


def clip_text():
    config = transformers.CLIPTextConfig(projection_dim=512, attn_implementation="eager")
    module, inputs = transformer(transformers.CLIPTextModelWithProjection(config), tokens(), ["text_embeds", "last_hidden_state"])
    return module, inputs, ["text_embeds", "last_hidden_state"], {name: {0: "batch", 1: "seq"} for name in inputs}


def distilbert():
    module, inputs = transformer(transformers.DistilBertModel(transformers.DistilBertConfig(attn_implementation="eager")), tokens(), ["last_hidden_state"])
    return module, inputs, ["last_hidden_state"], {name: {0: "batch", 1: "seq"} for name in inputs}


MODELS = {make.__name__: make for make in (yolov8n, whisper_tiny, swinv2_tiny, clip_text, distilbert)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models to make, all by default")
    for name in parser.parse_args().names or MODELS:
        torch.manual_seed(0)
        module, inputs, outputs, dynamic = MODELS[name]()
        OUT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{name}.onnx"
            with torch.no_grad():
                torch.onnx.export(module, tuple(inputs.values()), path, input_names=list(inputs), output_names=outputs, dynamic_axes=dynamic,
                                  opset_version=17, dynamo=False)
            with open(path, "rb") as source, lzma.open(OUT / f"{name}.onnx.xz", "wb", preset=6) as packed:
                shutil.copyfileobj(source, packed)
            print(f"{name}: {path.stat().st_size} bytes, {(OUT / f'{name}.onnx.xz').stat().st_size} packed")


if __name__ == "__main__":
    main()
