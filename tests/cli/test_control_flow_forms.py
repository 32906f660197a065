"""Each form of If, Loop and Scan on its own: outputs against ONNX Runtime's, bits over schedulers, bytes against budgets."""
import json
import re

import numpy as np
import pytest
from conftest import ROOT, needs_onnxruntime, peer

onnxruntime, parser = peer("onnxruntime"), peer("onnx.parser")
pytestmark = needs_onnxruntime

PROFILE = ROOT / "profiles" / "pixel6.toml"
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - 0.5


def save(path, signature, nodes):
    path.write_bytes(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {signature} {{ {nodes} }}').SerializeToString())
    return path


def arguments_of(tmp_path, feeds):
    arguments = []
    for name, value in feeds.items():
        np.save(tmp_path / f"in_{name}.npy", value)
        arguments += ["--input", f"{name}={tmp_path / f'in_{name}.npy'}"]
    return arguments


def outputs_of(parallax, path, tmp_path, feeds, *extra):
    out = tmp_path / "out"
    done = parallax("run", path, "--output-dir", out, *arguments_of(tmp_path, feeds), *extra)
    assert done.returncode == 0, done.stderr
    return [np.load(out / f"{i}.npy") for i in range(len(json.loads((out / "outputs.json").read_text())))]


def expected_of(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)


LOOP = "(float[n, 3] x, int64 m, bool go) => (float[k, 3] y) <int64 three = {3}, bool yes = {1}, bool no = {0}, int64 none = {0}, float[3] row = {1.0, 2.0, 3.0}, float limit = {20.0}>"
TWO = LOOP.replace("(float[k, 3] y)", "(float[k, 3] y, float[t, n2, 3] z)")
SAME = "body = b (int64 i, bool c, float[p, 3] v) => (bool d, float[q, 3] u) { d = Identity(c) u = Tanh(v) }"
INNER = "body = inner (int64 j, bool e, float[r, 3] o) => (bool f, float[s, 3] w) { f = Identity(e) w = Tanh(o) }"
GROW = "body = b (int64 i, bool c, float[p, 3] v) => (bool d, float[q, 3] u) { d = Identity(c) u = Concat<axis = 0>(v, x) }"
SLICES = "body = b (int64 i, bool c, float[p, 3] v) => (bool d, float[q, 3] u, float[q, 3] s) { d = Identity(c) u = Sub(v, row) s = Abs(u) }"
WHILE = "body = b (int64 i, bool c, float[p, 3] v) => (bool d, float[q, 3] u, float[q, 3] s) { u = Add(v, row) r = ReduceMax<keepdims = 0>(u) d = Less(r, limit) s = Neg(u) }"
SCAN = "(float[4, 3] x) => (float[3] y, float[t, w] z) <float[3] row = {0.5, 1.0, 1.5}, float[4] column = {1.0, 2.0, 3.0, 4.0}>"
SUM = "body = b (float[3] a, float[3] r) => (float[3] e, float[3] s) { e = Add(a, r) s = Tanh(e) }"
ACROSS = "body = b (float[4] a, float[4] r) => (float[4] e, float[4] s) { e = Add(a, r) s = Tanh(e) }"

FORMS = {
    "a count that is known": (LOOP, f"y = Loop <{SAME}> (three, , x)"),
    "a count that is given": (LOOP, f"y = Loop <{SAME}> (m, , x)"),
    "a count and a first condition": (LOOP, f"y = Loop <{SAME}> (m, go, x)"),
    "no trip because of the count": (TWO, f"y, z = Loop <{SLICES}> (none, yes, x)"),
    "no trip because of the condition": (TWO, f"y, z = Loop <{SLICES}> (three, no, x)"),
    "scan outputs of a known count": (TWO, f"y, z = Loop <{SLICES}> (three, , x)"),
    "scan outputs of a given count": (TWO, f"y, z = Loop <{SLICES}> (m, , x)"),
    "while": (TWO, f"y, z = Loop <{WHILE}> (, yes, x)"),
    "while, at most a few times": (TWO, f"y, z = Loop <{WHILE}> (three, yes, x)"),
    "a carried value that grows": (LOOP, f"y = Loop <{GROW}> (three, , x)"),
    "one that grows, a count that is given": (LOOP, f"y = Loop <{GROW}> (m, go, x)"),
    "two values that change places": (LOOP, "a = Neg(x) p, q = Loop <body = b (int64 i, bool c, float[e, 3] v, float[f, 3] w) => (bool d, float[g, 3] w2, float[h, 3] v2) "
                                            "{ d = Identity(c) w2 = Identity(w) v2 = Identity(v) }> (m, , x, a) y = Sub(p, q)"),
    "the count of the trip": (LOOP, "y = Loop <body = b (int64 i, bool c, float[p, 3] v) => (bool d, float[q, 3] u) { d = Identity(c) f = Cast<to = 1>(i) u = Add(v, f) }> (m, , x)"),
    "a loop in a loop": (LOOP, f"y = Loop <body = b (int64 i, bool c, float[p, 3] v) => (bool d, float[q, 3] u) {{ d = Identity(c) t = Loop <{INNER}> (i, , v) u = Add(t, x) }}> (m, , x)"),
    "branches of one shape": (LOOP, "y = If (go) <then_branch = a () => (float[p, 3] t) { t = Tanh(x) }, else_branch = b () => (float[q, 3] e) { e = Mul(x, row) }>"),
    "branches of two shapes": (LOOP, "y = If (go) <then_branch = a () => (float[p, 3] t) { t = Concat<axis = 0>(x, x) }, else_branch = b () => (float[q, 3] e) { e = Mul(x, row) }>"),
    "a branch that is sure": (LOOP, "y = If (yes) <then_branch = a () => (float[p, 3] t) { t = Tanh(x) }, else_branch = b () => (float[q, 3] e) { e = Mul(x, row) }>"),
    "a branch in a loop": (LOOP, "y = Loop <body = l (int64 i, bool c, float[p, 3] v) => (bool d, float[q, 3] u) { d = Identity(c) o = Less(i, m) g = Not(o) h = Or(g, go) "
                                 "u = If (h) <then_branch = a () => (float[p2, 3] t) { t = Tanh(v) }, else_branch = b () => (float[q2, 3] e) { e = Mul(v, row) }> }> (three, , x)"),
    "rows": (SCAN, f"y, z = Scan <num_scan_inputs = 1, {SUM}> (row, x)"),
    "rows from the end": (SCAN, f"y, z = Scan <num_scan_inputs = 1, scan_input_directions = [1], {SUM}> (row, x)"),
    "rows, results from the end": (SCAN, f"y, z = Scan <num_scan_inputs = 1, scan_output_directions = [1], {SUM}> (row, x)"),
    "rows, results as columns": (SCAN, f"y, z = Scan <num_scan_inputs = 1, scan_output_axes = [1], {SUM}> (row, x)"),
    "columns": (SCAN.replace("float[3] y", "float[4] y"), f"y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1], {ACROSS}> (column, x)"),
    "columns from the end, an axis counted from the end": (
        SCAN.replace("float[3] y", "float[4] y"), f"y, z = Scan <num_scan_inputs = 1, scan_input_axes = [-1], scan_input_directions = [1], scan_output_axes = [-1], scan_output_directions = [1], {ACROSS}> (column, x)"),
}


@pytest.mark.parametrize("form", FORMS)
def test_against_onnx_runtime(parallax, tmp_path, form):
    path = save(tmp_path / "m.onnx", *FORMS[form])
    trips = (0, 1, 2, 5) if "(m," in FORMS[form][1] else (2,)
    for m in trips:
        for go in (True, False) if ", go," in FORMS[form][1] or "go)" in FORMS[form][1] else (True,):
            feeds = {"x": ROWS, "m": np.array(m, np.int64), "go": np.array(go)} if "int64 m" in FORMS[form][0] else {"x": ROWS}
            for got, want in zip(outputs_of(parallax, path, tmp_path, feeds), expected_of(path, feeds), strict=True):
                where = f"m = {m}, go = {go}"
                assert got.dtype == want.dtype and got.ndim == want.ndim, where
                if want.size == 0:  # no slice: ONNX Runtime gives dimensions of size 0 where the model names a symbol
                    assert got.shape[0] == 0, where
                    continue
                assert got.shape == want.shape and np.allclose(got, want, rtol=1e-5, atol=1e-6), where
    verified = parallax("verify", path, *(["--dim", "n=4"] if "int64 m" in FORMS[form][0] else []))
    assert verified.returncode == 0, verified.stderr or verified.stdout


# A body whose tensors are larger than all others: 4 of 64 KiB in the then branch, 2 in the else branch.
WIDE = ("(float[128, 128] x, bool go, int64 m) => (float[128, 128] y)",
        "s = Neg(x) t = If (go) <then_branch = a () => (float[128, 128] t1) { p = MatMul(s, s) q = MatMul(p, s) r = MatMul(p, q) t1 = MatMul(q, r) }, "
        "else_branch = b () => (float[128, 128] e1) { f = MatMul(s, s) e1 = MatMul(f, s) }> "
        "l = Loop <body = c (int64 i, bool go1, float[128, 128] v) => (bool go2, float[128, 128] w) { go2 = Identity(go1) g = MatMul(v, x) h = MatMul(g, v) w = Tanh(h) }> (m, , t) y = Neg(l)")


def test_bytes_of_bodies_count(parallax, refused, tmp_path):
    path = save(tmp_path / "m.onnx", *WIDE)
    least = int(re.search(r"needs (\d+) bytes", refused(1, "run", path, "--memory-budget", 0)).group(1))
    assert least >= 5 * 65536  # s, and p, q, r of the branch, and its result
    assert "1 bytes missing" in refused(1, "run", path, "--memory-budget", least - 1)
    m = np.array(3, np.int64)
    for threads in (1, 2):
        for budget in (least, least * 5 // 4, 2 * least):
            options = ["--memory-budget", budget, "--threads", threads]
            done = parallax("bench", path, *arguments_of(tmp_path, {"m": m}), "--warmup", 1, "--runs", 2, *options, "--json", "-")
            if threads > 1 and done.returncode == 1:
                assert "missing" in done.stderr  # scratch of one more thread
                continue
            assert done.returncode == 0, done.stderr
            assert 0 < json.loads(done.stdout)["peak_arena_bytes"] <= budget


ENDLESS = "body = b (int64 i, bool c, float[256, 256] v) => (bool d, float[256, 256] u, float[256, 256] s) { d = Identity(c) u = Neg(v) s = Neg(v) }"


@pytest.mark.parametrize("count", ["m", "much", ""])
def test_a_huge_count_of_slices_is_an_error(refused, tmp_path, count):
    path = save(tmp_path / "m.onnx", "(float[256, 256] x, int64 m, bool go) => (float[256, 256] y, float[t, 256, 256] z) <int64 much = {1000000}>", f"y, z = Loop <{ENDLESS}> ({count}, go, x)")
    feeds = arguments_of(tmp_path, {"m": np.array(10**6, np.int64)})
    assert "budget" in refused(1, "run", path, *feeds, "--memory-budget", "64MiB")
    assert "999 trips" in refused(1, "run", path, *feeds, "--max-loop-trips", "999")
    feeds = arguments_of(tmp_path, {"m": np.array(2**60, np.int64)})
    assert refused(1, "run", path, *feeds, "--memory-budget", "1GiB", "--time-limit", "0.02")


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, size):
    return varint(number << 3 | 2) + varint(size)


def test_nesting_of_ten_thousand(refused, tmp_path):
    # graph { node { input: "c" output: "y" op_type: "If" attribute { name: "then_branch" type: GRAPH g: graph } } output { name: "y" } }
    node = field(1, 1) + b"c" + field(2, 1) + b"y" + field(4, 2) + b"If"
    name = field(1, 11) + b"then_branch" + varint(20 << 3) + b"\x05"
    output = field(12, 3) + field(1, 1) + b"y"
    heads, size = [], 0
    for _ in range(10000):
        attribute = name + field(6, size)
        inner = node + field(5, len(attribute) + size) + attribute
        head = field(1, len(inner) + size) + inner
        heads.append(head)
        size += len(head) + len(output)
    graph = b"".join(reversed(heads)) + output * len(heads)
    assert len(graph) == size
    path = tmp_path / "m.onnx"
    path.write_bytes(varint(1 << 3) + b"\x08" + field(8, 2) + varint(2 << 3) + b"\x11" + field(7, size) + graph)
    assert "more than 16 deep" in refused(1, "run", path)
    assert "more than 64 deep" in refused(1, "run", path, "--max-nesting", "64")
    assert "--max-nesting" in refused(2, "run", path, "--max-nesting", "65")


def test_plan_shows_bodies(parallax, tmp_path):
    path = save(tmp_path / "m.onnx", WIDE[0] + " <int64 seven = {7}>", WIDE[1].replace("(m, , t)", "(seven, , t)"))
    plan = json.loads(parallax("plan", path, "--json", "-").stdout)
    then, other, body = plan["body_list"]
    assert [(b["op"], b["body"], b["nodes"]) for b in plan["body_list"]] == [("If", "then_branch", 4), ("If", "else_branch", 2), ("Loop", "body", 4)]
    assert then["arena_bytes"] == 3 * 65536 > other["arena_bytes"] == 65536
    assert then["workspace_bytes"] == other["workspace_bytes"] == then["arena_bytes"]  # one over the other
    assert body["trips"] == 7 and "trips" not in then
    assert body["workspace_bytes"] == body["arena_bytes"] + 65536  # one more place for what is carried: the other is the result's
    assert plan["arena_bytes"]["parallax"] >= then["workspace_bytes"] + 2 * 65536
    text = parallax("plan", path).stdout
    assert re.search(r"\(Loop x 7\) body: 4 nodes in \d branch", text) and "then_branch" in text


def test_loops_count_as_often_as_they_run(parallax, tmp_path):
    def seconds(trips):
        path = save(tmp_path / "m.onnx", WIDE[0] + f" <int64 trips = {{{trips}}}>", WIDE[1].replace("(m, , t)", "(trips, , t)"))
        row, = [r for r in json.loads(parallax("bench", path, "--runs", 2, "--ops", "--json", "-").stdout)["ops"] if r["op"] == "Tanh"]
        assert row["times"] == trips
        return json.loads(parallax("simulate", path, "--profile", PROFILE, "--json", "-").stdout)["predicted_ms"]

    once, often = seconds(1), seconds(101)
    assert often > 10 * once > 0
