"""Tests of tools/setup.sh, tools/run and tools/test with fake package tools; installs nothing."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def packages(*roles):
    """Packages of these roles, as tools/packages.txt lists them."""
    found = []
    for line in (ROOT / 'tools/packages.txt').read_text(encoding='utf-8').splitlines():
        if line and not line.startswith('#') and line.split()[0] in roles:
            found.append(line.split()[1])
    return found


class Fakes(unittest.TestCase):
    """A folder of fake commands that write down how they were called."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.calls = self.folder / 'calls'
        self.calls.write_text('', encoding='utf-8')
        self.fake('apt-get', 'echo "apt-get $*" >>"$CALLS"; exit "${APT_STATUS:-0}"')
        self.fake('sudo', 'echo "sudo $*" >>"$CALLS"')
        self.fake('id', 'echo "${USER_ID:-0}"')

    def fake(self, name, body):
        """Puts a command of this name in front of the PATH."""
        path = self.folder / name
        path.write_text(f'#!/bin/bash\n{body}\n', encoding='utf-8')
        path.chmod(0o755)

    def installed(self, *names):
        """Makes dpkg-query say that exactly these packages are there."""
        cases = '|'.join(names) or 'none'
        self.fake('dpkg-query',
                  f'case "${{@: -1}}" in {cases}) echo -n installed;; *) exit 1;; esac')

    def shell(self, script, **variables):
        """Runs `script` after sourcing setup.sh."""
        env = dict(os.environ, PATH=f'{self.folder}:{os.environ["PATH"]}', CALLS=str(self.calls),
                   **variables)
        return subprocess.run(['bash', '-c', f'source "{ROOT}/tools/setup.sh"; {script}'], env=env,
                              capture_output=True, text=True, timeout=60, check=False)

    def called(self):
        """What was called, line by line."""
        return self.calls.read_text(encoding='utf-8').splitlines()


class InstallRoles(Fakes):
    def test_nothing_is_done_when_all_is_there(self):
        self.installed(*packages('build', 'test'))
        result = self.shell('install_roles build test')
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))
        self.assertEqual(self.called(), [])

    def test_only_what_is_missing_is_installed_and_named(self):
        there = [name for name in packages('build', 'test') if name not in ('cmake', 'python3')]
        self.installed(*there)
        result = self.shell('install_roles build test')
        self.assertEqual((result.returncode, result.stdout), (0, ''))
        self.assertEqual(result.stderr, 'busbw: installing with apt-get: cmake python3\n')
        self.assertEqual(self.called(),
                         ['apt-get update',
                          'apt-get install -y --no-install-recommends cmake python3'])

    def test_sudo_when_not_root(self):
        self.installed()
        self.assertEqual(self.shell('install_roles test', USER_ID='1000').returncode, 0)
        self.assertEqual(self.called()[0], 'sudo apt-get update')
        self.assertRegex(self.called()[1],
                         r'^sudo env DEBIAN_FRONTEND=noninteractive apt-get install ')

    def test_failure_of_apt_is_reported(self):
        self.installed()
        result = self.shell('install_roles test', APT_STATUS='100')
        self.assertEqual(result.returncode, 100)
        self.assertIn('busbw: apt-get failed (status 100): the packages above are still missing\n',
                      result.stderr)
        self.assertEqual(self.called(), ['apt-get update'])


# A project of nothing but tests, for the real cmake and ctest.
SMALL_PROJECT = '''cmake_minimum_required(VERSION 3.25)
project(small NONE)
enable_testing()
add_test(NAME good COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME slow COMMAND ${CMAKE_COMMAND} -E false)
set_tests_properties(slow PROPERTIES LABELS long)
add_test(NAME absent COMMAND ${CMAKE_COMMAND} -E echo "no HCA here")
set_tests_properties(absent PROPERTIES SKIP_REGULAR_EXPRESSION "no HCA")
'''
PRESETS = '''{"version": 4, "configurePresets": [{"name": "release", "generator": "Ninja",
 "binaryDir": "${sourceDir}/build/release"}]}'''


