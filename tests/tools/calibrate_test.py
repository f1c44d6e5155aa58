"""Tests of `busbw calibrate`, `busbw run --parameters` and `busbw validate` over loopback.

Figures of a busy machine's loopback say nothing, so none is judged here; on emulated devices
soft_roce_validate_test.py judges.
"""
import csv
import io
import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import time
import unittest

from program import PROGRAM, run

QUICK = ('--completion', 'event', '--iters', '20')
LOOPBACK = ('--network', 'tcp', '--devices', 'lo,lo')
SCENARIO = '''schema: busbw.scenario/1
name: loopback
title: Two ranks over loopback
nccl: 2.28.9
cluster:
  hosts: 2
  machine:
    name: host
    gpus: {model: H200-SXM5-141GB, count: 1}
    cpus: {model: Intel Emerald Rapids}
    pcie: {generation: 5}
    nics: [{name: eth0, attach: virtual, rate: 10 Gb/s}]
  networks: [{name: net, nics: [eth0]}]
environment: {NCCL_PROTO: Simple}
workload: {collective: all_reduce, sizes: [64 KiB, 256 KiB]}
real: {devices: [lo, lo], completion: event, iterations: 3, warmup: 1}
validate: {judged: %s, from: 128 KiB, median_percent: %s, worst_percent: %s%s}
variants:
  - {name: ring, environment: {NCCL_ALGO: Ring}}
  - {name: tree, environment: {NCCL_ALGO: Tree}}
'''
PARAMETERS = '''schema: busbw.parameters/1
source: by hand
machines: [{name: host, processors: 8, ends: [a, b]}]
links:
  - {from: a, to: b, mover: tcp, latency: 10 us, send_overhead: 1 us, receive_overhead: 1 us,
     gap: 1 us, bandwidth: 1 MB/s}
  - {from: b, to: a, mover: tcp, latency: 10 us, send_overhead: 1 us, receive_overhead: 1 us,
     gap: 1 us, bandwidth: 1 MB/s}
'''
QUICKEST = '''schema: busbw.parameters/1
source: by hand
machines: [{name: host, processors: 8, ends: [lo]}]
links:
  - {from: lo, to: lo, mover: tcp, latency: 0, send_overhead: 0, receive_overhead: 0, gap: 0,
     bandwidth: 1000 GB/s}
'''


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        """A file with this text."""
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return str(path)

    def scenario(self, judged='false', median=10, worst=25, more=''):
        """The scenario above with these bounds."""
        return self.write('s.yaml', SCENARIO % (judged, median, worst, more))


