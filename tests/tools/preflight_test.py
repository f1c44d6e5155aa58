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


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Folders(Folder):
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


PORT = ("CA '{}'\n Port 1:\n  State: {}\n  Physical state: {}\n  Rate: {}\n  SM lid: 1\n"
        '  Link layer: {}\n')
BRIDGE = ('2: br-1f: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n'
          '    inet 172.18.0.1/16 scope global br-1f\n')
LINK_LOCAL = '    inet6 fe80::1/64 scope link\n'
GID = '{} 1 {} 0000:0000:0000:0000:0000:ffff:0a02:010{} 10.2.1.{} {} ens1\n'
QOS = ('Priority trust state: dscp\n prio:3 dscp:31,30,29,28,27,26,25,24,\n'
       ' priority 0 1 2 3 4 5 6 7\n enabled 0 0 0 1 0 0 0 0\n')


class Fixes(Folder):
    """The variable that a finding's own fix names, set, makes the finding disappear."""

    def port(self, hca, state='Active', rate=200, layer='InfiniBand'):
        physical = 'LinkUp' if state == 'Active' else 'Disabled'
        return PORT.format(hca, state, physical, rate, layer)

    def apply(self, environment, fix, value):
        """The environment behind the first line of `fix` that sets what is asked for. `value`
        stands for what the line leaves to the user in <...>."""
        for line in fix:
            words = line.split('#')[0].split()
            if words[0] == 'unset':
                return {name: text for name, text in environment.items() if name not in words}
            if words[0] == 'export' and (value is None or '<' in line):
                name, text = line.split('#')[0].strip().removeprefix('export ').split('=', 1)
                if '<' in text:
                    text = text[:text.index('<')] + value
                return {**environment, name: text}
        self.fail(fix)

    def check(self, kind, environment=None, files=None, second=None, value=None):
        environment = environment or {}
        for number, host in enumerate(('n1', 'n2'), 1):
            path = self.folder / host
            path.mkdir(exist_ok=True)
            for old in path.iterdir():
                old.unlink()
            own = {'ip.txt': IP.format(number), 'ibstat.txt': self.port('mlx5_0'),
                   **(files or {}), **((second or {}) if host == 'n2' else {})}
            for name, text in own.items():
                (path / name).write_text(text.replace('10.1.0.{}', f'10.1.0.{number}'),
                                         encoding='utf-8')

        def findings(variables):
            for host in ('n1', 'n2'):
                (self.folder / host / 'env.txt').write_text(
                    ''.join(f'{name}={text}\n' for name, text in variables.items()),
                    encoding='utf-8')
            return {one['kind']: one for one in preflight(self.folder)[0]['jobs'][0]['findings']}
        sick = findings(environment)
        self.assertIn(kind, sick)
        cured = self.apply(environment, sick[kind]['fix'], value)
        self.assertNotEqual(cured, environment)
        self.assertNotIn(kind, findings(cured), (kind, cured))

    def test_interfaces(self):
        self.check('virtual_interface', files={'ip.txt': BRIDGE + IP.replace('2: eno1', '3: eno1')})
        self.check('loopback_selected', {'NCCL_SOCKET_IFNAME': '^docker0'})
        self.check('ifname_not_found', {'NCCL_SOCKET_IFNAME': 'ib0'}, value='eno1')
        self.check('ipv6_link_local', {'NCCL_SOCKET_FAMILY': 'AF_INET6'},
                   {'ip.txt': IP + LINK_LOCAL})

    def test_networks_and_settings(self):
        self.check('ib_disabled', {'NCCL_IB_DISABLE': '1'})
        self.check('plugin_missing', {'NCCL_NET': 'gIB'})
        self.check('bad_tuning_env', {'NCCL_BUFFSIZE': '65536'})
        self.check('algo_choice', {'NCCL_ALGO': 'Tree'})

    def test_hcas(self):
        self.check('ib_hca_selection', {'NCCL_IB_HCA': 'ibp12s0'}, value='mlx5_0')
        self.check('hca_prefix_trap', {'NCCL_IB_HCA': 'mlx5_1'},
                   {'ibstat.txt': self.port('mlx5_1') + self.port('mlx5_10')}, value='mlx5_1')
        self.check('hca_mismatch_nodes', second={
            'ibstat.txt': self.port('mlx5_0') + self.port('mlx5_1')}, value='mlx5_0')
        self.check('link_down', files={
            'ibstat.txt': self.port('mlx5_0') + self.port('mlx5_1', 'Down')}, value='mlx5_0')
        self.check('mixed_nic_speeds', files={
            'ibstat.txt': self.port('mlx5_0') + self.port('mlx5_1', rate=100)}, value='mlx5_0')

    def test_queue_pairs(self):
        roce = self.port('mlx5_0', layer='Ethernet')
        self.check('gid_index', {'NCCL_IB_GID_INDEX': '2'}, {
            'ibstat.txt': roce,
            'gids.txt': GID.format('mlx5_0', 2, 1, 1, 'v1') + GID.format('mlx5_0', 3, 1, 1, 'v2')})
        self.check('container_netns_hca', files={
            'ibstat.txt': roce + self.port('mlx5_1', layer='Ethernet'),
            'gids.txt': 'DEV PORT INDEX GID IPv4 VER DEV\n' +
                        GID.format('mlx5_0', 3, 1, 1, 'v2')}, value='mlx5_0')
        self.check('pkey', files={'keys.txt': ''.join(
            f'/sys/class/infiniband/mlx5_0/ports/1/pkeys/{at}: {key}\n'
            for at, key in enumerate(('0x7fff', '0x8001')))})
        self.check('pfc_ecn', files={'ibstat.txt': roce, 'qos.txt': QOS}, value='104')


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
