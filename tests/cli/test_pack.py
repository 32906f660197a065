"""parallax-pack: a file of lifetimes and sizes in, the height of their packing out."""
import random
import re
import resource

import pytest

from conftest import BUILD, run

ROWS = [(0, 5, 30), (3, 9, 20), (5, 9, 30), (9, 12, 50)]


def pack(path, *options):
    done = run(BUILD / "parallax-pack", path, *options)
    assert 0 <= done.returncode <= 2, f"exit status {done.returncode}: {done.stderr}"
    return done


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "problem.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def height(done):
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"height (\d+) seconds \d+\.\d+", done.stdout.splitlines()[0])
    assert found, done.stdout
    return int(found.group(1))


def csv(rows):
    return "\n".join(["id,lower,upper,size", *(f"{i},{a},{b},{s}" for i, (a, b, s) in enumerate(rows))]) + "\n"


def filled_rectangle(cuts, seed):
    """Buffers that fill 1000 moments of 4096 bytes without a gap."""
    rng, parts = random.Random(seed), [(0, 1000, 0, 4096)]
    for _ in range(cuts):
        a, b, low, high = parts.pop(rng.randrange(len(parts)))
        if rng.random() < 0.5 and b - a > 1:
            cut = rng.randrange(a + 1, b)
            parts += [(a, cut, low, high), (cut, b, low, high)]
        elif high - low > 1:
            cut = rng.randrange(low + 1, high)
            parts += [(a, b, low, cut), (a, b, cut, high)]
        else:
            parts.append((a, b, low, high))
    rng.shuffle(parts)
    return [(a, b, high - low) for a, b, low, high in parts]


def test_prints_the_height(table):
    assert height(pack(table(csv(ROWS)))) == 50


def test_columns_go_by_name(table):
    text = "size,\tupper , id,lower\r\n" + "".join(f"{s},{b},x,{a}\r\n" for a, b, s in ROWS) + "\r\n"
    assert height(pack(table(text))) == 50
    assert height(pack(table(b"\xef\xbb\xbf" + text.encode()))) == 50
    assert height(pack(table("lower,upper,size"))) == 0


def test_offsets_do_not_overlap(table):
    rows = filled_rectangle(120, 1)
    done = pack(table(csv(rows)), "--limit-ms", "300", "--offsets")
    offsets = [int(line) for line in done.stdout.splitlines()[1:]]
    assert len(offsets) == len(rows) and height(done) >= 4096
    for i, (a, b, size) in enumerate(rows):
        assert 0 <= offsets[i] <= height(done) - size
        for j in range(i):
            c, d, other = rows[j]
            assert b <= c or d <= a or offsets[i] + size <= offsets[j] or offsets[j] + other <= offsets[i]


@pytest.mark.parametrize("text, message", [
    ("", "empty"),
    ("id,lower,upper\n1,2,3\n", "no column 'size'"),
    ("lower,upper,size,size\n1,2,3,4\n", "'size' twice"),
    ("lower,upper,size\n1,2\n", "line 2 has 2 fields"),
    ("lower,upper,size\n1,2,x\n", "line 2: 'size'"),
    ("lower,upper,size\n1,2,3.5\n", "line 2: 'size'"),
    ("lower,upper,size\n1,2,\n", "line 2: 'size'"),
    ("lower,upper,size\n1,2,99999999999999999999\n", "line 2: 'size'"),
    ("lower,upper,size\n1,2,-3\n", "line 2: size -3"),
    ("lower,upper,size\n5,2,3\n", "line 2: upper 2"),
    ("lower,upper,size,alignment\n1,2,3,64\n", "'alignment' is not supported"),
    ("lower,upper,size\n1,2,9223372036854775807\n1,2,9223372036854775807\n", "together"),
    (bytes(range(256)), "line 1"),
])
def test_refuses_what_is_no_problem(table, text, message):
    done = pack(table(text))
    assert done.returncode == 1 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("parallax-pack: ") and message in lines[0]


def test_refuses_files_that_cannot_be_read(tmp_path):
    for path, reason in ((tmp_path / "absent.csv", "No such file or directory"), (tmp_path, "Is a directory")):
        done = pack(path)
        assert done.returncode == 1 and re.fullmatch(rf"parallax-pack: cannot read {path}: {reason}\n", done.stderr)


def test_standard_output_that_takes_nothing(table, broken_output):
    output, reason = broken_output
    path = table(csv(ROWS))
    for options in ([path], [path, "--offsets"], ["--help"]):
        done = run(BUILD / "parallax-pack", *options, stdout=output)
        assert done.returncode == 1 and reason in done.stderr, done.stderr


def test_standard_output_beyond_the_limit_for_files(table, tmp_path):
    path = table(csv(ROWS))
    with open(tmp_path / "out", "w") as out:
        done = run(BUILD / "parallax-pack", path, stdout=out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4)))
    assert done.returncode == 1 and "File too large" in done.stderr, done.stderr


@pytest.mark.parametrize("options", [["--limit-ms", "-1"], ["--limit-ms", "x"], ["--unknown"], ["second.csv"]])
def test_wrong_usage(table, options):
    done = pack(table(csv(ROWS)), *options)
    assert done.returncode == 2 and done.stderr.startswith("parallax-pack: ") and done.stdout == ""
