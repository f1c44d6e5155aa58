"""Runs the built program for tests. BUSBW_PROGRAM, BUSBW_SOURCE_DIR and BUSBW_SANITIZE come from
CTest."""
import os
import pathlib
import subprocess
import unittest

PROGRAM = os.environ['BUSBW_PROGRAM']
SOURCE = pathlib.Path(os.environ['BUSBW_SOURCE_DIR'])
SANITIZED = bool(os.environ.get('BUSBW_SANITIZE'))
# For tests of a bound of time or memory.
without_sanitizers = unittest.skipIf(SANITIZED, 'sanitizers take time and memory of their own')
LONGEST = 300 if SANITIZED else 60  # seconds of one run


def run(*arguments, cwd=None, env=None, program=PROGRAM):
    """Runs `busbw arguments` without a terminal; stdout, stderr, returncode are in the result."""
    variables = {name: value for name, value in os.environ.items() if name != 'BUSBW_DATA'}
    variables.update(env or {})
    return subprocess.run([program, *arguments], cwd=cwd, env=variables, capture_output=True,
                          text=True, encoding='utf-8', timeout=LONGEST, check=False,
                          stdin=subprocess.DEVNULL)
