"""Tests of what tools/soft-roce refuses, and of machines that cannot have it; boots nothing."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
USAGE = ('busbw: usage: tools/soft-roce [--hosts N] [--shape DEV=RATE]... [--timeout S] '
         '[--out DIR] [--icount] [--guest] [--] COMMAND...\n')


def soft_roce(*arguments):
    """Runs the tool."""
    return subprocess.run([ROOT / 'tools/soft-roce', *arguments], capture_output=True, text=True,
                          timeout=60, check=False, stdin=subprocess.DEVNULL)


class Usage(unittest.TestCase):
    CASES = [
        ([], 'a command is needed'),
        (['--hosts'], '--hosts needs a value'),
        (['--hosts', '17', 'true'], "--hosts '17': a number from 1 to 16 is needed"),
        (['--hosts', '2x', 'true'], "--hosts '2x': a number from 1 to 16 is needed"),
        (['--timeout', '0', 'true'],
         "--timeout '0': whole seconds from 1 to 999999 are needed"),
        (['--shape', 'rxe1', 'true'],
         "--shape 'rxe1': DEV=RATE is needed, like rxe1=40mbit"),
        (['--shape', 'eth0=40mbit', 'true'],
         "--shape 'eth0=40mbit': DEV=RATE is needed, like rxe1=40mbit"),
        (['--shape', 'rxe1=40', 'true'],
         "--shape 'rxe1=40': DEV=RATE is needed, like rxe1=40mbit"),
        (['--shape', 'mgmt2=40mbit', 'true'],
         "--shape 'mgmt2=40mbit': with --hosts 2 the last device is mgmt1"),
        (['--host', '2', 'true'], "unknown option '--host'"),
        (['--out', '/dev/null/x', 'true'],
         "--out '/dev/null/x': not a folder that can be written to"),
    ]

    def test_wrong_arguments(self):
        for arguments, message in self.CASES:
            with self.subTest(arguments=arguments):
                result = soft_roce(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ''))
                self.assertTrue(result.stderr.endswith(f'busbw: {message}\n{USAGE}'),
                                result.stderr)

    def test_help_names_every_option(self):
        result = soft_roce('--help')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        for option in ('--hosts', '--shape', '--timeout', '--out', '--icount', '--guest'):
            self.assertIn(f'\n  {option}', result.stdout)


class Absent(unittest.TestCase):
    """A copy of the tool with fakes in front of the PATH: nothing is fetched or installed."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.copy = pathlib.Path(holder.name)
        (self.copy / 'tools').mkdir()
        (self.copy / 'fakes').mkdir()
        for name in ('soft-roce', 'soft_roce_guest.sh', 'soft_roce_hosts.sh', 'soft_roce_init.sh',
                     'setup.sh', 'packages.txt'):
            shutil.copy(ROOT / 'tools' / name, self.copy / 'tools' / name)

    def fake(self, name, body=''):
        """A command of this name in front of the PATH."""
        path = self.copy / 'fakes' / name
        path.write_text(f'#!/bin/bash\n{body}\n', encoding='utf-8')
        path.chmod(0o755)

    def only(self):
        """No commands but those that the tool uses anyway."""
        for name in ('awk', 'bash', 'dirname', 'env', 'flock', 'grep', 'id', 'mkdir', 'mktemp',
                     'nproc', 'rm', 'sed', 'tail', 'timeout', 'uname'):
            if not (self.copy / 'fakes' / name).exists():
                (self.copy / 'fakes' / name).symlink_to(shutil.which(name))

    def lines(self, path=None):
        """What the tool says when it has to do with the guest; it must not run the command."""
        path = path or f'{self.copy}/fakes:{os.environ["PATH"]}'
        result = subprocess.run(
            [shutil.which('bash'), self.copy / 'tools/soft-roce', '--guest', '--', 'echo', 'ran'],
            env=dict(os.environ, PATH=path), capture_output=True, text=True, timeout=60,
            check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stdout), (3, ''), result.stderr)
        return result.stderr.splitlines()

    def test_another_processor(self):
        self.fake('uname', 'echo aarch64')
        self.assertEqual(self.lines(), ['busbw: soft-RoCE cannot be had here: the guest is for '
                                        'x86_64, and this is aarch64'])

    def test_no_qemu_and_no_way_to_install_it(self):
        self.fake('id', 'echo 0')
        self.fake('apt-get', 'echo "E: no route to the archive" >&2; exit 100')
        self.fake('dpkg-query', 'exit 1')
        self.only()
        self.assertEqual(
            self.lines(path=str(self.copy / 'fakes')),
            ['busbw: installing the packages that the guest needs',
             'busbw: soft-RoCE cannot be had here: qemu-system-x86_64 is missing: apt-get failed '
             '(status 100): the packages above are still missing'])

    def test_no_kernel_package(self):
        for name in ('qemu-system-x86_64', 'busybox', 'cpio', 'depmod', 'modprobe', 'xz',
                     'dpkg-deb', 'ip', 'rdma', 'tc'):
            self.fake(name)
        self.fake('apt-cache', 'echo "  Depends: linux-image-6.1.0-1-amd64"')
        self.fake('apt-get', 'echo "E: no route to the archive" >&2; exit 100')
        self.assertEqual(
            self.lines(),
            ['busbw: fetching a kernel with soft-RoCE (once, 70 MB)',
             'busbw: soft-RoCE cannot be had here: apt-get cannot fetch the kernel package of '
             'Debian: E: no route to the archive'])


if __name__ == '__main__':
    unittest.main()
