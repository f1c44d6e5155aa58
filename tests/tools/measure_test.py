"""Tests of `busbw measure` and the micro-benchmarks, over loopback and shared memory.

Ranks are local processes, or take their place from variables as mpirun, srun and torchrun set them;
mpirun itself runs where Open MPI is installed. No device is needed.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from program import PROGRAM, run

RANK = str(pathlib.Path(PROGRAM).parent / 'busbw-rank')
MPIRUN = ('mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '3', PROGRAM)
LOOPBACK = ('--network', 'tcp', '--env', 'NCCL_SOCKET_IFNAME=lo')
QUICK = ('--iters', '2', '--warmup', '1')
LAUNCHERS = ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'MASTER_ADDR', 'MASTER_PORT', 'PMIX_NAMESPACE')


def plain_environment():
    """This environment without the variables of launchers and of NCCL."""
    return {name: value for name, value in os.environ.items()
            if name not in LAUNCHERS and not name.startswith(('OMPI_', 'SLURM_', 'NCCL_'))}


def free_port():
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def start(arguments, environment=None, program=(PROGRAM,)):
    """Starts busbw, or a launcher of it, without waiting for it."""
    variables = {**plain_environment(), **(environment or {})}
    # pylint: disable-next=consider-using-with
    return subprocess.Popen([*program, *arguments], env=variables, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def is_rank(process):
    """Whether the process lives and is a busbw-rank."""
    try:
        return os.readlink(f'/proc/{process}/exe') == os.path.realpath(RANK)
    except OSError:
        return False  # it has ended, or is not to be looked at


def wait_until(condition):
    """Waits for `condition` to hold, at most half a minute."""
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError('waited in vain')


def ranks_of(process):
    """Process ids of the busbw-rank children, once they are there."""
    children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
    found = []

    def all_there():
        found[:] = [int(child) for child in children.read_text(encoding='ascii').split()
                    if is_rank(child)]
        return len(found) == 3
    wait_until(all_there)
    return found


class Measure(unittest.TestCase):
    def measure(self, *arguments, environment=None):
        """JSON of a measurement that must succeed without a wrong element."""
        result = run('measure', *arguments, *QUICK, '--json', '-', env=environment)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        value = json.loads(result.stdout)
        self.assertEqual(value['schema'], 'busbw.measure/1')
        for section in value['sections']:
            for point in section['results']:
                self.assertEqual(point['wrong'], 0, section['title'])
                times = point['time_us']
                self.assertTrue(0 < times['min'] <= times['median'] <= times['max'])
        return value

    def test_every_collective_and_algorithm_is_exact(self):
        for ranks, network, hosts in ((2, LOOPBACK, ()), (4, LOOPBACK, ('--hosts', '2')),
                                      (3, ('--network', 'shm'), ())):
            value = self.measure('--collective', 'all', '--algorithm', 'all', '--ranks', str(ranks),
                                 *network, *hosts, '--channels', '2', '--sizes', '4,4100,100012')
            titles = {section['title'] for section in value['sections']}
            self.assertLessEqual(
                {'all_reduce by Ring', 'all_reduce by Tree', 'all_reduce by Hierarchical',
                 'all_gather by Ring', 'all_gather by Hierarchical', 'reduce_scatter by Ring',
                 'reduce_scatter by Hierarchical', 'broadcast by Ring', 'broadcast by Tree',
                 'reduce by Ring', 'reduce by Tree', 'sendrecv by Direct', 'alltoall by Direct'},
                titles)
            for section in value['sections']:
                self.assertEqual(len(section['results']), 3)
                self.assertEqual(section['ranks'], ranks)

    def test_completion_by_events(self):
        for network in (LOOPBACK, ('--network', 'shm')):
            self.measure('--ranks', '3', *network, '--sizes', '4,100K', '--completion', 'event')

    def test_types_and_operators(self):
        for kind, redop in (('bfloat16', 'avg'), ('int8', 'max'), ('double', 'prod')):
            section = self.measure('--ranks', '2', '--network', 'shm', '--type', kind, '--redop',
                                   redop, '--sizes', '4K')['sections'][0]
            self.assertEqual((section['type'], section['redop']), (kind, redop))

    def test_table_has_the_columns_of_nccl_tests(self):
        result = run('measure', '--ranks', '2', *LOOPBACK, *QUICK, '-b', '1K', '-e', '4K')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        lines = result.stdout.splitlines()
        head = next(i for i, line in enumerate(lines) if line.split()[:1] == ['size'])
        self.assertEqual(lines[head].split()[:9], ['size', 'count', 'type', 'redop', 'root',
                                                   'time(us)', 'algbw', 'busbw', '#wrong'])
        rows = [line.split() for line in lines[head + 1:]]
        self.assertEqual([row[:5] for row in rows],
                         [[size, count, 'float', 'sum', '-1'] for size, count in
                          (('1024', '256'), ('2048', '512'), ('4096', '1024'))])
        self.assertEqual({row[8] for row in rows}, {'0'})
        self.assertIn('TCP', lines[head - 1])

    def test_scenario_runs_its_own_plan(self):
        value = self.measure('nic-misselection', '--variant', 'before', '--sizes', '64K',
                             '--env', 'NCCL_SOCKET_IFNAME=lo')
        section = value['sections'][0]
        self.assertEqual((section['title'], section['ranks']), ('before', 8))
        self.assertIn('TCP', section['network'])
        self.assertIn('shared memory', section['network'])
        # The algorithm is the one that `busbw run` predicts for this size.
        self.assertIn(section['results'][0]['algorithm'], ('Ring', 'Tree'))

    def test_variants_that_do_not_run_are_said(self):
        result = run('measure', 'nic-misselection', '--variant', 'exclude eth0')
        self.assertEqual(result.returncode, 2)
        self.assertIn('NCCL ends with hang', result.stderr)

    def test_json_goes_to_a_file_beside_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'out.json'
            result = run('measure', '--ranks', '2', '--network', 'shm', *QUICK, '--sizes', '4K',
                         '--json', str(path))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn('algbw', result.stdout)
            self.assertEqual(json.loads(path.read_text())['sections'][0]['ranks'], 2)
        result = run('measure', '--ranks', '2', '--network', 'shm', *QUICK, '--sizes', '4K',
                     '--json', '/nonexistent/out.json')
        self.assertEqual(result.returncode, 3)
        self.assertIn('/nonexistent/out.json', result.stderr)


class Failures(unittest.TestCase):
    LONG = ('--ranks', '3', '--iters', '10000000', '--sizes', '4K')

    def test_a_killed_rank_is_named_and_ends_all(self):
        for network in (LOOPBACK, ('--network', 'shm')):
            process = start(('measure', *self.LONG, *network))
            ranks = ranks_of(process)
            time.sleep(0.5)
            os.kill(ranks[1], signal.SIGKILL)
            _, errors = process.communicate(timeout=40)
            self.assertEqual(process.returncode, 3, errors)
            silence = (rf'error: rank 1 \([^ ]+:{ranks[1]}\) failed: it ended without a word: '
                       r'killed, crashed, or its host is gone(; rank [02] \([^ ]+:\d+\) saw: .+)?')
            lines = errors.splitlines()
            self.assertIn(f'error: rank 1 (process {ranks[1]}) was killed by signal 9 (Killed)',
                          lines)
            for line in lines[:-1]:
                self.assertRegex(line, f'^{silence}$')
            self.assertFalse([rank for rank in ranks if os.path.exists(f'/proc/{rank}')])

    def test_a_rank_that_hangs_is_named_and_ended(self):
        process = start(('measure', *self.LONG, *LOOPBACK, '--timeout', '2'))
        ranks = ranks_of(process)
        time.sleep(0.5)
        os.kill(ranks[1], signal.SIGSTOP)
        _, errors = process.communicate(timeout=40)
        self.assertEqual(process.returncode, 3, errors)
        self.assertRegex(
            errors, r'error: rank [02] \([^ ]+:\d+\) failed: (\w.+ failed: nothing within 2 s: '
            r'(the connection stands and is idle: the peer hangs or waits|\d+ bytes sent are not '
            r'acknowledged: link down, or packets are lost) \(on (.+, )?link . -> . channel 0 over '
            r'TCP from 127\.0\.0\.1 on lo\) \(peer rank [012] |exchange failed: nothing within 2 s '
            r'\(peer missing: rank 1 )')
        self.assertFalse([rank for rank in ranks if os.path.exists(f'/proc/{rank}')])

    def test_signals_end_all_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = start(('measure', *self.LONG, '--network', 'shm'))
            ranks = ranks_of(process)
            time.sleep(0.3)
            process.send_signal(number)
            output, errors = process.communicate(timeout=40)
            self.assertEqual(process.returncode, 128 + number, errors)
            self.assertEqual(output, '')
            self.assertEqual(errors, f'error: wait failed: interrupted by {number.name}\n')
            self.assertFalse([rank for rank in ranks if os.path.exists(f'/proc/{rank}')])

    def test_a_missing_interface_is_said_once(self):
        result = run('measure', '--ranks', '2', '--network', 'tcp', '--env',
                     'NCCL_SOCKET_IFNAME=nosuchif', *QUICK, '--sizes', '4K')
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.count('choice of the network failed'), 1, result.stderr)
        self.assertRegex(result.stderr, r'^error: rank [01] \([^ ]+:\d+\)(, rank [01] '
                         r'\([^ ]+:\d+\))? failed: choice of the network failed: ')
        self.assertIn('nosuchif', result.stderr)

    @unittest.skipIf(os.path.isdir('/sys/class/infiniband') and os.listdir('/sys/class/infiniband'),
                     'this machine has an RDMA device')
    def test_no_device_is_exit_3(self):
        for command in (('measure', '--network', 'verbs'), ('read-lat',), ('write-bw',)):
            result = run(*command, '--sizes', '4K')
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertRegex(result.stderr, r'^error: \S+')

    def test_wrong_options_are_exit_2_all_at_once(self):
        result = run('measure', '--ranks', '0', '--hosts', 'x', '--type', 'flout', '--redop', 'sam',
                     '--network', 'tpc', '--method', 'writ', '--sizes', '4Q', '--iters', '0',
                     '--chunk', '1', '--completion', 'pol', '--collective', 'all_reduse')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        for text in ('--ranks', '--hosts', "'float'", "'sum'", "'tcp'", "'write'", '4Q', '--iters',
                     '--chunk', "'poll'", "'all_reduce'"):
            self.assertIn(text, result.stderr)
        for arguments, text in (
                (('--collective', 'alltoall', '--algorithm', 'Ring'), 'Direct'),
                (('--variant', 'before'), 'goes with a scenario'),
                (('nic-misselection', '--ranks', '4'), '--ranks does not go with a scenario'),
                (('nic-misselection', '--variant', 'befor'), "did you mean 'before'"),
                (('nic-miselection',), 'did you mean'),
                (('--ranks', '5', '--hosts', '2'), 'does not divide'),
                (('--collective', 'alltoall', '--in-place'), 'in-place'),
                (('-b', '4K', '-e', '1K'), '-b 4K is above -e 1K')):
            result = run('measure', *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ''), arguments)
            self.assertIn(text, result.stderr)

    def test_the_rank_program_refuses_what_is_no_task(self):
        result = run(program=RANK)
        self.assertEqual(result.returncode, 2)
        self.assertIn('usage', result.stderr)
        result = run(__file__, program=RANK)
        self.assertEqual(result.returncode, 3)


def by_torchrun(rank, ranks, port):
    """Variables that torchrun sets."""
    return {'RANK': str(rank), 'WORLD_SIZE': str(ranks), 'LOCAL_RANK': str(rank),
            'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': port}


def by_srun(rank, ranks, port):
    """Variables that srun sets; the port is the test's, which may run beside others."""
    return {'SLURM_PROCID': str(rank), 'SLURM_STEP_NUM_TASKS': str(ranks), 'SLURM_LOCALID':
            str(rank), 'SLURM_STEP_NODELIST': 'localhost', 'SLURM_JOB_ID': '7', 'SLURM_STEP_ID':
            '0', 'MASTER_PORT': port}


