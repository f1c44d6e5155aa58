"""`busbw show` from outside: kinds, hosts, variants, the path of a byte, wrong options, and a
scenario that is run again on what its own hosts print."""
import json
import pathlib
import tempfile
import unittest

from program import SOURCE, run

CASE = 'nic-misselection'
KINDS = ['ip-addr', 'ip-link', 'ibstat', 'ibstatus', 'ibv_devinfo', 'rdma-link', 'ibdev2netdev',
         'ibnetdiscover', 'topo', 'nccl-log', 'nccl-topo', 'path']


def show(*arguments):
    """What `busbw show` prints; it must end well and without a warning."""
    result = run('show', *arguments)
    assert (result.returncode, result.stderr) == (0, ''), result.stderr
    return result.stdout


class Kinds(unittest.TestCase):
    def test_every_kind_prints_something_and_the_same_each_time(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                text = show(kind, CASE)
                self.assertTrue(text)
                self.assertEqual(show(kind, CASE), text)

    def test_hosts_by_number_and_by_name(self):
        second = show('ip-addr', CASE, '--host', '1')
        self.assertIn('inet 10.0.0.2/24 brd 10.0.0.255 scope global eth0', second)
        self.assertEqual(show('ip-addr', CASE, '--host', 'node1'), second)
        self.assertIn('node1:', show('nccl-log', CASE, '--host', '1'))

    def test_variants_change_what_is_shown(self):
        self.assertIn('State: Active', show('ibstat', CASE))
        down = show('ibstat', CASE, '--variant', 'unset, port down, 2.18')
        self.assertIn('State: Down\n\t\tPhysical state: Polling\n', down)
        self.assertIn('NO-CARRIER', show('ip-link', CASE, '--variant', 'unset, port down, 2.18'))
        self.assertEqual(
            show('ibv_devinfo', CASE, '--variant', 'unset, no device in the container'),
            'Failed to open device\n')
        self.assertIn('NET/IB', show('nccl-log', CASE, '--variant', 'fixed'))
        self.assertIn('NET/Socket', show('nccl-log', CASE, '--variant', 'before'))

    def test_the_subnet_is_one_that_fabric_and_diagnose_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'net.txt')
            path.write_text(show('ibnetdiscover', CASE), encoding='utf-8')
            fabric = run('fabric', str(path), '--json', '-')
            self.assertEqual((fabric.returncode, fabric.stderr), (0, ''))
            subnet = json.loads(fabric.stdout)['subnets'][0]
            self.assertEqual((subnet['switches'], subnet['ports']), (1, 2))
            found = run('diagnose', str(path), '--json', '-')
            self.assertEqual((found.returncode, found.stderr), (0, ''))
            found = json.loads(found.stdout)
            self.assertEqual(found['read'][0]['kinds'], ['ibnetdiscover'])
            self.assertEqual([(fact['fields']['at'], fact['fields']['hca'])
                              for fact in found['facts'] if fact['name'] == 'fabric.cable'],
                             [('node0', 'mlx5_0'), ('node1', 'mlx5_0')])
        # One LID a port, as the hosts' own tools say.
        self.assertIn('Base lid: 2\n', show('ibstat', CASE))
        self.assertRegex(show('ibnetdiscover', CASE), r'"node0 mlx5_0" lid 2 4xEDR\n')
        result = run('show', 'ibnetdiscover', 'two-hosts-shaped')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertIn('has no InfiniBand', result.stderr)

    def test_the_topology_is_one_that_nccl_decide_takes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'node.xml')
            path.write_text(show('nccl-topo', CASE, '--variant', 'fixed'), encoding='utf-8')
            shown = run('nccl', 'decide', '--topology', str(path), '--nodes', '2',
                        '--nccl-version', '2.18.6', '--json', '-')
            self.assertEqual((shown.returncode, shown.stderr), (0, ''))
            self.assertEqual(json.loads(shown.stdout)['system']['nets'], 1)


