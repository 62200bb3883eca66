#!/usr/bin/env python3
"""Prints the preprocessed text of a source as its build compiles it. Usage: preprocess.py BUILD_DIR FILE"""
import json
import os
import shlex
import subprocess
import sys

build, file = sys.argv[1], os.path.realpath(sys.argv[2])
for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
    if os.path.realpath(os.path.join(entry["directory"], entry["file"])) == file:
        words = [w for w in shlex.split(entry["command"]) if w != "-c"]
        if os.path.basename(words[0]) == "ccache":
            words = words[1:]
        out = words.index("-o")
        command = words[:out] + words[out + 2:] + ["-E", "-P"]
        sys.exit(subprocess.run(command, cwd=entry["directory"]).returncode)
sys.exit(f"{file} is not in the compile commands of {build}")
