"""The command line tool: python -m parallax COMMAND ..."""
import os
import pathlib
import sys


def main() -> None:
    """Becomes the tool, with the arguments of this program."""
    tool = pathlib.Path(__file__).parent / "bin" / "parallax"
    if not tool.exists():
        sys.exit("parallax: this build of the package has no command line tool")
    os.execv(tool, ["parallax", *sys.argv[1:]])


if __name__ == "__main__":
    main()
