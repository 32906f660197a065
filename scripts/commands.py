"""How each source is compiled by itself, for the lint: the preset `dev`, of which only generated headers are
built."""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commands():
    """The entries of compile_commands.json."""
    subprocess.run([ROOT / "scripts/build.sh", "dev", "1", "px_generated"], stdout=subprocess.DEVNULL, check=True)
    return json.loads((ROOT / "build" / "dev" / "compile_commands.json").read_text())
