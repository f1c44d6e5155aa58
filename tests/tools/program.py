"""Runs the built program for tests. BUSBW_PROGRAM and BUSBW_SOURCE_DIR come from CTest."""
import os
import pathlib
import subprocess

PROGRAM = os.environ['BUSBW_PROGRAM']
SOURCE = pathlib.Path(os.environ['BUSBW_SOURCE_DIR'])


def run(*arguments, cwd=None, env=None, program=PROGRAM):
    """Runs `busbw arguments` without a terminal; stdout, stderr, returncode are in the result."""
    variables = {name: value for name, value in os.environ.items() if name != 'BUSBW_DATA'}
    variables.update(env or {})
    return subprocess.run([program, *arguments], cwd=cwd, env=variables, capture_output=True,
                          text=True, encoding='utf-8', timeout=60, check=False,
                          stdin=subprocess.DEVNULL)
