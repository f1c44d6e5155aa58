"""Tests of `busbw perf` from outside: nccl-tests' table, JSON, CSV, plot, wrong command lines."""
import json
import pathlib
import resource
import tempfile
import unittest
import xml.etree.ElementTree

from program import run, without_sanitizers


def cpu_seconds():
    """CPU time of finished children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Perf(unittest.TestCase):
    def test_the_table_of_nccl_tests(self):
        result = run('perf', 'all_reduce', '--machine', 'dgx-a100', '--nodes', '2',
                     '-b', '1K', '-e', '1M', '-f', '4')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        rows = [line.split() for line in result.stdout.splitlines() if not line.startswith('#')]
        self.assertEqual([row[0] for row in rows[1:]],
                         [str(1 << power) for power in range(10, 21, 2)])
        for row in rows[1:]:
            size, count, kind, redop, root, time, algbw, busbw = row[:8]
            self.assertEqual((int(count) * 4, kind, redop, root), (int(size), 'float', 'sum', '-1'))
            self.assertAlmostEqual(float(algbw), int(size) / float(time) / 1e3, delta=0.006)
            self.assertAlmostEqual(float(busbw), float(algbw) * 2 * 15 / 16, delta=0.02)
        average = sum(float(row[7]) for row in rows[1:]) / 6
        self.assertRegex(result.stdout, r'\n# Avg bus bandwidth    : ')
        printed = float(result.stdout.split('# Avg bus bandwidth    : ')[1])
        self.assertAlmostEqual(printed, average, delta=0.02)

    def test_steps(self):
        result = run('perf', 'all_reduce', '--machine', 'dgx-a100', '-b', '1M', '-e', '3M', '-i',
                     '1M', '--csv', '-')
        self.assertEqual([line.split(',')[1] for line in result.stdout.splitlines()[1:]],
                         ['1048576', '2097152', '3145728'])

    def test_json_files_and_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            plot = pathlib.Path(folder) / 'p.svg'
            result = run('perf', 'all_reduce', '--machine', 'dgx-h100', '-g', '4', '-b', '64K',
                         '-e', '16M', '-f', '2', '--json', '-', '--plot', str(plot),
                         '--env', 'NCCL_ALGO=Ring', '--nccl-version', '2.27')
            self.assertEqual((result.returncode, result.stderr), (0, ''))
            value = json.loads(result.stdout)
            root = xml.etree.ElementTree.parse(plot).getroot()
        self.assertEqual((value['schema'], value['ranks'], value['nccl_version']),
                         ('busbw.perf/1', 4, '2.27.7'))
        self.assertEqual({entry['algorithm'] for entry in value['results']}, {'Ring'})
        space = '{http://www.w3.org/2000/svg}'
        marks = [c for c in root.iter(space + 'circle') if c.get('r') == '3']
        # Every size twice: on the curve and by its choice.
        self.assertEqual(len(marks), 2 * len(value['results']))

    def test_a_machine_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'm.yaml'
            path.write_text('name: m\ngpus: {model: L40S, count: 2}\n'
                            'cpus: {model: Intel Ice Lake-SP}\npcie: {generation: 4}\n',
                            encoding='utf-8')
            result = run('perf', 'all_reduce', '--machine', str(path))
        self.assertEqual((result.returncode, result.stderr), (0, ''))

    def test_a_job_that_does_not_run(self):
        result = run('perf', 'all_reduce', '--machine', 'dgx-h100', '--nodes', '2', '--env',
                     'NCCL_NET=nothing')
        self.assertEqual((result.returncode, result.stderr), (1, ''))
        self.assertIn('# the job does not run: ', result.stdout)

    def test_wrong_command_lines(self):
        base = ['all_reduce', '--machine', 'dgx-h100']
        for arguments, message in [
                (['all_redce', '--machine', 'dgx-h100'],
                 "error: unknown collective 'all_redce'; did you mean 'all_reduce'?\n"),
                (['all_reduce', '--machine', 'dgx-h1000'],
                 "error: unknown machine 'dgx-h1000'; did you mean 'dgx-h100'?\n"),
                (base + ['--nodes', '0'],
                 "error: --nodes '0': allowed are whole numbers from 1 to 4096\n"),
                (base + ['-g', '9'], "error: -g '9': allowed are whole numbers from 1 to 8\n"),
                (base + ['-f', '2', '-i', '1M'], 'error: -i and -f: give one of them\n'),
                (base + ['-b', '2M', '-e', '1M'], 'error: -b 2M is above -e 1M\n'),
                (base + ['-b', '1', '-e', '32M', '-i', '1'],
                 'error: more than 10000 sizes from -b 1 to -e 32M\n'),
                (base + ['-b', '5X'], "error: -b: "),
                (base + ['--env', 'x'], "error: --env 'x' is not of the form NAME=VALUE\n")]:
            with self.subTest(arguments=arguments):
                result = run('perf', *arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ''))
                self.assertTrue(result.stderr.startswith(message), result.stderr)

    @without_sanitizers
    def test_eight_gpus_from_8_bytes_to_8_gib_take_under_two_seconds(self):
        before = cpu_seconds()
        result = run('perf', 'all_reduce', '--machine', 'dgx-h100', '-b', '8', '-e', '8G', '-f',
                     '2', '--csv', '-')
        self.assertEqual(len(result.stdout.splitlines()), 32)
        self.assertLess(cpu_seconds() - before, 2)


FABRIC = """schema: busbw.fabric/1
name: f
topology: fat-tree
tiers: 2
leaf_ports: 2
spines: 2
hosts: [{count: 4, rate: 100 Gb/s}]
switches: SB7800
"""


class Fabric(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = pathlib.Path(holder.name) / 'f.yaml'
        self.path.write_text(FABRIC, encoding='utf-8')

    def perf(self, *arguments):
        """On four hosts of the fabric."""
        return run('perf', 'all_reduce', '--machine', 'a100-40gb-x4', '--nodes', '4', '--fabric',
                   str(self.path), '-b', '16M', '-e', '32M', '-f', '2', *arguments)

    def test_the_hottest_links_are_shown(self):
        text = self.perf().stdout
        self.assertIn('# hottest links of 32 MiB\n', text)
        self.assertNotIn('# hottest links of 16 MiB', text)
        value = json.loads(self.perf('--json', '-', '--hottest', '2').stdout)
        for size in value['results']:
            self.assertEqual(len(size['hottest_links']), 2)
            self.assertTrue(all(link['connections'] for link in size['hottest_links']))
        self.assertNotIn('hottest', self.perf('--hottest', '0').stdout)

    def test_how_the_switches_spread(self):
        # Packets over both spines carry what two flows on one way to each do at best.
        def busbw(*arguments):
            return json.loads(self.perf('--json', '-', *arguments).stdout)['average_busbw_GBps']

        self.assertGreaterEqual(busbw('--adaptive-routing') * 1.001, busbw())
        for arguments, message in [
                (['--ecmp', '5-tuple'], "'ecmp' of network 'ib' is a matter of Ethernet"),
                (['--ecmp', 'flwlet'], "unknown --ecmp 'flwlet'; did you mean 'flowlet'?"),
                (['--ecmp', 'packet,x'], 'seed of --ecmp'),
                (['--ecmp', 'packet', '--adaptive-routing'], 'give one of them'),
                (['--hottest', '-1'], '--hottest must be from 0 to 10000, found -1')]:
            result = self.perf(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ''), arguments)
            self.assertIn(message, result.stderr)

    def test_a_fabric_that_breaks_the_job(self):
        self.path.write_text(FABRIC + 'subnet_manager: {partitions: [{pkey: 1, hosts: [node0, '
                             'node1]}, {pkey: 2, hosts: [node2, node3]}]}\n', encoding='utf-8')
        result = self.perf()
        self.assertEqual(result.returncode, 1)
        self.assertIn('# the job does not run: 16 MiB fails 34.4', result.stdout)
        self.assertIn('status=IBV_WC_RETRY_EXC_ERR(12)', result.stdout)


if __name__ == '__main__':
    unittest.main()
