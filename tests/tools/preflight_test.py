"""`busbw preflight`: scenarios and folders, before a job starts."""
import json
import pathlib
import tempfile
import unittest

from program import run

IP = ('1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 state UNKNOWN\n'
      '    inet 127.0.0.1/8 scope host lo\n'
      '2: eno1: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n'
      '    inet 10.1.0.{}/24 scope global eno1\n')
IBSTAT = ("CA 'mlx5_0'\n Port 1:\n  State: {}\n  Physical state: LinkUp\n  Rate: 200\n"
          '  SM lid: {}\n  Link layer: InfiniBand\n')


def preflight(*arguments):
    result = run('preflight', *map(str, arguments), '--json', '-')
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout), result.returncode


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def nodes(self, environment, state='Active', sm_lid=1):
        for number, host in enumerate(('n1', 'n2'), 1):
            path = self.folder / host
            path.mkdir(exist_ok=True)
            (path / 'ip.txt').write_text(IP.format(number), encoding='utf-8')
            (path / 'ibstat.txt').write_text(IBSTAT.format(state, sm_lid), encoding='utf-8')
            (path / 'env.txt').write_text(environment, encoding='utf-8')

    def test_healthy_nodes(self):
        self.nodes('NCCL_DEBUG=INFO\n')
        report, code = preflight(self.folder)
        self.assertEqual((report['schema'], code), ('busbw.preflight/1', 0))
        job = report['jobs'][0]
        self.assertEqual((job['outcome'], job['hosts'][1]), ('runs', {
            'host': 'n2', 'bootstrap_interface': 'eno1', 'network': 'IB', 'devices': ['mlx5_0']}))
        self.assertEqual(job['findings'], [])
        text = run('preflight', str(self.folder))
        self.assertIn('  n1: bootstrap eno1; network IB; devices mlx5_0\n', text.stdout)

    def test_a_variable_that_matches_nothing(self):
        self.nodes('NCCL_SOCKET_IFNAME=ib0\n')
        report, code = preflight(self.folder)
        job = report['jobs'][0]
        self.assertEqual((code, job['outcome']), (1, 'error'))
        self.assertIn('no socket interface found', job['error'])
        kinds = [one['kind'] for one in job['findings']]
        self.assertEqual(kinds[0], 'ifname_not_found', kinds)
        self.nodes('NCCL_SOCKET_IFNAME=eno1\n')
        self.assertEqual(preflight(self.folder)[1], 0)

    def test_an_exclusion_that_admits_loopback(self):
        self.nodes('NCCL_SOCKET_IFNAME=^docker0\n')
        report, code = preflight(self.folder)
        self.assertEqual((code, report['jobs'][0]['findings'][0]['kind']),
                         (1, 'loopback_selected'))
        self.nodes('NCCL_SOCKET_IFNAME=^docker0,lo\n')
        self.assertEqual(preflight(self.folder)[1], 0)

    def test_a_port_without_subnet_manager(self):
        self.nodes('', 'Initializing', 0)
        report, code = preflight(self.folder)
        job = report['jobs'][0]
        self.assertEqual((code, job['findings'][0]['kind'], job['hosts'][0]['network']),
                         (1, 'sm_down', 'Socket'))

    def test_files_without_interfaces_choose_nothing(self):
        (self.folder / 'env.txt').write_text('NCCL_IB_DISABLE=true\n', encoding='utf-8')
        report, code = preflight(self.folder)
        self.assertEqual((code, report['jobs'][0]['hosts']), (1, []))
        self.assertEqual(report['jobs'][0]['findings'][0]['kind'], 'env_ignored')


class Scenarios(unittest.TestCase):
    def test_variants_of_the_case(self):
        report, code = preflight('nic-misselection')
        jobs = {job['name']: job for job in report['jobs']}
        self.assertEqual(code, 1)
        self.assertEqual(jobs['before']['hosts'][0]['network'], 'Socket')
        self.assertEqual(jobs['before']['findings'][0]['kind'], 'ib_disabled')
        self.assertEqual(jobs['fixed']['hosts'][0]['devices'], ['mlx5_0'])
        self.assertEqual([one for one in jobs['fixed']['findings'] if one['confidence'] != 'low'],
                         [])
        self.assertEqual(jobs['exclude eth0']['outcome'], 'hang')
        self.assertIn('loopback_selected',
                      [one['kind'] for one in jobs['exclude eth0']['findings']])

    def test_wrong_command_lines(self):
        result = run('preflight')
        self.assertEqual((result.returncode, result.stderr), (
            2, "error: no scenario or folder given; see 'busbw preflight --help'\n"))
        result = run('preflight', 'nic-misselection', 'ring-or-tree')
        self.assertEqual((result.returncode, result.stderr), (
            2, "error: one scenario, or folders: 'nic-misselection' is no folder\n"))
        result = run('preflight', 'nic-misselecton')
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean 'nic-misselection'?", result.stderr)


if __name__ == '__main__':
    unittest.main()
