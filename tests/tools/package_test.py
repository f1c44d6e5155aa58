"""Tests of the .deb: made with cpack from this build tree, unpacked, run from there.

The Depends of the control file are the runtime packages of tools/packages.txt, and these own the
libraries which the program loads: nothing is missing, nothing is superfluous.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from program import PROGRAM, SOURCE, run


def command(*arguments, **options):
    """Standard output of a command that must succeed."""
    return subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True,
                          **options).stdout


def runtime_packages():
    """Runtime packages of the list, sorted."""
    lines = (SOURCE / 'tools/packages.txt').read_text(encoding='utf-8').splitlines()
    return sorted(line.split()[1] for line in lines if line.startswith('runtime '))


def owners_of(program):
    """Packages that own the libraries which a program names."""
    needed = re.findall(r'\(NEEDED\).*\[(.+)\]', command('readelf', '-d', program))
    loaded = command('ldd', program)
    owners = set()
    for library in needed:
        if library.startswith(('libasan', 'libubsan', 'libtsan')):
            continue  # sanitizer builds are not packaged
        path = re.search(rf'{re.escape(library)} => (\S+)', loaded)
        path = os.path.realpath(path.group(1) if path else shutil.which(library) or library)
        # Files that moved to /usr are still registered without it.
        for candidate in (path, path.removeprefix('/usr')):
            found = subprocess.run(['dpkg-query', '-S', candidate], capture_output=True, text=True,
                                   check=False)
            if found.returncode == 0:
                owners.add(found.stdout.split(':')[0])
                break
        else:
            raise AssertionError(f'no package owns {library} ({path})')
    return owners


@unittest.skipUnless(shutil.which('dpkg-deb') and shutil.which('readelf'), 'no dpkg-deb or readelf')
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        folder = pathlib.Path(cls.holder.name)
        build = pathlib.Path(PROGRAM).parent
        command('cpack', '-G', 'DEB', '-B', str(folder), '--config',
                str(build / 'CPackConfig.cmake'), cwd=folder)
        cls.deb = str(next(folder.glob('*.deb')))
        cls.root = folder / 'root'
        command('dpkg-deb', '--extract', cls.deb, str(cls.root))

    def test_depends_are_the_runtime_packages(self):
        depends = command('dpkg-deb', '--field', self.deb, 'Depends').strip()
        self.assertEqual(sorted(depends.split(', ')), runtime_packages())

    def test_runtime_packages_own_the_libraries_of_the_programs(self):
        shipped = sorted(path.name for path in (self.root / 'usr/bin').iterdir())
        self.assertEqual(shipped, ['busbw', 'busbw-rank'])
        owners = set()
        for name in shipped:
            owners |= owners_of(str(pathlib.Path(PROGRAM).parent / name))
        self.assertEqual(sorted(owners), runtime_packages())

    def test_installed_program_finds_its_catalogue(self):
        program = str(self.root / 'usr/bin/busbw')
        for kind in ('machines', 'scenarios'):
            expected = run('list', kind, '--json').stdout
            result = run('list', kind, '--json', program=program, cwd='/')
            self.assertEqual((result.returncode, result.stderr), (0, ''))
            self.assertEqual(result.stdout.replace(str(self.root / 'usr/share/busbw'), str(SOURCE)),
                             expected)

    def test_no_path_of_the_building_machine_is_inside(self):
        for path in sorted((self.root / 'usr/bin').iterdir()):
            found = re.findall(rb'[ -~]*' + re.escape(f'{SOURCE}/'.encode()) + rb'[ -~]*',
                               path.read_bytes())
            self.assertEqual(found[:10], [], path.name)


if __name__ == '__main__':
    unittest.main()