class Calibrate(Folder):
    def test_parameters_table_and_json(self):
        path = self.folder / 'p.yaml'
        result = run('calibrate', *LOOPBACK, *QUICK, '-o', str(path))
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('1/G(MB/s)', result.stdout)
        self.assertIn('schema: busbw.parameters/1', path.read_text())
        result = run('calibrate', *LOOPBACK, *QUICK, '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        value = json.loads(result.stdout)
        self.assertEqual(value['schema'], 'busbw.calibrate/1')
        self.assertEqual([(link['from'], link['to'], link['mover']) for link in value['links']],
                         [('lo', 'lo', 'tcp')])
        link = value['links'][0]
        for key in ('bandwidth_GBps', 'gap_us'):
            self.assertGreater(link[key], 0)
        self.assertEqual({row['benchmark'] for row in link['samples']},
                         {'ping-pong', 'stream', 'sender load', 'receiver load'})
        self.assertEqual(value['machines'][0]['ends'], ['lo'])
        self.assertIn('completion by events', value['source'])

    def test_several_networks_and_standard_output(self):
        result = run('calibrate', '--network', 'tcp,shm', '--env', 'NCCL_SOCKET_IFNAME=lo', *QUICK,
                     '-o', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertTrue(result.stdout.startswith('schema: busbw.parameters/1\n'))
        self.assertIn('mover: tcp', result.stdout)
        self.assertIn('mover: shm', result.stdout)

    def test_of_a_scenario(self):
        result = run('calibrate', self.scenario(), '--iters', '20', '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        value = json.loads(result.stdout)
        self.assertEqual([(link['from'], link['mover']) for link in value['links']],
                         [('lo', 'tcp')])

    def test_under_a_launcher(self):
        processes = [subprocess.Popen(
            [PROGRAM, 'calibrate', *LOOPBACK, *QUICK, '--json', '-'], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, 'OMPI_COMM_WORLD_RANK': str(rank), 'OMPI_COMM_WORLD_SIZE': '2',
                 'OMPI_COMM_WORLD_LOCAL_SIZE': '2', 'MASTER_PORT': '29871'}) for rank in range(2)]
        outputs = [process.communicate(timeout=100) for process in processes]
        for process, (_, errors) in zip(processes, outputs):
            self.assertEqual((process.returncode, errors), (0, ''))
        self.assertEqual(json.loads(outputs[0][0])['schema'], 'busbw.calibrate/1')
        self.assertEqual(outputs[1][0], '')

    def test_wrong_options_all_at_once(self):
        result = run('calibrate', '--network', 'tpc,auto', '--method', 'writ', '--devices', 'a,b,c',
                     '--ranks', '2', '--iters', '0', '--completion', 'pol', '-o', '-', '--json',
                     '-', '--variant', 'x')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        for text in ("did you mean 'tcp'", "not 'auto'", "did you mean 'write'",
                     '--devices names 3 for 2 ranks', '--devices are those of one network',
                     '--iters', "did you mean 'poll'", '-o - and --json -',
                     '--variant goes with a scenario'):
            self.assertIn(text, result.stderr)
        result = run('calibrate', self.scenario(), '--network', 'tcp', '--ranks', '2', '--devices',
                     'lo')
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count('does not go with a scenario, which says it'), 3)
        result = run('calibrate', '--network', 'tcp', '--devices', 'lo,nosuch')
        self.assertEqual((result.returncode, result.stdout), (3, ''))
        self.assertIn('nosuch', result.stderr)


class RunWithParameters(Folder):
    """A ring of two at 1 MB/s each way: 64 KiB take 2 x 32768 us, and some times 12 us."""

    def predicted(self, *arguments, code=0):
        """JSON of a prediction."""
        result = run('run', *arguments, '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (code, ''))
        return json.loads(result.stdout)

    def test_measured_links_replace_the_catalogue(self):
        text = (SCENARIO % ('false', 10, 25, '')).replace('devices: [lo, lo]', 'devices: [a, b]')
        scenario = self.write('s.yaml', text)
        parameters = self.write('p.yaml', PARAMETERS)
        plain = self.predicted(scenario)['variants'][0]
        self.assertIsNone(plain['parameters'])
        times = []
        for engine in ('fluid', 'reference'):
            variant = self.predicted(scenario, '--parameters', parameters, '--engine',
                                     engine)['variants'][0]
            self.assertEqual(variant['parameters'], parameters)
            self.assertIn('network.measured', json.dumps(variant['decision']['reasons']))
            times.append(variant['results'][0]['time_us'])
        # Two channels share each port; the second half of a channel waits for the first: 2 steps of
        # 32768 bytes and a few times 12 us.
        self.assertAlmostEqual(times[0], 65536, delta=300)
        self.assertGreater(times[0], 65536)
        self.assertAlmostEqual(times[0], times[1], delta=0.01)
        # The key of the scenario does the same.
        keyed = self.write('k.yaml', text.replace('workload:', 'parameters: p.yaml\nworkload:'))
        again = self.predicted(keyed)['variants'][0]
        self.assertEqual(again['results'][0]['time_us'], times[0])

    def test_the_report_says_where_the_links_come_from(self):
        text = (SCENARIO % ('false', 10, 25, '')).replace('devices: [lo, lo]', 'devices: [a, b]')
        parameters = self.write('p.yaml', PARAMETERS.replace('processors: 8', 'processors: 1'))
        result = run('run', self.write('s.yaml', text), '--parameters', parameters)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        joined = ' '.join(result.stdout.split())
        self.assertIn("are those that were measured by 'tcp' from a, b, in place of the "
                      "catalogue's; 2 ranks share the 1 processor of host [network.measured]",
                      joined)

    def test_what_the_file_lacks_is_named(self):
        parameters = self.write('p.yaml', PARAMETERS)
        result = run('run', self.scenario(), '--parameters', parameters)
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertEqual(result.stderr, f"error: {parameters} has no parameters of 'lo' for the "
                                        "mover 'tcp'; allowed: 'a' or 'b'\n")
        wrong = self.write('w.yaml', PARAMETERS.replace('latency', 'latancy', 1))
        result = run('run', self.scenario(), '--parameters', wrong)
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertEqual(
            result.stderr, f"{wrong}:5:5: error: missing key 'latency' in a link\n"
            f"{wrong}:5:34: error: unknown key 'latancy' in a link; did you mean 'latency'?\n")


class Validate(Folder):
    def test_predicts_and_measures_every_point(self):
        parameters = self.folder / 'p.yaml'
        table = self.folder / 't.csv'
        result = run('validate', self.scenario(), '--calibration-iters', '20', '-o',
                     str(parameters), '--csv', str(table), '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        value = json.loads(result.stdout)
        self.assertEqual(value['schema'], 'busbw.validate/1')
        self.assertEqual([(point['variant'], point['algorithm'], point['mover'], point['ranks'],
                           point['bytes']) for point in value['points']],
                         [(name, name.capitalize(), 'tcp', 2, size)
                          for name in ('ring', 'tree') for size in (65536, 262144)])
        for point in value['points']:
            times = point['measured_us']
            self.assertTrue(0 < times['min'] <= times['median'] <= times['max'])
            self.assertAlmostEqual(point['error_percent'],
                                   (point['predicted_us'] / times['median'] - 1) * 100, places=6)
            self.assertFalse(point['judged'])
        self.assertEqual((value['summary']['judged'], value['summary']['met']), (0, True))
        rows = list(csv.DictReader(io.StringIO(table.read_text())))
        self.assertEqual([row['variant'] for row in rows], ['ring', 'ring', 'tree', 'tree'])
        # The written parameters serve again; nothing is calibrated then.
        result = run('validate', self.scenario(), '--parameters', str(parameters), '--variant',
                     'ring', '--sizes', '128K')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn(f'parameters: {parameters}', result.stdout)
        self.assertIn('reported, not judged', result.stdout)
        self.assertIn('131072', result.stdout)

    def test_bounds_decide_the_exit_code(self):
        # Predicted from parameters that are too good to be true, an error is at most -100 %.
        quick = self.write('q.yaml', QUICKEST)
        result = run('validate', self.scenario('true', 100, 100), '--parameters', quick)
        self.assertIn('bound met: median error of 2 judged points', result.stdout)
        self.assertEqual(result.returncode, 0, result.stdout)
        # No prediction is exact to the picosecond.
        result = run('validate', self.scenario('true', 0, 0), '--parameters', quick)
        self.assertEqual((result.returncode, result.stderr), (1, ''))
        self.assertIn('bound MISSED: worst error', result.stdout)
        ratio = ', ratios: [{of: tree, over: ring, within_percent: 0}]'
        result = run('validate', self.scenario('true', 100, 100, ratio), '--parameters', quick)
        self.assertEqual((result.returncode, result.stderr), (1, ''))
        self.assertIn("bound MISSED: time of 'tree' over 'ring' at 262144 bytes", result.stdout)

    def test_setup_names_the_options_of_soft_roce(self):
        more = (', soft_roce: {hosts: 3, shapes: [{device: rxe1, rate: 40 Mb/s}, '
                '{device: mgmt1, rate: 1.5 Mb/s}]}')
        result = run('validate', self.scenario(more=more), '--setup')
        self.assertEqual((result.returncode, result.stderr, result.stdout),
                         (0, '', '--hosts 3 --shape rxe1=40mbit --shape mgmt1=1500kbit\n'))
        result = run('validate', self.scenario(), '--setup')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertIn("no 'soft_roce'", result.stderr)

    def test_wrong_options(self):
        for arguments, text in ((('--json', '-', '--csv', '-'), 'would both write'),
                                (('-o', '-'), '-o needs the name of a file'),
                                (('-o', 'x', '--parameters', self.write('p.yaml', PARAMETERS)),
                                 '--parameters measures nothing'),
                                (('--engine', 'fluit'), "did you mean 'fluid'"),
                                (('--variant', 'rang'), "did you mean 'ring'"),
                                (('--calibration-iters', '0'), '--calibration-iters'),
                                (('--sizes', '4Q'), '4Q')):
            result = run('validate', self.scenario(), *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ''), arguments)
            self.assertIn(text, result.stderr)
        result = run('validate', self.scenario(),
                     env={'RANK': '0', 'WORLD_SIZE': '2', 'MASTER_ADDR': '127.0.0.1',
                          'MASTER_PORT': '29872'})
        self.assertEqual(result.returncode, 2)
        self.assertIn('validate starts its ranks itself', result.stderr)

    def test_a_failing_rank_ends_it(self):
        text = SCENARIO % ('false', 10, 25, '')
        result = run('validate', self.write('s.yaml', text.replace('[lo, lo]', '[lo, gone]')))
        self.assertEqual((result.returncode, result.stdout), (3, ''))
        self.assertIn('gone', result.stderr)

    def test_a_signal_ends_it(self):
        # pylint: disable-next=consider-using-with
        process = subprocess.Popen([PROGRAM, 'validate', self.scenario(), '--calibration-iters',
                                    '100000'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=40)
        self.assertEqual((process.returncode, output), (130, ''), errors)
        self.assertEqual(errors, 'error: wait failed: interrupted by SIGINT\n')

    def test_progress_is_shown_on_a_terminal_only(self):
        here, there = pty.openpty()
        with open(os.devnull, 'w', encoding='ascii') as nothing:
            # pylint: disable-next=consider-using-with
            process = subprocess.Popen([PROGRAM, 'validate', self.scenario(), '--calibration-iters',
                                        '20', '--variant', 'ring'], stdout=nothing, stderr=there)
        os.close(there)
        shown = b''
        while True:
            try:
                part = os.read(here, 4096)
            except OSError:
                break  # the other side is closed
            if not part:
                break
            shown += part
        os.close(here)
        self.assertEqual(process.wait(timeout=60), 0)
        for text in (b'counting the processors', b'calibrating tcp lo -> lo, 1 of 1',
                     b'predicting ring', b'measuring ring, 2 ranks, 256 KiB'):
            self.assertIn(text, shown)
        self.assertTrue(shown.endswith(b'\r\x1b[K'))


if __name__ == '__main__':
    unittest.main()