def by_mpirun(rank, ranks, port):
    """Variables that Open MPI sets; the port as with srun."""
    return {'OMPI_COMM_WORLD_RANK': str(rank), 'OMPI_COMM_WORLD_SIZE': str(ranks),
            'OMPI_COMM_WORLD_LOCAL_SIZE': str(ranks), 'OMPI_COMM_WORLD_LOCAL_RANK': str(rank),
            'MASTER_PORT': port}


class Launchers(unittest.TestCase):
    ARGUMENTS = ('measure', *LOOPBACK, *QUICK, '--sizes', '4K', '--json', '-')

    def start_as(self, variables):
        """One busbw per environment; the JSON of rank 0."""
        processes = [start(self.ARGUMENTS, environment) for environment in variables]
        outputs = [process.communicate(timeout=60) for process in processes]
        for process, (_, errors) in zip(processes, outputs):
            self.assertEqual((process.returncode, errors), (0, ''))
        self.assertEqual({output for output, _ in outputs[1:]}, {''})
        return json.loads(outputs[0][0])

    def test_variables(self):
        for variables in (by_torchrun, by_srun, by_mpirun):
            for ranks in (2, 3):
                port = str(free_port())
                value = self.start_as([variables(rank, ranks, port) for rank in range(ranks)])
                self.assertEqual(value['sections'][0]['ranks'], ranks)

    def test_the_launcher_started_another_number(self):
        result = run('measure', '--ranks', '3', env={'RANK': '0', 'WORLD_SIZE': '2',
                                                     'MASTER_ADDR': '127.0.0.1',
                                                     'MASTER_PORT': str(self.port)})
        self.assertEqual(result.returncode, 2)
        self.assertIn("--ranks 3: torchrun's variables started 2", result.stderr)

    def test_a_rank_that_does_not_come_is_named(self):
        result = run('measure', '--timeout', '1', env={'RANK': '0', 'WORLD_SIZE': '2',
                                                       'MASTER_ADDR': '127.0.0.1',
                                                       'MASTER_PORT': str(self.port)})
        self.assertEqual(result.returncode, 3)
        self.assertIn('missing: rank 1', result.stderr)

    def setUp(self):
        self.port = free_port()


