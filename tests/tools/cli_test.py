"""Tests of the built program from outside: exit codes, whole messages, JSON, terminals, pipes."""
import json
import os
import pty
import signal
import subprocess
import unittest

from program import PROGRAM, run


class CommandLine(unittest.TestCase):
    def check_error(self, arguments, message):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, '', message + '\n'))

    def test_no_command(self):
        self.check_error([], "error: no command given; see 'busbw --help'")

    def test_unknown_command(self):
        self.check_error(['versoin'], "error: unknown command 'versoin'; did you mean 'version'?")

    def test_unknown_option(self):
        self.check_error(['version', '--jsn'],
                         "error: unknown option '--jsn' of 'busbw version'; did you mean '--json'?")
        self.check_error(['--verison'],
                         "error: unknown option '--verison' of 'busbw'; did you mean '--version'?")

    def test_unexpected_argument(self):
        self.check_error(['version', 'now'], "error: unexpected argument 'now' of 'busbw version'")

    def test_every_wrong_word_is_reported(self):
        self.check_error(
            ['version', '--jsn', 'now'],
            "error: unknown option '--jsn' of 'busbw version'; did you mean '--json'?\n"
            "error: unexpected argument 'now' of 'busbw version'")

    def test_help_documents_the_exit_codes(self):
        result = run('--help')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('Exit codes: 0 done; 1 a bound missed or something found; 2 wrong',
                      result.stdout)
        self.assertIn('70 a bug in busbw', result.stdout)

    def test_version(self):
        result = run('--version')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertRegex(result.stdout, r'\Abusbw \d+\.\d+\.\d+\nSimGrid  3\.\d+\nverbs    .+\n'
                                        r'CUDA     .+\nhwloc    .+\n\Z')
        self.assertEqual(run('version').stdout, result.stdout)

    def test_version_json(self):
        value = json.loads(run('version', '--json').stdout)
        self.assertEqual(value['schema'], 'busbw.version/1')
        self.assertEqual(sorted(value['libraries']), ['cuda', 'hwloc', 'simgrid', 'verbs'])


class Streams(unittest.TestCase):
    def test_full_disk_is_a_system_error(self):
        with open('/dev/full', 'w', encoding='utf-8') as full:
            result = subprocess.run([PROGRAM, '--version'], stdout=full, stderr=subprocess.PIPE,
                                    text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr,
                         'error: write failed: No space left on device (on standard output)\n')

    def test_closed_pipe_ends_quietly(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        result = subprocess.run([PROGRAM, '--help'], stdout=write_end, stderr=subprocess.PIPE,
                                text=True, timeout=60, check=False)
        os.close(write_end)
        self.assertEqual((result.returncode, result.stderr), (-signal.SIGPIPE, ''))

    def on_terminal(self, **variables):
        """What `busbw nonsense` writes to a terminal."""
        env = dict(os.environ, TERM='xterm', **variables)
        if not variables:
            env.pop('NO_COLOR', None)
        master, slave = pty.openpty()
        subprocess.run([PROGRAM, 'nonsense'], stdout=slave, stderr=slave, env=env, timeout=60,
                       check=False)
        os.close(slave)
        text = os.read(master, 4096).decode()
        os.close(master)
        return text

    def test_colour_only_on_a_terminal_and_not_with_no_color(self):
        self.assertIn('\033[1;31merror:\033[0m unknown command', self.on_terminal())
        self.assertNotIn('\033', self.on_terminal(NO_COLOR='1'))
        self.assertNotIn('\033', run('nonsense').stderr)


if __name__ == '__main__':
    unittest.main()
