"""GroupQueryAttention of com.microsoft, its cache of the right length or longer, samples of different lengths: against ONNX Runtime."""
import numpy as np
import pytest
from conftest import needs_onnxruntime, peer

onnx, onnxruntime = peer("onnx"), peer("onnxruntime")
pytestmark = needs_onnxruntime

HEADS, SHARED, SIZE = 4, 2, 16
# New ones, length of the cache, how many each sample has afterwards, further attributes and inputs.
FORMS = {
    "as long as it must be": (1, 5, [6, 6], {}, ()),
    "room behind": (1, 16, [6], {}, ()),
    "room behind, samples of two lengths": (1, 16, [6, 9], {}, ()),
    "grows for one sample": (1, 8, [6, 9], {}, ()),
    "several behind a past": (3, 16, [9], {}, ()),
    "a prompt": (4, 16, [4, 4], {}, ()),
    "a prompt, padded": (4, 16, [4, 3], {}, ()),
    "a prompt, no past": (4, 0, [4, 3], {}, ()),
    "full": (1, 16, [16], {}, ()),
    "window": (1, 16, [9, 5], {"local_window_size": 4}, ()),
    "positions": (1, 16, [9, 5], {}, ("positions",)),
    "bias": (1, 16, [9], {}, ("bias",)),
}


def inputs_of(new, length, totals, more):
    random = np.random.default_rng(1)

    def floats(*shape):
        return random.standard_normal(shape).astype(np.float32)

    batch, angles = len(totals), random.random((32, SIZE // 2)).astype(np.float32)
    feeds = {"q": floats(batch, new, HEADS * SIZE), "k": floats(batch, new, SHARED * SIZE), "v": floats(batch, new, SHARED * SIZE),
             "past_k": floats(batch, SHARED, length, SIZE), "past_v": floats(batch, SHARED, length, SIZE),
             "last": np.array(totals, np.int32) - 1, "total": np.array(max(totals), np.int32), "cos": np.cos(angles), "sin": np.sin(angles)}
    if "positions" in more:
        feeds["positions"] = np.array(totals)[:, None] - new + np.arange(new)
    if "bias" in more:
        feeds["bias"] = floats(1, 1, new, max(totals))
    return feeds


def save(path, feeds, attributes):
    helper = onnx.helper
    names = [name if name in feeds else "" for name in ("q", "k", "v", "past_k", "past_v", "last", "total", "cos", "sin", "positions", "bias")]
    node = helper.make_node("GroupQueryAttention", names, ["y", "new_k", "new_v"], domain="com.microsoft", num_heads=HEADS, kv_num_heads=SHARED, do_rotary=1, **attributes)
    # Batch and lengths are free.
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), [f"{name}{i}" if x.ndim > 2 and i in (0, 1 if x.ndim == 3 else 2) else dim for i, dim in enumerate(x.shape)])
              for name, x in feeds.items()]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in node.output])
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8).SerializeToString())
    return path


def run(parallax, path, tmp_path, feeds):
    arguments = []
    for name, x in feeds.items():
        np.save(tmp_path / f"in_{name}.npy", x)
        arguments += ["--input", f"{name}={tmp_path / f'in_{name}.npy'}"]
    return parallax("run", path, "--output-dir", tmp_path, *arguments)


@pytest.mark.parametrize("form", FORMS)
def test_against_onnx_runtime(parallax, tmp_path, form):
    new, length, totals, attributes, more = FORMS[form]
    feeds = inputs_of(new, length, totals, more)
    path = save(tmp_path / "m.onnx", feeds, attributes)
    expected = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    done = run(parallax, path, tmp_path, feeds)
    assert done.returncode == 0, done.stderr
    for n, want in enumerate(expected):
        got = np.load(tmp_path / f"{n}.npy")
        assert got.shape == want.shape
        for sample, total in enumerate(totals):  # what is behind its end means nothing
            rows = slice(total - max(total - new, 0)) if n == 0 else (slice(None), slice(total))
            assert np.allclose(got[sample][rows], want[sample][rows], rtol=1e-4, atol=1e-5)


def test_lengths_beyond_the_cache_are_refused(parallax, tmp_path):
    feeds = inputs_of(1, 4, [20], ())
    done = run(parallax, save(tmp_path / "m.onnx", feeds, {}), tmp_path, feeds)
    assert done.returncode == 1 and "1 rows from 19 on do not fit a cache of 5" in done.stderr
