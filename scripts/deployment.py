"""Which shared libraries the command line tool needs, and which Debian packages have them: a table of README."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from report import table  # noqa: E402

RELEASE = "12"  # other releases name and cut packages differently


def debian():
    release = pathlib.Path("/etc/os-release")
    return release.exists() and re.search(rf'^VERSION_ID="{RELEASE}"$', release.read_text(), re.M) and "ID=debian" in release.read_text()


def package_of(library):
    """dpkg knows a file by the name it was installed under: with /usr before /lib or without."""
    for path in (library, f"/usr{library}", library.removeprefix("/usr")):
        done = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return "?"


def libraries():
    """None on other systems than the one that the table is about."""
    if not debian():
        return None
    text = subprocess.run(["ldd", ROOT / "build" / "release" / "parallax"], check=True, capture_output=True, text=True).stdout
    by_package = {}
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", text, re.M):
        by_package.setdefault(package_of(path), []).append((name, pathlib.Path(path).resolve().stat().st_size))
    rows = sorted(by_package.items(), key=lambda row: -sum(size for _, size in row[1]))
    return table(["package", "libraries", "MB"],
                 [[f"`{package}`", ", ".join(f"`{name}`" for name, _ in sorted(files)), f"{sum(size for _, size in files) / 1e6:.1f}"] for package, files in rows])
