"""The commands that README and the how-tos show run; what they say of the repository and quote from it is there."""
import re

import pytest
from conftest import BUILD, ROOT, run

README = (ROOT / "README.md").read_text()
OPERATOR = (ROOT / "docs/howto/add-an-operator.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README + OPERATOR, re.S) for line in block.splitlines() if line]
QUOTES = re.findall(r"```cpp (\S+)\n(.*?)```", OPERATOR, re.S)


def test_there_are_commands_and_quotes():
    assert len(COMMANDS) >= 7
    assert len(QUOTES) >= 6


@pytest.mark.parametrize(("file", "quote"), QUOTES)
def test_the_file_has_what_is_quoted(file, quote):
    def words(text):
        return " ".join(text.split())

    assert words(quote) in words((ROOT / file).read_text())


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command):
    words = command.replace("build/release", str(BUILD)).split()
    done = run(*words, cwd=ROOT)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_the_map_names_what_is_there():
    for name in re.findall(r"^\| `([\w/]+)` \|", README[README.index("## Map of the repository"):], re.M):
        assert (ROOT / name).exists(), name


def options_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


@pytest.fixture(scope="module")
def tool_options():
    """command -> the options that its --help lists."""
    commands = re.findall(r"^  (\w+) ", run(BUILD / "parallax", "--help").stdout.split("Subcommands:")[1], re.M)
    return {command: options_of(run(BUILD / "parallax", command, "--help").stdout) - {"--help"} for command in commands}


def test_the_page_of_the_tool_names_every_option_and_no_other(tool_options):
    text = (ROOT / "docs" / "cli.md").read_text().split("## Compared with ONNX Runtime")[0]
    assert options_of(text) - {"--help"} == set().union(*tool_options.values())
    assert set(re.findall(r"^    parallax (\w+) (?:MODEL|\[)", text, re.M)) == set(tool_options) >= {"info", "run", "simulate"}


def test_what_the_page_shows_of_a_command_it_takes(tool_options):
    for command, rest in re.findall(r"^    parallax (\w+) MODEL(.*)$", (ROOT / "docs" / "cli.md").read_text(), re.M):
        assert options_of(rest) <= tool_options[command], command


def test_headers_name_only_options_that_there_are(tool_options):
    for header in (ROOT / "include" / "parallax").glob("*.h"):
        assert options_of(header.read_text()) <= set().union(*tool_options.values()), header.name


def test_security_names_a_way_to_report():
    assert "*Report a vulnerability*" in (ROOT / "SECURITY.md").read_text()


def test_the_program_compiles(tmp_path):
    body = re.search(r"```cpp\n#include \"parallax/parallax.h\"\n(.*?)```", README, re.S).group(1)
    for result in re.findall(r"^auto (\w+) = ", body, re.M):
        assert f"if (!{result}) return fail({result}.error());" in body, f"what may fail is looked at: {result}"
    (tmp_path / "snippet.cc").write_text(
        '#include <array>\n#include "parallax/parallax.h"\nint fail(const parallax::Error&) { return 1; }\n'
        "int main() {\nstd::array<float, 64> pixels{};\n" + body + "\nreturn 0;\n}\n")
    done = run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-fsyntax-only", f"-I{ROOT / 'include'}", tmp_path / "snippet.cc")
    assert done.returncode == 0, done.stderr