class LaunchersThatLoseARank(unittest.TestCase):
    """Whoever starts the ranks: a dead one ends all, by name; signals end all cleanly."""
    LONG = ('measure', *LOOPBACK, '--iters', '100000000', '--sizes', '4K', '--timeout', '20')
    SILENCE = r'rank 1 \([^ ]+:\d+\) failed: it ended without a word: killed, crashed, or its ' \
              r'host is gone(; rank %d \([^ ]+:\d+\) saw: .+)?'

    def start_ranks(self, variables):
        """Three busy ranks; each has become busbw-rank."""
        port = str(free_port())
        ranks = [start(self.LONG, variables(rank, 3, port)) for rank in range(3)]
        for process in ranks:
            self.addCleanup(process.kill)
            wait_until(lambda pid=process.pid: is_rank(pid))
        time.sleep(1)
        return ranks

    def test_a_killed_rank(self):
        for variables in (by_torchrun, by_srun, by_mpirun):
            ranks = self.start_ranks(variables)
            ranks[1].kill()
            ranks[1].communicate(timeout=30)
            begin = time.monotonic()
            for rank in (0, 2):
                output, errors = ranks[rank].communicate(timeout=30)
                self.assertEqual((ranks[rank].returncode, output), (3, ''), errors)
                self.assertRegex(errors, '^error: ' + self.SILENCE % rank + '\n$')
            self.assertLess(time.monotonic() - begin, 20)

    def test_signals(self):
        for variables in (by_torchrun, by_srun, by_mpirun):
            for number in (signal.SIGINT, signal.SIGTERM):
                ranks = self.start_ranks(variables)
                for process in ranks:
                    process.send_signal(number)
                interrupted = f'wait failed: interrupted by {number.name}'
                for process in ranks:
                    output, errors = process.communicate(timeout=30)
                    # By the signal, or told by a rank that was quicker.
                    self.assertIn(process.returncode, (128 + number, 3), errors)
                    self.assertEqual(output, '')
                    self.assertIn(interrupted, errors)

    def start_mpirun(self):
        """mpirun with three busy ranks, and their process ids in order of the ranks."""
        process = start(self.LONG, program=MPIRUN)
        self.addCleanup(process.kill)
        return process, ranks_of(process)

    def end_of(self, process, ranks):
        """What mpirun and the ranks said, once all have ended."""
        output, errors = process.communicate(timeout=40)
        self.assertEqual(output, '')
        self.assertNotEqual(process.returncode, 0, errors)
        for rank in ranks:
            wait_until(lambda pid=rank: not is_rank(pid))
        return errors

    @unittest.skipUnless(shutil.which('mpirun'), 'Open MPI is not installed')
    def test_mpirun(self):
        process = start(Launchers.ARGUMENTS, program=MPIRUN)
        output, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(json.loads(output)['sections'][0]['ranks'], 3)

    @unittest.skipUnless(shutil.which('mpirun'), 'Open MPI is not installed')
    def test_mpirun_with_a_killed_rank(self):
        process, ranks = self.start_mpirun()
        time.sleep(1)
        os.kill(ranks[1], signal.SIGKILL)
        begin = time.monotonic()
        errors = self.end_of(process, ranks)
        self.assertLess(time.monotonic() - begin, 20)
        # By the ranks, unless mpirun has ended them before they could say so.
        self.assertRegex(errors, r'mpirun noticed that process rank 1 |' + self.SILENCE % 0)

    @unittest.skipUnless(shutil.which('mpirun'), 'Open MPI is not installed')
    def test_mpirun_with_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, ranks = self.start_mpirun()
            time.sleep(1)
            process.send_signal(number)
            self.assertIn('interrupted by SIG', self.end_of(process, ranks))