class Builds(Fakes):
    def copy_of_scripts(self):
        """A folder with a copy of tools/test and what it needs."""
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        copy = pathlib.Path(holder.name)
        (copy / 'tools').mkdir()
        for name in ('setup.sh', 'test', 'run', 'packages.txt', 'test_report.py'):
            shutil.copy(ROOT / 'tools' / name, copy / 'tools' / name)
        return copy

    def script(self, copy, name):
        """Runs a script of the copy, from another folder, without a terminal."""
        env = dict(os.environ, PATH=f'{self.folder}:{os.environ["PATH"]}', CALLS=str(self.calls))
        return subprocess.run([copy / 'tools' / name], env=env, cwd='/', capture_output=True,
                              text=True, timeout=100, check=False, stdin=subprocess.DEVNULL)

    def test_counts_of_a_small_project_twice(self):
        self.installed(*packages('build', 'test', 'roce'))
        copy = self.copy_of_scripts()
        (copy / 'CMakePresets.json').write_text(PRESETS, encoding='utf-8')
        lists = copy / 'CMakeLists.txt'
        lists.write_text(SMALL_PROJECT, encoding='utf-8')
        for _ in range(2):  # the label `long` is left out: `slow` would fail
            result = self.script(copy, 'test')
            self.assertEqual((result.returncode, result.stdout),
                             (0, 'skipped 1: no HCA here\n1 passed, 0 failed, 1 skipped\n'))
        lists.write_text(SMALL_PROJECT + 'add_test(NAME bad COMMAND ${CMAKE_COMMAND} -E false)\n'
                         'add_test(NAME gone COMMAND ./no-such-program)\n', encoding='utf-8')
        result = self.script(copy, 'test')
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines()[-1], '1 passed, 2 failed, 1 skipped')
        self.assertIn('failed:\n  release: bad\n  release: gone\n', result.stdout)

    def test_failed_build_shows_the_error_and_no_counts(self):
        self.installed(*packages('build', 'test', 'check', 'roce'))
        self.fake('cmake', 'case "$*" in *--build*) echo "[1/2] cc a.cpp"; '
                           'echo "a.cpp:1:2: error: no such thing"; exit 1;; esac')
        copy = self.copy_of_scripts()
        for name, status in (('test', 2), ('run', 70)):
            with self.subTest(name=name):
                result = self.script(copy, name)
                self.assertEqual((result.returncode, result.stdout), (status, ''))
                self.assertIn('a.cpp:1:2: error: no such thing\n', result.stderr)
                self.assertNotIn('[1/2]', result.stderr)
                self.assertNotIn('passed', result.stderr)

    def test_unknown_argument(self):
        result = subprocess.run([ROOT / 'tools/test', '--al'], capture_output=True, text=True,
                                timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr),
                         (2, "busbw: unknown argument '--al'; usage: tools/test [--all]\n"))


class Lists(unittest.TestCase):
    def test_every_line_has_a_known_role_and_one_place(self):
        seen = set()
        for line in (ROOT / 'tools/packages.txt').read_text(encoding='utf-8').splitlines():
            if line and not line.startswith('#'):
                role, package, purpose = line.split(None, 2)
                self.assertIn(role, ('build', 'test', 'runtime', 'check', 'roce', 'optional'))
                self.assertTrue(purpose)
                self.assertNotIn(package, seen)
                seen.add(package)

    def test_readme_names_the_list_and_no_package_of_its_own(self):
        readme = (ROOT / 'README.md').read_text(encoding='utf-8')
        self.assertIn('(tools/packages.txt)', readme)
        known = packages('build', 'test', 'runtime', 'check', 'roce', 'optional')
        for word in re.findall(r'`(lib[a-z0-9.+-]+|[a-z0-9.+-]+-dev)`', readme):
            self.assertIn(word, known)

    def test_readme_names_the_optional_packages(self):
        readme = (ROOT / 'README.md').read_text(encoding='utf-8')
        for package in packages('optional'):
            self.assertIn(f'`{package}`', readme)


if __name__ == '__main__':
    unittest.main()
