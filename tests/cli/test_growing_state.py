"""A loop whose state grows from trip to trip: what a run holds, by the library's own account, is the old state and the new one, not all that there ever were."""
import json

import numpy as np
import onnx_writer as w
import pytest

ROW = 4096
TRIPS = 300
STATE = (TRIPS + 1) * ROW * 4

CARRIED = [w.value("v", w.FLOAT, ["p", ROW])]
GROWN = [w.value("u", w.FLOAT, ["q", ROW])]
LOOP = w.graph([w.node("Identity", ["c"], ["d"]), w.node("Concat", ["v", "x"], ["u"], axis=0)], [w.value("i", w.INT64, []), w.value("c", w.BOOL, []), *CARRIED],
               [w.value("d", w.BOOL, []), *GROWN])
SCAN = w.graph([w.node("Concat", ["v", "s"], ["u"], axis=0)], [*CARRIED, w.value("s", w.FLOAT, [1, ROW])], GROWN)
FORMS = {"Loop": (w.node("Loop", ["m", "", "x"], ["l"], body=LOOP), w.value("m", w.INT64, []), lambda trips: np.array(trips, np.int64)),
         "Scan": (w.node("Scan", ["x", "m"], ["l"], body=SCAN, num_scan_inputs=1), w.value("m", w.FLOAT, ["n", 1, ROW]), lambda trips: np.ones((trips, 1, ROW), np.float32))}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scheduler, threads", [("sequential", 1), ("dataflow", 2), ("layers", 2)])
def test_a_state_that_grows_is_held_at_most_two_and_a_half_times(parallax, refused, tmp_path, form, scheduler, threads):
    node, info, trips_of = FORMS[form]
    model = tmp_path / "m.onnx"
    model.write_bytes(w.model([node, w.node("ReduceSum", ["l"], ["s"], keepdims=0)], [w.value("x", w.FLOAT, [1, ROW]), info], [w.value("s", w.FLOAT, [])]))
    np.save(tmp_path / "x.npy", np.ones((1, ROW), np.float32))
    np.save(tmp_path / "m.npy", trips_of(TRIPS))
    feeds = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"m={tmp_path / 'm.npy'}", "--scheduler", scheduler, "--threads", threads]

    def peak(*options):
        done = parallax("bench", model, *feeds, "--warmup", 0, "--runs", 1, *options, "--json", "-")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["peak_arena_bytes"]

    assert STATE <= peak() <= 2.5 * STATE
    assert peak("--memory-budget", STATE * 5 // 2) <= 2.5 * STATE
    assert "memory budget" in refused(1, "run", model, *feeds, "--memory-budget", STATE)
    assert parallax("run", model, *feeds, "--output-dir", tmp_path / "out").returncode == 0
    assert np.load(tmp_path / "out" / "0.npy") == (TRIPS + 1) * ROW