class Path(unittest.TestCase):
    def test_ends_and_defaults(self):
        text = show('path', CASE, '--variant', 'fixed')
        self.assertTrue(text.startswith('node0 GPU 0 (rank 0) -> node1 GPU 0 (rank 4), channel 0, '
                                        'by ib: '), text)
        text = show('path', CASE, '--from', 'node0:1', '--to', '0:3')
        self.assertIn('node0 GPU 1 (rank 1) -> node0 GPU 3 (rank 3), channel 0, by nvlink', text)
        self.assertIn('NVLink', text)

    def test_json_and_table_agree(self):
        value = json.loads(show('path', CASE, '--json', '-'))
        self.assertEqual(value['schema'], 'busbw.show-path/1')
        self.assertEqual(value['transport'], 'socket')
        self.assertEqual(value['from'], {'host': 'node0', 'gpu': 0, 'rank': 0})
        rows = [line.split() for line in show('path', CASE).splitlines()[3:]]
        self.assertEqual([hop['layer'] for hop in value['hops']], [row[1] for row in rows])
        self.assertEqual(sum(hop['latency_us'] for hop in value['hops']).__round__(6),
                         round(value['latency_us'], 6))
        payloads = [hop['payload_GBps'] for hop in value['hops'] if hop['payload_GBps'] is not None]
        self.assertEqual(min(payloads), value['payload_GBps'])
        self.assertEqual({hop['layer'] for hop in value['hops']},
                         {'physical', 'protocol', 'collective'})


class Wrong(unittest.TestCase):
    def check(self, arguments, message):
        result = run('show', *arguments)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, '', message))

    def test_options(self):
        allowed = ', '.join(f"'{kind}'" for kind in KINDS[:-1]) + " or 'path'"
        self.check(['ibsta', CASE], "error: unknown kind 'ibsta'; did you mean 'ibstat'?\n")
        self.check(['x', CASE, '--json', '-', '--to', '0:0'],
                   f"error: unknown kind 'x'; allowed: {allowed}\n"
                   "error: --to goes with 'busbw show path' alone\n"
                   "error: --json goes with 'busbw show path' alone\n")
        self.check(['topo', CASE, '--host', 'node3'],
                   "error: --host: no host 'node3'; allowed: 0 to 1, or 'node0' or 'node1'; "
                   "did you mean 'node0'?\n")
        self.check(['path', CASE, '--from', '5:9', '--to', 'here', '--channel', '64'],
                   "error: --from: no host '5'; allowed: 0 to 1, or 'node0' or 'node1'\n"
                   "error: --from '5:9': no GPU '9'; allowed: 0 to 3\n"
                   "error: --to 'here' is not of the form HOST:GPU\n"
                   "error: --channel '64'; allowed: 0 to 63\n")
        self.check(['path', CASE, '--to', '0:0'],
                   'error: the path begins and ends at node0 GPU 0 (rank 0); name two GPUs by '
                   '--from and --to\n')

    def test_variants_and_files(self):
        result = run('show', 'topo', CASE, '--variant', 'fixd')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertIn("error: no variant 'fixd' in ", result.stderr)
        self.assertIn("did you mean 'fixed'?", result.stderr)
        result = run('show', 'topo', 'nic-misselectio')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertIn("did you mean 'nic-misselection'?", result.stderr)


class Again(unittest.TestCase):
    """The hosts of the case, printed by their own tools, lead to the same decisions."""

    def test_the_case_from_its_own_output(self):
        case = json.loads(run('run', CASE, '--json', '-').stdout)['variants']
        for variant, environment in (('before', {'NCCL_SOCKET_IFNAME': 'eth0',
                                                 'NCCL_IB_DISABLE': '1'}),
                                     ('fixed', {'NCCL_SOCKET_IFNAME': 'rdma0',
                                                'NCCL_IB_HCA': 'mlx5_0'}),
                                     ('unset, port down, 2.18', {})):
            with self.subTest(variant), tempfile.TemporaryDirectory() as folder:
                for host in ('node0', 'node1'):
                    place = pathlib.Path(folder, 'hosts', host)
                    place.mkdir(parents=True)
                    for kind in ('ip-addr', 'ip-link', 'ibstat', 'topo'):
                        (place / f'{kind}.txt').write_text(
                            show(kind, CASE, '--host', host, '--variant', variant),
                            encoding='utf-8')
                scenario = pathlib.Path(folder, 'again.yaml')
                scenario.write_text(json.dumps({
                    'schema': 'busbw.scenario/1', 'name': 'again', 'nccl': '2.18.6',
                    'cluster': {'hosts': 2, 'machine': 'a100-40gb-x4', 'networks': [
                        {'name': 'management', 'nics': ['eth0']},
                        {'name': 'rdma', 'nics': ['mlx5_0']}]},
                    'inventory': {'tool_output': 'hosts'}, 'environment': environment,
                    'workload': {'collective': 'all_reduce', 'sizes': ['1 MiB']}}),
                    encoding='utf-8')
                (again,) = json.loads(run('run', str(scenario), '--json', '-', env={
                    'BUSBW_DATA': str(SOURCE)}).stdout)['variants']
                (first,) = [known for known in case if known['name'] == variant]
                self.assertEqual(again['decision'], first['decision'])


if __name__ == '__main__':
    unittest.main()
