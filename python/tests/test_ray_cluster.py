"""parallax.ray.Predictor on a cluster of two nodes: `make python-ray` installs Ray and runs this."""
import os
import signal
import time

import numpy as np
import pytest
from conftest import DIGITS, ROOT

import parallax
from parallax.ray import Predictor

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")
from ray.cluster_utils import Cluster  # noqa: E402, which needs Ray

ROWS, BATCH = 360, 15
IMAGES = np.load(ROOT / "models" / "digits" / "images.npy").astype(np.float32).reshape(-1, 1, 8, 8)


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of three CPUs: an actor that reserves two leaves one for tasks that read."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 3, "include_dashboard": False})
    made.add_node(num_cpus=3)
    ray.init(address=made.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield made
    ray.shutdown()
    made.shutdown()


def fragile(folder):
    """Returns a class of Predictors, one of which is killed in the middle. A worker gets the class by value: it cannot import this file."""

    class Fragile(Predictor):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self.node = ray.get_runtime_context().get_node_id()
            (folder / f"node-{self.node}").touch()

        def __call__(self, batch):
            for _ in range(1200):  # both nodes are to compute
                if len(list(folder.glob("node-*"))) == 2:
                    break
                time.sleep(0.1)
            result = super().__call__(batch)
            if ROWS // 2 in batch["id"] and not (folder / "killed").exists():
                (folder / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            (folder / f"done-{self.node}").touch()
            return result

    return Fragile


def test_no_row_is_lost_when_an_actor_is_killed(cluster, tmp_path):
    del cluster
    images = ray.put(IMAGES)
    assert len(IMAGES) == ROWS and len(ray.nodes()) == 2
    rows = ray.data.range(ROWS, override_num_blocks=ROWS // BATCH)
    rows = rows.map_batches(lambda batch: {"id": batch["id"], "image": ray.get(images)[batch["id"]]}, batch_size=BATCH)
    keywords = {"cache": str(tmp_path / "cache"), "budget": 1 << 20, "threads": 2}
    found = rows.map_batches(fragile(tmp_path), fn_constructor_args=[str(DIGITS)], fn_constructor_kwargs=keywords, num_cpus=2,
                             compute=ray.data.ActorPoolStrategy(size=2), batch_size=BATCH).take_all()
    assert (tmp_path / "killed").exists() and len(list(tmp_path.glob("done-*"))) == 2
    assert sorted(row["id"] for row in found) == list(range(ROWS))
    found.sort(key=lambda row: row["id"])
    expected = parallax.Session(DIGITS, threads=1).run(IMAGES)["logits"]
    np.testing.assert_allclose([row["logits"] for row in found], expected, rtol=1e-4, atol=1e-4)
    assert list((tmp_path / "cache").iterdir())
