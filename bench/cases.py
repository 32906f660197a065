"""What is compared: models by name, with the values of their free dimensions, and where the models come from."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLI = ROOT / "build" / "release" / "parallax"

# 30 lengths from 4 to 77 in a fixed order, as a stream of sentences has them.
LENGTHS = [(37 * i * i + 11 * i + 4) % 74 + 4 for i in range(30)]

# case -> (model, values of its free dimensions run by run, the goal: our latency over that of the best peer)
CASES = {
    "yolov8n": ("yolov8n", {}, 0.85),
    "whisper_encoder": ("whisper_encoder", {}, 0.80),
    "swinv2_tiny": ("swinv2_tiny", {}, 0.75),
    "distilbert@64": ("distilbert", {"batch": [1], "seq": [64]}, 0.85),
    "clip_text@64": ("clip_text", {"batch": [1], "seq": [64]}, 0.75),
    "distilbert@8": ("distilbert", {"batch": [1], "seq": [8]}, 0.75),
    "distilbert@dyn": ("distilbert", {"batch": [1], "seq": LENGTHS}, 0.75),
    "clip_text@dyn": ("clip_text", {"batch": [1], "seq": LENGTHS}, 0.75),
    "yolov8n_nms": ("yolov8n_nms", {}, 0.85),
    "whisper_tiny@16": ("whisper_tiny", {"seq": [16]}, 0.85),
    "sensors": ("sensors", {}, 0.85),
}
# Models in 8 bits -> the same case in f32.
EIGHT_BITS = {"yolov8n_int8": "yolov8n", "whisper_tiny_int8@16": "whisper_tiny@16"}
ALL = CASES | {case: (case.partition("@")[0], *CASES[wide][1:]) for case, wide in EIGHT_BITS.items()}
# LiteRT runs files of its own, made for one shape.
TFLITE = {"yolov8n": "yolov8n", "whisper_encoder": "whisper_encoder", "swinv2_tiny": "swinv2_tiny", "distilbert@64": "distilbert_s64", "clip_text@64": "clip_text_s64"}
# Shapes that the file leaves open beyond its named dimensions.
SHAPES = {"yolov8n_nms": {"images": [1, 3, 640, 640]}}
VOCABULARY = 30000


def models_folder():
    """$MODELS, a folder of .onnx (and, for LiteRT, .tflite) files; otherwise the project's own models, unpacked."""
    if os.environ.get("MODELS"):
        return pathlib.Path(os.environ["MODELS"])
    sys.path.insert(0, str(ROOT / "scripts"))
    import demo
    list(demo.unpack_zoo())
    return demo.ZOO


def present(folder, wanted=None):
    return [case for case in wanted or CASES if (folder / f"{CASES[case][0]}.onnx").exists()]


def models_text(folder, wanted=None):
    """One line: which models are measured, and which are not."""
    absent = [case for case in wanted or CASES if case not in present(folder, wanted)]
    litert = any((folder / f"{name}.tflite").exists() for name in TFLITE.values())
    text = "Models: those of $MODELS." if os.environ.get("MODELS") else "Models: the project's own."
    if absent:
        text += f" Not among them: {', '.join(absent)}."
    if not litert:
        text += " LiteRT has no files to run."
    return text + (" MODELS=FOLDER names a folder that has more." if absent or not litert else "")
