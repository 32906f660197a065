"""TFLite files: variables that keep their values, and signatures. The file has two: `accumulate`, total = sum = sum + number with a sum that
begins with 10, and `twice`, double = number + number. Its first subgraph is that of `accumulate`, with tensors x and y."""
import base64
import json
import zlib

import numpy as np
import pytest

FILE = (
    "eNp1VD9v01AQPycmiqipLFEhDxk8MHSoqlRkZOnClCGqOjBUrdzEgKXYhsQuICEBEhMD7QdgQh2qfoJOzMwVIwMjH4AhEuDH3Xv3/F6j2NLFl/vduz+/u+ceAOw/Gj7YgB"
    "B6EMAG+OChrQsu6oA2gAVK6KAfygHK1i2ANtpaKO9QyA9gnc92UXfxn8I9xvsoeAyKl8k4xrcjvQAe/hVC6x2USV4eT2ODdxDXWFamx/GMct3mTC5qKkeAMpAIQDQel2k5"
    "jQorzjnGabMu68iLaGrVka3Io7GfiLVYv4uSJtnRrMyKJI2PTuLZPMkzyUef+SK/rxyP2NjZ3hlsI3jNNlfyFe4u/ghBteyG8zIFxek3THrFPnuVEHoGI5oTyuMGni7/KV"
    "981nzmnOIdML8Oz0M/jiXA2H2O9QPPdJlXwl9bvosl7JWFtYSp98wS6vFJMpsXnGfAeQ6ruuYXVLPPdh97Aateiv3R+Oab+LPF9jeVqYf6VUyac8uPzu/LM2bXPasnHauI"
    "s7q3HubxVIg7Ps/gWZRNaAbA+x/UN0Dtv+ZiiAFGfH+ovzRKMmBeXLRdUCyLlxOxmpfNyvDicI1fxOq571dq7m2LR3pfG//n2p/sH9i/dWMvTE9r3FOPZ9Dneh3Jn+q5y/"
    "veNAszj3W4J/sycQMFPA1qvSNjdpbmqHvSNpe/QSNrfz+L5v29Ejf3JZ9OaszjisDah6Z5e/yl075Nd4JmPORvQ8i9UY3fsY4zFeqtC660/ULbKdt+o/6JdY+r0rnes/0/"
    "RQm0XQ=="
)


@pytest.fixture
def sums(tmp_path):
    path = tmp_path / "sum.tflite"
    path.write_bytes(zlib.decompress(base64.b64decode(FILE)))
    np.save(tmp_path / "2.npy", np.array([2], np.float32))
    return path


def totals(parallax, sums, *options, name="x"):
    out = sums.parent / "out"
    done = parallax("run", sums, "--input", f"{name}={sums.parent / '2.npy'}", "--repeat", 3, "--output-dir", out, *options)
    assert done.returncode == 0, done.stderr
    return [float(np.load(out / str(i) / "0.npy")[0]) for i in range(3)]


@pytest.mark.parametrize(
    "options, name, expected",
    [
        ([], "x", [12, 14, 16]),
        ([], "", [12, 14, 16]),  # the only input that is not a variable
        (["--reset-state"], "x", [12, 12, 12]),
        (["--signature", "accumulate"], "number", [12, 14, 16]),
        (["--signature", "twice"], "number", [4, 4, 4]),
    ],
)
def test_variables_go_on_from_run_to_run(parallax, sums, options, name, expected):
    assert totals(parallax, sums, *options, name=name) == expected


def test_a_variable_begins_with_a_file(parallax, sums):
    np.save(sums.parent / "sum.npy", np.array([100], np.float32))
    assert totals(parallax, sums, "--input", f"sum={sums.parent / 'sum.npy'}") == [102, 104, 106]


def test_bench_and_verify_keep_variables(parallax, sums):
    assert parallax("verify", sums).returncode == 0
    assert parallax("bench", sums, "--runs", 3, "--warmup", 1, "--concurrency", 2, "--json", "-").returncode == 0


def test_info_shows_signatures_and_metadata(parallax, sums):
    done = parallax("info", sums, "--signature", "twice", "--json", "-")
    assert done.returncode == 0, done.stderr
    info = json.loads(done.stdout)
    assert [s["name"] for s in info["signatures"]] == ["accumulate", "twice"]
    assert [t["name"] for t in info["signatures"][1]["outputs"]] == ["double"] == [t["name"] for t in info["outputs"]]
    assert {"key": "min_runtime_version", "value": "1.14.0"} in info["metadata"]["properties"]
    assert info["metadata"]["doc_string"] == "A sum" and "--signature twice" in info["command"]
    text = parallax("info", sums).stdout
    assert "signature 'accumulate', inputs" in text and "min_runtime_version: 1.14.0" in text


def test_what_is_refused(refused, sums):
    message = refused(1, "run", sums, "--signature", "thrice")
    assert "thrice" in message and "accumulate" in message and "twice" in message
    assert "--tie" in refused(2, "run", sums, "--signature", "twice", "--reset-state")
