"""`busbw diagnose`: what it prints, its JSON, exit codes, folders of hosts, logs of any size."""
import json
import os
import pathlib
import resource
import tempfile
import unittest

from program import SOURCE, run, without_sanitizers

CASE = SOURCE / 'tests/data/diagnose/wrong-nic'
KEYS = {'kind', 'confidence', 'layer', 'points', 'root_cause', 'fix', 'evidence', 'alternatives',
        'next_check', 'expected', 'versions', 'source'}


def diagnose(*paths):
    """The JSON of a diagnosis and its exit code."""
    result = run('diagnose', *map(str, paths), '--json', '-')
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout), result.returncode


def emulated(*arguments):
    """A log as `busbw nccl log` prints it."""
    result = run('nccl', 'log', *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
        return path


class WrongNic(unittest.TestCase):
    """The case that busbw was made for, from the files that its owners had."""

    def test_cause_fixes_warning_notes_and_gain(self):
        report, code = diagnose(CASE)
        self.assertEqual(code, 1)
        first = report['findings'][0]
        self.assertEqual(first['kind'], 'wrong_interface')
        self.assertIn('eth0', first['root_cause'])
        self.assertEqual(first['fix'][:2], ['export NCCL_SOCKET_IFNAME=rdma0',
                                            'export NCCL_IB_HCA=mlx5_0'])
        self.assertIn('^eth0 alone admits loopback', first['fix'][2])
        self.assertIn({'file': str(CASE / 'log.txt'), 'line': 4,
                       'text': 'NCCL INFO NET/Socket : Using interface eth0:10.0.0.1'},
                      [{key: one[key] for key in ('file', 'line', 'text')}
                       for one in first['evidence']])
        # Measured before and after the fix: 1.095 and 10.80 GB/s.
        expected = first['expected']
        self.assertEqual((expected['before'], expected['unit']), (1.095, 'GB/s'))
        self.assertAlmostEqual(expected['after'], 10.8, delta=0.12 * 10.8)
        others = {one['kind']: one for one in report['findings']}
        self.assertIn('Polling', others['ibstat_contradiction']['root_cause'])
        self.assertIn('algbw x 2(n-1)/n', others['busbw_is_algbw']['root_cause'])
        self.assertEqual(others['busbw_is_algbw']['confidence'], 'low')

    def test_for_people_the_verdict_stands_in_three_lines(self):
        result = run('diagnose', str(CASE))
        lines = result.stdout.splitlines()
        self.assertTrue(lines[0].startswith('found: wrong_interface, '), lines[0])
        self.assertTrue(lines[1].startswith('cause: traffic goes over eth0'), lines[1])
        self.assertEqual(lines[2], 'fix:   export NCCL_SOCKET_IFNAME=rdma0')
        headings = [line for line in lines if line in ('checked', 'read')]
        self.assertEqual(headings, ['checked', 'read'])
        self.assertIn('  expected  1.09', result.stdout.replace('1.10', '1.09'))
        self.assertEqual(result.stdout, run('diagnose', str(CASE)).stdout)


class Samples(unittest.TestCase):
    """Small folders that show a rule at work; docs/coverage.md names them."""

    def kinds(self, name):
        report, code = diagnose(SOURCE / 'tests/data/diagnose' / name)
        return [(one['kind'], one['confidence']) for one in report['findings']], report, code

    def test_status_12_lists_what_it_can_be(self):
        found, report, code = self.kinds('status-12')
        self.assertEqual((found, code), ([('gid_index', 'medium')], 1))
        others = {one['kind']: one['decided_by'] for one in report['findings'][0]['alternatives']}
        self.assertTrue({'link_flap', 'mtu_mismatch', 'cross_rail', 'pfc_ecn'} <= set(others))
        self.assertIn('active_mtu', others['mtu_mismatch'])

    def test_a_container_without_sys(self):
        found, report, _ = self.kinds('hidden-sys')
        self.assertEqual(found, [('sys_not_visible', 'high')])
        self.assertIn('docker run -v /sys:/sys:ro ...', report['findings'][0]['fix'])

    def test_a_watchdog_is_a_symptom(self):
        found, report, _ = self.kinds('watchdog')
        self.assertEqual(found, [('rank_crashed', 'high'), ('collective_timeout', 'medium')])
        self.assertEqual(report['checked'], ['how processes ended'])

    def test_the_network_is_fine_and_nccl_slow(self):
        found, report, _ = self.kinds('network-or-nccl')
        self.assertEqual(found, [('nccl_below_network', 'low')])
        self.assertIn('196.38 Gb/s, the collective 4.5 GB/s', report['findings'][0]['root_cause'])


class Report(Folder):
    def test_keys_of_the_json(self):
        report, _ = diagnose(CASE)
        self.assertEqual(set(report), {'schema', 'findings', 'facts', 'checked', 'read', 'unread'})
        self.assertEqual(report['schema'], 'busbw.diagnosis/1')
        for finding in report['findings']:
            self.assertEqual(set(finding), KEYS)
            self.assertTrue(finding['evidence'])

    def test_nothing_found_is_a_result(self):
        self.write('log.txt', 'w0:1:1 [0] NCCL INFO Using network IB\n')
        report, code = diagnose(self.folder)
        self.assertEqual((code, report['findings']), (0, []))
        self.assertEqual(report['checked'],
                         ['which network NCCL took, and on which devices'])
        text = run('diagnose', str(self.folder)).stdout
        self.assertTrue(text.startswith('found: nothing\n'), text)

    def test_unknown_files_are_said_so_and_json_is_no_log(self):
        self.write('notes.txt', 'the cluster is slow since monday\n')
        self.write('answer.json', '{\n "fix": "NCCL_IB_DISABLE=1"\n}\n')
        self.write('empty.txt', '')
        report, code = diagnose(self.folder)
        self.assertEqual((code, report['facts']), (0, []))
        self.assertEqual([(os.path.basename(one['file']), one['reason'])
                          for one in report['unread']],
                         [('answer.json', 'holds no text of a known kind'), ('empty.txt', 'empty'),
                          ('notes.txt', 'holds no text of a known kind')])

    def test_cut_input_is_located_and_the_rest_is_read(self):
        path = self.write('x.txt', "CA 'mlx5_0'\n Port 1:\n  Rate: abc\nCA 'mlx5_1'\n Port 1:\n"
                          '  State: Initializing\n  Link layer: InfiniBand\n')
        report, _ = diagnose(path)
        self.assertEqual(report['findings'][0]['kind'], 'sm_down')
        self.assertEqual([(one['line'], one['reason']) for one in report['unread']],
                         [(3, "rate of mlx5_0: 'abc' is no number"),
                          (2, 'port 1 of mlx5_0 has no state: the output is cut')])

    def test_folders_are_hosts(self):
        for host, mtu in (('n1', '4096 (5)'), ('n2', '1024 (3)')):
            self.write(f'{host}/ibv_devinfo.txt',
                       f'hca_id: mlx5_0\n port: 1\n  state: PORT_ACTIVE (4)\n  active_mtu: {mtu}\n')
        for paths in ([self.folder], [self.folder / 'n1', self.folder / 'n2']):
            report, _ = diagnose(*paths)
            self.assertEqual(report['findings'][0]['kind'], 'mtu_mismatch')
            self.assertEqual([one['host'] for one in report['read']], ['n1', 'n2'])

    def test_kinds(self):
        result = run('diagnose', '--kinds')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        listed = json.loads(run('diagnose', '--kinds', '--json', '-').stdout)
        self.assertEqual(listed['schema'], 'busbw.diagnosis-kinds/1')
        kinds = [one['kind'] for one in listed['kinds']]
        self.assertGreaterEqual(len(kinds), 60)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()[1:]], kinds)
        page = (SOURCE / 'docs/diagnose.md').read_text(encoding='utf-8')
        self.assertEqual([kind for kind in kinds if f'`{kind}`' not in page], [])

    def test_wrong_command_lines(self):
        result = run('diagnose', '/nonexistent/a', '/nonexistent/b')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertEqual(result.stderr.splitlines(), [
            'error: /nonexistent/a: cannot be read: no such file or folder',
            'error: /nonexistent/b: cannot be read: no such file or folder'])
        result = run('diagnose')
        self.assertEqual((result.returncode, result.stderr),
                         (2, "error: no file or folder given; see 'busbw diagnose --help'\n"))
        result = run('diagnose', '--kinds', str(CASE))
        self.assertEqual((result.returncode, result.stderr),
                         (2, 'error: --kinds lists all kinds: it goes without files\n'))


