"""Containers of several TFLite models: ZIP archives such as MediaPipe's .task, and LiteRT-LM files."""
import io
import json
import struct
import zipfile

import numpy as np
import pytest
import tflite_models

BOTH = {"sum.tflite": tflite_models.SUM, "labels.txt": b"cat\n", "QUANTIZED": tflite_models.QUANTIZED}
MODEL, TOKENIZER = 3, 4  # types of sections


def archive(entries, method=zipfile.ZIP_STORED, zeros=0):
    """`zeros`: those in front, which MediaPipe's writer uses to align the first entry."""
    file = io.BytesIO(bytes(zeros))
    file.seek(zeros)
    with zipfile.ZipFile(file, "w", method) as out:
        for name, data in entries.items():
            out.writestr(name, data)
    return file.getvalue()


def litertlm(sections, block=16384):
    """A file whose sections, each a type and bytes, begin at multiples of 16 KiB. Its header is a flatbuffer without the fields that may be left out."""
    vtable = 40 + 4 * len(sections)  # of the tables of sections
    first = -(-(vtable + 12) // 8) * 8
    header = struct.pack("<I4HiI", 12, 8, 8, 0, 4, 8, 12)  # the root table at 12, behind its vtable
    header += struct.pack("<4HiI", 6, 8, 4, 0, 8, 4)  # the table at 28, with a vector at 36
    header += struct.pack("<I", len(sections)) + b"".join(struct.pack("<I", first + 32 * i - 40 - 4 * i) for i in range(len(sections)))
    header = (header + struct.pack("<6H", 12, 32, 0, 8, 16, 24)).ljust(first, b"\0")
    body = b""
    for i, (kind, data) in enumerate(sections):
        begin = block + len(body)
        header += struct.pack("<iIQQQ", first + 32 * i - vtable, 0, begin, begin + len(data), kind)
        body += data + bytes(-len(data) % block)
    return (struct.pack("<8s4IQ", b"LITERTLM", 1, 4, 0, 0, 32 + len(header)) + header).ljust(block, b"\0") + body


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "both.task"
    path.write_bytes(archive(BOTH))
    return path


def test_info_lists_sections(parallax, task):
    done = parallax("info", task, "--json", "-")
    assert done.returncode == 0, done.stderr
    info = json.loads(done.stdout)
    assert info["container"] == "ZIP archive" and info["model"] == str(task)
    assert info["sections"] == [
        {"name": "sum.tflite", "type": "TFLiteModel", "bytes": len(tflite_models.SUM), "model": True},
        {"name": "labels.txt", "type": "file", "bytes": 4, "model": False},
        {"name": "QUANTIZED", "type": "TFLiteModel", "bytes": len(tflite_models.QUANTIZED), "model": True},
    ]
    text = parallax("info", task).stdout
    assert "labels.txt  file, 4 bytes" in text and "can be loaded" in text and "--section sum.tflite" in text


def test_info_describes_a_section(parallax, task):
    info = json.loads(parallax("info", task, "--section", "QUANTIZED", "--json", "-").stdout)
    assert info["format"] == "TFLite" and info["problem"] == "" and len(info["sections"]) == 3
    assert "--section QUANTIZED" in info["command"]
    assert "sections of the ZIP archive" in parallax("info", task, "--section", "QUANTIZED").stdout


RUN = {
    "an entry": (archive(BOTH), ["--section", "sum.tflite"]),
    "behind zeros": (archive({"m": tflite_models.SUM}, zeros=2), []),
    "an archive inside": (archive({"in.task": archive({"m": tflite_models.SUM})}), []),
    "an entry inside": (archive({"in.task": archive(BOTH)}), ["--section", "in.task/sum.tflite"]),
    "LiteRT-LM": (litertlm([(TOKENIZER, b"some"), (MODEL, tflite_models.SUM)]), []),
    "a section": (litertlm([(MODEL, tflite_models.QUANTIZED), (TOKENIZER, b"some"), (MODEL, tflite_models.SUM)]), ["--section", "TFLiteModel 2"]),
}


@pytest.mark.parametrize("name", RUN)
def test_a_section_runs(parallax, tmp_path, name):
    data, options = RUN[name]
    path, folder = tmp_path / "file", tmp_path / "out"
    path.write_bytes(data)
    np.save(tmp_path / "x.npy", np.array([2], np.float32))
    for _ in range(2):  # the second time from the cache
        done = parallax("run", path, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", folder, "--cache", tmp_path / "cache", *options)
        assert done.returncode == 0, done.stderr
        assert np.load(folder / "0.npy")[0] == 12


SIZES = ["--dim", "left_dim_0=1", "--dim", "right_dim_0=1"]  # of QUANTIZED


def test_sections_of_a_file_share_a_cache(parallax, task):
    cache, folder = task.parent / "cache", task.parent / "out"
    shapes = []
    for section, options in 2 * [("sum.tflite", []), ("QUANTIZED", SIZES)]:
        done = parallax("run", task, "--section", section, "--cache", cache, "--output-dir", folder, *options)
        assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
        shapes.append(np.load(folder / "0.npy").shape)
    assert shapes == 2 * [(1,), (1, 2)] and len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("command, options", [("plan", []), ("verify", []), ("bench", ["--runs", 1]), ("simulate", ["--profile", "pixel6"])])
def test_commands_take_a_section(parallax, task, command, options):
    done = parallax(command, task, "--section", "QUANTIZED", *SIZES, *options)
    assert done.returncode == 0, done.stderr


REFUSED = {
    "no choice": (archive(BOTH), [], ["several models", "'sum.tflite', 'QUANTIZED'"]),
    "an unknown name": (archive(BOTH), ["--section", "sum"], ["no section 'sum'", "'sum.tflite', 'QUANTIZED'"]),
    "no model": (archive(BOTH), ["--section", "labels.txt"], ["'labels.txt' is no model"]),
    "compressed": (archive(BOTH, zipfile.ZIP_DEFLATED), [], ["'zip -0'", "'sum.tflite', 'labels.txt', 'QUANTIZED'"]),
    "compressed, chosen": (archive(BOTH, zipfile.ZIP_DEFLATED), ["--section", "QUANTIZED"], ["'QUANTIZED' is compressed: store it"]),
    "an archive without models": (archive({"data.pkl": b"x"}), [], ["PyTorch's .pt"]),
    "cut short": (archive(BOTH)[:-30], [], ["cut short"]),
    "LiteRT-LM without models": (litertlm([(TOKENIZER, b"some")]), [], ["LiteRT-LM 1.4.0 without a TFLite model"]),
    "no container": (tflite_models.SUM, ["--section", "a"], ["no section 'a'"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(refused, tmp_path, name):
    data, options, words = REFUSED[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    message = refused(1, "run", path, *options)
    assert str(path) in message and all(word in message for word in words), message