class Micro(unittest.TestCase):
    def test_ping_pong_and_stream(self):
        for command, network in (('pingpong', LOOPBACK), ('pingpong', ('--network', 'shm')),
                                 ('send-lat', LOOPBACK), ('write-bw', LOOPBACK),
                                 ('write-bw', ('--network', 'shm'))):
            result = run(command, *network, '--iters', '50', '--warmup', '5', '--sizes', '1,4K,1M',
                         '--json', '-')
            self.assertEqual((result.returncode, result.stderr), (0, ''), command)
            value = json.loads(result.stdout)
            self.assertEqual((value['schema'], value['benchmark']), ('busbw.micro/1', command))
            self.assertEqual([point['bytes'] for point in value['results']], [1, 4096, 1048576])
            for point in value['results']:
                self.assertTrue(0 <= point['min_us'] <= point['median_us'] <= point['p99_us'])
                self.assertEqual(point['GBps'] is not None, command == 'write-bw')

    def test_two_hosts(self):
        port = free_port()
        common = ('pingpong', *LOOPBACK, '--iters', '20', '--sizes', '64')
        server = start((*common, '--server', str(port)))
        client = start((*common, '--connect', f'127.0.0.1:{port}'))
        output, errors = server.communicate(timeout=60)
        self.assertEqual((server.returncode, errors), (0, ''))
        self.assertIn('median(us)', output)
        self.assertEqual((*client.communicate(timeout=60), client.returncode), ('', '', 0))

    def test_wrong_options(self):
        for arguments, text in ((('read-lat', '--network', 'tcp'), "'verbs'"),
                                (('pingpong', '--server', '1', '--connect', 'a:1'), 'one of them'),
                                (('pingpong', '--connect', 'host'), 'HOST:PORT'),
                                (('write-bw', '--depth', '0'), '--depth')):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ''), arguments)
            self.assertIn(text, result.stderr)


class RankProgram(unittest.TestCase):
    @unittest.skipUnless(shutil.which('readelf'), 'no readelf')
    def test_links_no_simulator(self):
        def needed(program):
            text = subprocess.run(['readelf', '-d', program], capture_output=True, text=True,
                                  check=True).stdout
            return re.findall(r'\(NEEDED\).*\[(.+)\]', text)
        self.assertFalse([name for name in needed(RANK) if 'simgrid' in name or 'pugi' in name])
        self.assertTrue([name for name in needed(PROGRAM) if 'simgrid' in name])


if __name__ == '__main__':
    unittest.main()