class Emulated(Folder):
    """Logs that the emulator prints: healthy ones give nothing certain, sick ones their cause."""

    def test_healthy_clusters(self):
        for machine in ('dgx-h100', 'dgx-a100', 'azure-ndv5', 'a100-40gb-x4', 'dgx-b200',
                        'leonardo-booster', 'jean-zay-v100'):
            for version in ('2.18.6', '2.23.4', '2.30.7'):
                log = emulated('--topology', machine, '--nodes', '2', '--nccl-version', version,
                               '--connections', '--debug-subsys', 'ALL')
                report, code = diagnose(self.write('log.txt', log))
                self.assertEqual(code, 0, (machine, version, report['findings'][:1]))

    def test_a_variable_that_is_the_fix_makes_the_finding_disappear(self):
        for machine, kind, sick, cured in (
                ('a100-40gb-x4', 'ib_disabled', ('NCCL_IB_DISABLE=1',), ()),
                ('dgx-h100', 'env_ignored', ('NCCL_P2P_LEVEL=nvl',), ('NCCL_P2P_LEVEL=NVL',)),
                ('dgx-h100', 'bad_tuning_env', ('NCCL_MAX_NCHANNELS=2',), ()),
                ('dgx-h100', 'algo_choice', ('NCCL_NVLS_ENABLE=0',), ('NCCL_NVLS_ENABLE=2',)),
                ('dgx-h100', 'loopback_selected', ('NCCL_SOCKET_IFNAME=^eth0',),
                 ('NCCL_SOCKET_IFNAME=^eth0,lo',))):
            for environment, present in ((sick, True), (cured, False)):
                flags = [word for one in environment for word in ('--env', one)]
                self.write('log.txt', emulated('--topology', machine, '--nodes', '2',
                                               '--nccl-version', '2.28.9', '--connections', *flags))
                self.write('env.txt', ''.join(one + '\n' for one in environment))
                report, _ = diagnose(self.folder)
                kinds = [one['kind'] for one in report['findings']]
                self.assertEqual(kind in kinds, present, (kind, environment, kinds))


class Size(Folder):
    @without_sanitizers
    def test_a_large_log_keeps_counts_not_lines(self):
        lines = ''.join(
            f'node{i % 16}:7{i % 8}:78 [{i % 8}] NCCL INFO Channel {i % 16:02}/0 : '
            f'{i % 128}[{i % 8}] -> {(i + 1) % 128}[{(i + 1) % 8}] [send] via '
            f'NET/IB/{i % 8}/GDRDMA\n'
            f'step {i} loss 2.{i % 997:03} lr 0.0003 tokens per second 12{i % 77}\n'
            for i in range(20_000))
        path = self.folder / 'big.log'
        with open(path, 'w', encoding='utf-8') as file:
            for _ in range(25):
                file.write(lines)
        self.assertGreater(path.stat().st_size, 60_000_000)
        report, code = diagnose(path)
        self.assertEqual((code, report['read'][0]['lines']), (0, 1_000_000))
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # MiB
        self.assertLess(used, 500)


if __name__ == '__main__':
    unittest.main()
