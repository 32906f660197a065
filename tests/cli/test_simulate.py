"""`parallax calibrate` and `parallax simulate`: a prediction of this machine and of phones that are not here. `make docs` compares
predictions with measured times: a test that did would fail on a busy machine."""
import json
import re

import pytest
from conftest import DIGITS, ROOT

BATCH = ("--dim", "batch=64")


@pytest.fixture
def calibrated(parallax, tmp_path):
    profile = tmp_path / "this.toml"
    done = parallax("calibrate", DIGITS, *BATCH, "--profile", profile)
    assert done.returncode == 0, done.stderr
    assert "nodes timed" in done.stdout
    return profile


def predicted(parallax, *arguments):
    done = parallax("simulate", *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_calibrated_machine_predicts_the_run_it_was_measured_by(parallax, calibrated):
    p = predicted(parallax, DIGITS, *BATCH, "--profile", calibrated, "--threads", 1)
    assert p["cores"] == 1 and p["unknown_nodes"] == 0
    assert 0.5 * p["predicted_ms"] < p["busy_ms"] <= p["predicted_ms"] * 1.001
    ends = [b["end_ms"] for b in p["branch_list"]]
    assert max(ends) == pytest.approx(p["predicted_ms"])
    assert all(b["begin_ms"] <= b["end_ms"] for b in p["branch_list"])


def test_more_models_are_added_and_the_same_one_is_replaced(parallax, calibrated):
    once = calibrated.read_text().count("op =")
    assert once > 3
    assert parallax("calibrate", DIGITS, *BATCH, "--profile", calibrated).returncode == 0
    assert calibrated.read_text().count("op =") == once
    assert parallax("calibrate", DIGITS, "--dim", "batch=2", "--profile", calibrated).returncode == 0
    assert calibrated.read_text().count("op =") > once


def test_times_of_kernels_that_are_not_here_are_refused(refused, calibrated):
    calibrated.write_text(re.sub(r"kernel = (['\"])\w+", r"kernel = \1simd", calibrated.read_text(), count=1))
    for command in ("simulate", "calibrate"):
        said = refused(1, command, DIGITS, *BATCH, "--profile", calibrated)
        assert "times kernel 'simd' of" in said and "calibrate again" in said


def test_a_phone_with_more_cores_is_no_slower(parallax):
    phone = ROOT / "profiles" / "pixel6.toml"
    times = [predicted(parallax, DIGITS, *BATCH, "--profile", phone, "--threads", n)["predicted_ms"] for n in (1, 2, 4)]
    assert times[0] >= times[1] >= times[2] > 0
    assert predicted(parallax, DIGITS, *BATCH, "--profile", phone)["cores"] == 8
    done = parallax("simulate", DIGITS, *BATCH, "--profile", phone)
    assert "pixel6" in done.stdout and "longest branches" in done.stdout


def test_cores_are_as_fast_as_they_are_built(parallax, tmp_path):
    """A core of half the clock, and one of half the pipes and loads, take twice as long; the delegate's R_cpu says nothing of cores."""
    def ms(text, threads=1):
        profile = tmp_path / "cores.toml"
        profile.write_text(text)
        return predicted(parallax, DIGITS, *BATCH, "--profile", profile, "--threads", threads)["predicted_ms"]

    core = '[[cores]]\nname = "c"\ncount = 2\nhertz = {}\nmacs_per_cycle = {}\nbytes_per_cycle = {}\n'
    whole = ms('name = "x"\n' + core.format("2e9", 16, 48))
    assert ms('name = "x"\n' + core.format("1e9", 16, 48)) == pytest.approx(2 * whole)
    assert ms('name = "x"\n' + core.format("2e9", 8, 24)) == pytest.approx(2 * whole)
    assert whole < ms('name = "x"\n' + core.format("2e9", 8, 48)) < 2 * whole
    phone = (ROOT / "profiles" / "pixel6.toml").read_text()
    assert "cpu_macs_per_second = 1e9" in phone
    assert ms(phone, 4) == ms(phone.replace("cpu_macs_per_second = 1e9", "cpu_macs_per_second = 1e12"), 4)


def test_a_prediction_says_what_it_rests_on(parallax, calibrated):
    paper = predicted(parallax, DIGITS, *BATCH, "--profile", "pixel6")["basis"]
    assert "pipes" in paper["source"] and 0.9 < paper["macs_per_second"] / (2.8e9 * 16) < 1 and paper["hertz"] == 2.8e9
    assert paper["rate_nodes"] > 0 and paper["timed_nodes"] == paper["similar_nodes"] == 0
    text = parallax("simulate", DIGITS, *BATCH, "--profile", "pixel6").stdout
    assert all(words in text for words in ("e+10 MAC/s", "2.80 GHz", "Zen 4", "not with a clock"))
    own = predicted(parallax, DIGITS, *BATCH, "--profile", calibrated, "--threads", 1)["basis"]
    assert "calibrate" in own["source"] and own["timed_nodes"] > 0 and own["hertz"] == 0
    text = parallax("simulate", DIGITS, *BATCH, "--profile", calibrated, "--threads", 1).stdout
    assert "timed by" in text and "GHz" not in text and "not with a clock" not in text


def test_an_accelerator_runs_beside_the_cores(parallax, wide, small):
    phone = ROOT / "profiles" / "pixel6.toml"
    here = (wide, "--dim", "n=64", "--threads", 2)
    alone = predicted(parallax, *here, "--profile", phone)
    helped = predicted(parallax, *here, "--profile", phone, "--delegate", small)
    assert "delegate" not in alone and helped["delegate"] == str(small)
    plan = json.loads(parallax("plan", *here, "--delegate", small, "--json", "-").stdout)
    regions = {r["id"]: r["offload_ms"] for r in plan["region_list"] if r["offloaded"]}
    spans = {b["id"]: b["end_ms"] - b["begin_ms"] for b in helped["branch_list"]}
    on_it = {b["id"]: regions[b["region"]] for b in plan["branch_list"] if "region" in b}
    assert regions and all(spans[b] == pytest.approx(ms) for b, ms in on_it.items())
    assert helped["predicted_ms"] < alone["predicted_ms"]
    assert helped["busy_ms"] < alone["busy_ms"]
    none = predicted(parallax, *here, "--profile", phone, "--delegate", small, "--max-regions", 0)
    assert none["predicted_ms"] == pytest.approx(alone["predicted_ms"])


def test_the_cores_of_the_delegates_own_profile(parallax, refused):
    own = predicted(parallax, DIGITS, *BATCH, "--delegate", "pixel6")
    assert own["profile"] == "pixel6" and own["cores"] == 8
    assert predicted(parallax, DIGITS, *BATCH, "--delegate", "pixel6", "--profile", "pixel6")["predicted_ms"] == own["predicted_ms"]
    assert "describes no cores" in refused(2, "simulate", DIGITS, *BATCH, "--delegate", "opencl-mobile")
    assert "no device profile 'abacus'" in refused(2, "simulate", DIGITS, *BATCH, "--profile", "pixel6", "--delegate", "abacus")


def test_nonsense_is_refused(refused, tmp_path):
    phone = ROOT / "profiles" / "pixel6.toml"
    broken = tmp_path / "broken.toml"
    broken.write_text("name = [")
    empty = tmp_path / "empty.toml"
    empty.write_text('name = "x"\n[[cores]]\nname = "c"\ncount = 1\nhertz = 1e9\nrelative_speed = 1\n')
    assert "profile" in refused(2, "simulate", DIGITS)
    assert "gone.toml" in refused(1, "simulate", DIGITS, *BATCH, "--profile", tmp_path / "gone.toml")
    assert "broken.toml:1" in refused(1, "simulate", DIGITS, *BATCH, "--profile", broken)
    assert "broken.toml:1" in refused(1, "calibrate", DIGITS, *BATCH, "--profile", broken)
    assert "no samples" in refused(1, "calibrate", DIGITS, *BATCH, "--profile", empty)
    assert "speed" in refused(1, "simulate", DIGITS, *BATCH, "--profile", empty)
    assert "8 cores" in refused(2, "simulate", DIGITS, *BATCH, "--profile", phone, "--threads", 9)
