"""Runs tools/soft-roce for tests; these end as skipped, with the reason, without devices."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # what CTest takes as skipped; the reason is the last line printed

# Shell functions: listens waits for a listening TCP port of perftest and its like.
LISTENS = '''
listens() {
  for ((try = 0; try < 600; ++try)); do
    [ -z "$(ss -Hltn "sport = :${1:-18515}")" ] || return 0
    sleep 0.1
  done
  return 1
}
'''


def arguments(script, *options, limit=900):
    """The command line that runs the bash text `script` with soft-RoCE devices."""
    return [ROOT / 'tools/soft-roce', '--timeout', str(limit), *options, '--',
            'bash', '-c', LISTENS + script]


def skip_without_devices(status, error):
    """Ends the whole program where soft-RoCE is not to be had: the reason holds for all tests."""
    if status == 3 and 'soft-RoCE cannot be had here' in error:
        print(error.splitlines()[-1], flush=True)
        os._exit(SKIPPED)


def run(script, *options, limit=900, environment=None, cwd=None):
    """Runs `script` with devices; gives the finished process with its output as text."""
    result = subprocess.run(
        arguments(script, *options, limit=limit), env=dict(os.environ, **(environment or {})),
        cwd=cwd, capture_output=True, text=True, timeout=limit + 1000, check=False,
        stdin=subprocess.DEVNULL)
    skip_without_devices(result.returncode, result.stderr)
    return result
