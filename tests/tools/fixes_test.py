"""Every step of a fix that sets a variable, applied to the model of the case, makes the finding
disappear: one sick case or more for every such rule, and the public cases where they are at hand.

`busbw preflight FOLDER --env NAME=VALUE` decides anew what NCCL decides from the hosts, and leaves
out what an old log showed of decisions that the variable bears on. So that this is no tautology,
every finding must stay under a variable that bears on something else (UNRELATED), and a value that
does not cure must leave it (test_values_that_do_not_cure)."""
import json
import pathlib
import re
import tempfile
import unittest

from program import SOURCE, run

SHARED = SOURCE.parent / 'shared' / 'reference' / 'cases'  # public cases; may be absent
UNRELATED = ('--env', 'NCCL_P2P_NET_CHUNKSIZE=262144')
IP = ('1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 state UNKNOWN\n'
      '    inet 127.0.0.1/8 scope host lo\n'
      '2: eno1: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n'
      '    inet 10.1.0.{}/24 scope global eno1\n')
BRIDGE = ('2: br-1f: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n'
          '    inet 172.18.0.1/16 scope global br-1f\n')
SECOND = ('3: eno2: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n'
          '    inet {}/24 scope global eno2\n')
GLOBAL6 = ('3: eno2: <BROADCAST,UP,LOWER_UP> mtu 1500 state UP\n'
           '    inet6 fd00::1/64 scope global\n')
PORT = ("CA '{}'\n Port 1:\n  State: {}\n  Physical state: {}\n  Rate: {}\n  SM lid: 1\n"
        '  Link layer: {}\n')
GID = '{} 1 {} 0000:0000:0000:0000:0000:ffff:0a02:010{} 10.2.1.{} {} ens1\n'
QOS = ('Priority trust state: dscp\n prio:3 dscp:31,30,29,28,27,26,25,24,\n'
       ' priority 0 1 2 3 4 5 6 7\n enabled 0 0 0 1 0 0 0 0\n')
KEYS = ('/sys/class/infiniband/mlx5_0/ports/1/pkeys/0: 0x7fff\n'
        '/sys/class/infiniband/mlx5_0/ports/1/pkeys/1: 0x8001\n')
COMPLETION = ('!NET/IB : Got completion from peer 10.2.1.2<4791> with status=12 opcode=0 len=0 '
              'vendor err 129 (Send)')
CROSSED = ('!Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr '
           'state INIT, next state RTR, local GID index 3, local GID ::ffff:10.2.1.1, remote GID '
           '::ffff:10.3.1.2')


def port(hca, state='Active', rate=200, layer='InfiniBand'):
    return PORT.format(hca, state, 'LinkUp' if state == 'Active' else 'Disabled', rate, layer)


def log(host, *texts):
    """Lines of NCCL's log; one that begins with '!' is a WARN."""
    return ''.join(f'\n{host}:77:78 [0] file.cc:9 NCCL WARN {text[1:]}\n' if text[0] == '!' else
                   f'{host}:77:78 [0] NCCL INFO {text}\n' for text in texts)


def hosts(first=None, second=None):
    """Two healthy nodes with InfiniBand, and what is different on them; on the second as on the
    first when nothing else is said."""
    files = {}
    for number, own in ((1, first or {}), (2, {**(first or {}), **(second or {})})):
        for name, text in {'ip.txt': IP, 'ibstat.txt': port('mlx5_0'), **own}.items():
            if text:
                files[f'n{number}/{name}'] = text.replace('10.1.0.{}', f'10.1.0.{number}')
    return files


def logs(*texts, **more):
    return {'log.txt': log('n1', *texts), **{f'{name}.txt': text for name, text in more.items()}}


ROCE = port('mlx5_0', layer='Ethernet')
# kind, files, environment, what stands for the <...> of a step that begins so.
CASES = (
    ('virtual_interface', hosts({'ip.txt': BRIDGE + IP.replace('2: eno1', '3: eno1')}), {},
     {'NCCL_SOCKET_IFNAME': 'eno1'}),
    ('loopback_selected', hosts(), {'NCCL_SOCKET_IFNAME': '^docker0'},
     {'NCCL_SOCKET_IFNAME': 'eno1'}),
    ('ifname_not_found', hosts(), {'NCCL_SOCKET_IFNAME': 'ib0'}, {'NCCL_SOCKET_IFNAME': 'eno1'}),
    ('wrong_interface', {path.name: path.read_text(encoding='utf-8') for path in
                         (SOURCE / 'tests/data/diagnose/wrong-nic').iterdir()}, {}, {}),
    ('wrong_interface', hosts({'ip.txt': IP + SECOND.format('10.9.0.1'), 'ibstat.txt': ''},
                              {'ip.txt': IP.replace('10.1.0.{}', '10.7.0.2') +
                               SECOND.format('10.9.0.2')}), {}, {'NCCL_SOCKET_IFNAME': 'eno2'}),
    ('ipv6_link_local', hosts({'ip.txt': IP + '    inet6 fe80::1/64 scope link\n' + GLOBAL6}),
     {'NCCL_SOCKET_FAMILY': 'AF_INET6'}, {'NCCL_SOCKET_IFNAME': 'eno2'}),
    ('address_family', {'a.txt': log('n1', 'Bootstrap : Using eno1:10.1.0.1<0>'),
                        'b.txt': log('n2', 'Bootstrap : Using eno1:fd00::2<0>')}, {}, {}),
    ('ib_disabled', hosts(), {'NCCL_IB_DISABLE': '1'}, {}),
    ('plugin_missing', hosts(), {'NCCL_NET': 'gIB'}, {}),
    ('plugin_version', logs('NCCL version 2.19.3+cuda12.2', '!NET/OFI Unable to register memory '
                            '(type = 2) for device 0. RC: -22, Error: Invalid argument'), {}, {}),
    ('plugin_version', logs('NET/Plugin : dlerror=/opt/x/libnccl-net.so: undefined symbol: '
                            'fi_getinfo_v2'), {}, {}),
    ('plugin_mismatch_nodes',
     {'a.txt': log('n1', 'NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eno1:10.1.0.1<0>',
                   'Using network IB'),
      'b.txt': log('n2', 'NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eno1:10.1.0.2<0>',
                   'Using network IBext_v8')}, {}, {}),
    ('too_few_sockets', hosts({'ibstat.txt': '', 'iperf.txt':
                               '[SUM]   0.00-10.00  sec   108 GBytes  93.1 Gbits/sec  receiver\n'}),
     {}, {}),
    ('env_mismatch_nodes', hosts({'env.txt': 'NCCL_IB_TIMEOUT=20\nNCCL_ALGO=Ring\n'},
                                 {'env.txt': 'NCCL_IB_TIMEOUT=22\nNCCL_ALGO=Tree\n'}), {},
     {'NCCL_IB_TIMEOUT': '22', 'NCCL_ALGO': 'Ring'}),
    ('env_ignored', hosts(), {'NCCL_IB_DISABLE': 'true', 'NCCL_P2P_LEVEL': 'nvl'}, {}),
    ('bad_tuning_env', hosts(), {'NCCL_BUFFSIZE': '65536', 'NCCL_MAX_NCHANNELS': '2',
                                 'NCCL_NTHREADS': '64', 'NCCL_MIN_CTAS': '1',
                                 'NCCL_P2P_LEVEL': 'SYS'}, {}),
    ('algo_no_candidate', logs('!Error : no algorithm/protocol available for function AllGather '
                               'with datatype ncclFloat32. NCCL_ALGO was set to Tree.'),
     {'NCCL_ALGO': 'Tree'}, {}),
    ('algo_choice', hosts(), {'NCCL_ALGO': 'Tree'}, {}),
    ('gid_index', hosts({'ibstat.txt': ROCE, 'gids.txt': GID.format('mlx5_0', 2, 1, 1, 'v1') +
                         GID.format('mlx5_0', 3, 1, 1, 'v2')}), {'NCCL_IB_GID_INDEX': '2'}, {}),
    ('gid_index', logs('NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eno1:10.1.0.1<0>', COMPLETION),
     {}, {'NCCL_IB_GID_INDEX': '3'}),
    ('container_netns_hca', hosts({
        'ibstat.txt': ROCE + port('mlx5_1', layer='Ethernet'),
        'gids.txt': 'DEV PORT INDEX GID IPv4 VER DEV\n' + GID.format('mlx5_0', 3, 1, 1, 'v2')}),
     {}, {'NCCL_IB_HCA': 'mlx5_0'}),
    ('container_netns_hca', logs(
        'Bootstrap : Using eno1:10.1.0.1<0>',
        'NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eno1:10.1.0.1<0>',
        '!Call to ibv_modify_qp failed with error No such device',
        gids='DEV PORT INDEX GID IPv4 VER DEV\n' + GID.format('mlx5_0', 3, 1, 1, 'v2')),
     {}, {'NCCL_IB_HCA': 'mlx5_0'}),
    ('hca_mismatch_nodes', hosts({}, {'ibstat.txt': port('mlx5_0') + port('mlx5_1')}), {},
     {'NCCL_IB_HCA': 'mlx5_0'}),
    ('ib_hca_selection', hosts(), {'NCCL_IB_HCA': 'ibp12s0'}, {'NCCL_IB_HCA': 'mlx5_0'}),
    ('hca_prefix_trap', hosts({'ibstat.txt': port('mlx5_1') + port('mlx5_10')}),
     {'NCCL_IB_HCA': 'mlx5_1'}, {'NCCL_IB_HCA': 'mlx5_1'}),
    ('topology_file', logs('GPU Direct RDMA Disabled for GPU 1000000 / HCA 0 (distance 4 >= 3)',
                           'GPU Direct RDMA Disabled for GPU 2000000 / HCA 0 (distance 4 >= 3)'),
     {}, {'NCCL_TOPO_FILE': '/opt/vendor.xml'}),
    ('topology_file', logs('=== System : maxBw 0.2 totalBw 240.0 ==='),
     {'NCCL_TOPO_FILE': '/opt/own.xml'}, {'NCCL_TOPO_FILE': '/opt/vendor.xml'}),
    ('link_layers_differ', logs('!NET/IB : Attempted to connect incompatible devices: mlx5_0:1 '
                                'set to IB, remote set to RoCE'), {}, {'NCCL_IB_HCA': 'mlx5_0'}),
    ('link_down', hosts({'ibstat.txt': port('mlx5_0') + port('mlx5_1', 'Down')}), {},
     {'NCCL_IB_HCA': 'mlx5_0'}),
    ('cross_rail', logs(CROSSED), {'NCCL_PXN_DISABLE': '1'}, {}),
    ('cabling_rail', logs(CROSSED), {}, {}),
    ('pkey', hosts({'keys.txt': KEYS}), {}, {}),
    ('pfc_ecn', hosts({'ibstat.txt': ROCE, 'qos.txt': QOS}), {}, {'NCCL_IB_TC': '104'}),
    ('ecmp_collision', hosts({'counters.txt': 'out_of_sequence: 4211\n', 'ibstat.txt': ROCE}), {},
     {}),
    ('mixed_nic_speeds', hosts({'ibstat.txt': port('mlx5_0') + port('mlx5_1', rate=100)}), {},
     {'NCCL_IB_HCA': 'mlx5_0'}),
    ('p2p_broken', logs('Channel 00/0 : 0[0] -> 1[1] via P2P/IPC'), {}, {}),
    ('shm_size', logs('!Error while creating shared memory segment /dev/shm/nccl-aB (size 7340384)',
                      df='Filesystem Size Used Avail Use% Mounted on\n'
                      'shm 64M 64M 0 100% /dev/shm\n'), {}, {}),
    ('fabric_manager', logs("!Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 "
                            ": CUDA error 1 'invalid argument'"), {}, {}),
    ('no_transport', logs('!No transport found for rank 1[1] -> rank 0[0]'),
     {'NCCL_P2P_DISABLE': '1', 'NCCL_SHM_DISABLE': '1'}, {}),
)
# Steps whose value differs from node to node; test_a_value_of_its_own_on_each_node.
PER_NODE = {'export NCCL_HOSTID=<a value of its own on each node>'}


def settings(fix):
    return [step for step in fix if re.match(r'(export|unset) ', step)]


def arguments(step, values):
    """The options of preflight that stand for a step; `values` fill its <...>."""
    words = step.split('#')[0].split()
    if words[0] == 'unset':
        return [word for name in words[1:] for word in ('--unset', name)]
    if '<' not in step:
        return [word for setting in words[1:] for word in ('--env', setting)]
    name, value = step.removeprefix('export ').split('=', 1)
    return ['--env', f"{name}={value[:value.index('<')]}{values[name]}"]


def fits(step, template):
    """Whether a printed step comes from that of a rule."""
    if step.split()[0] == 'unset' and '#' not in template and '{' not in template:
        return template.startswith('unset') and set(step.split()) <= set(template.split())
    return re.fullmatch(re.sub(r'\\\{.*?\\\}', '.*', re.escape(template)), step) is not None


class Model(unittest.TestCase):
    """A folder with the files of a case, and what is found in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        listed = json.loads(run('diagnose', '--kinds', '--json', '-').stdout)['kinds']
        self.rules = {one['kind']: settings(one['fix']) for one in listed}

    def write(self, files, environment):
        for old in sorted(self.folder.rglob('*'), reverse=True):
            old.rmdir() if old.is_dir() else old.unlink()
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='utf-8')
        text = ''.join(f'{name}={value}\n' for name, value in environment.items())
        for host in sorted({path.split('/')[0] if '/' in path else '' for path in files}):
            if text:
                (self.folder / host / 'env.txt').write_text(text, encoding='utf-8')

    def findings(self, *options):
        """Kind -> its steps that set something; a kind that is only an alternative of another
        finding has those of its rule."""
        result = run('preflight', str(self.folder), *options, '--json', '-')
        self.assertIn(result.returncode, (0, 1), result.stderr)
        found = json.loads(result.stdout)['jobs'][0]['findings']
        others = {one['kind']: self.rules[one['kind']] for finding in found
                  for one in finding['alternatives']}
        return {**others, **{one['kind']: settings(one['fix']) for one in found}}

    def cures(self, kind, values):
        """Applies each step; returns the steps that were printed."""
        sick = self.findings()
        self.assertIn(kind, sick)
        self.assertIn(kind, self.findings(*UNRELATED), 'an unrelated variable cures')
        several = [step for step in sick[kind] if '<one value>' in step]  # one for each variable
        groups = [several] if several else []
        groups += [[step] for step in sick[kind] if step not in several]
        for group in groups:
            options = [word for step in group for word in arguments(step, values)]
            self.assertNotIn(kind, self.findings(*options), (kind, options))
        return sick[kind]


class Fixes(Model):
    def test_every_step_that_sets_a_variable_cures(self):
        shown = set(PER_NODE)
        for kind, files, environment, values in CASES:
            with self.subTest(kind=kind):
                self.write(files, environment)
                for step in self.cures(kind, values):
                    templates = [one for one in self.rules[kind] if fits(step, one)]
                    self.assertTrue(templates, (kind, step))
                    shown.update(templates)
        steps = {step for fix in self.rules.values() for step in fix}
        self.assertEqual(steps - shown, set(), 'steps of rules that no case of CASES shows')
        kinds = {kind for kind, fix in self.rules.items() if set(fix) - PER_NODE}
        self.assertEqual(kinds, {case[0] for case in CASES}, 'rules with no case in CASES')

    def test_a_comment_sets_nothing(self):
        """What only shows more, or only eases, says so: it can't be taken for a cure."""
        for one in json.loads(run('diagnose', '--kinds', '--json', '-').stdout)['kinds']:
            for step in one['fix']:
                self.assertFalse(re.search(r'\bexport [A-Z]', step) and
                                 not step.startswith('export '), step)
                self.assertNotIn('as a test', step)

    def test_a_value_of_its_own_on_each_node(self):
        started = {number: log('localhost', f'Bootstrap : Using eth0:10.1.0.{number}<0>',
                               'Using network Socket') for number in (1, 2)}
        for ids, present in (((), True), (('one', 'two'), False), (('one', 'one'), True)):
            files = {f'n{number}/log.txt': text for number, text in started.items()}
            for number, value in enumerate(ids, 1):
                files[f'n{number}/env.txt'] = f'NCCL_HOSTID={value}\n'
            self.write(files, {})
            found = self.findings()
            self.assertEqual('hostname_localhost' in found, present, ids)
            if not ids:
                self.assertEqual(set(found['hostname_localhost']), PER_NODE)

    def test_values_that_do_not_cure(self):
        for kind, option in (('virtual_interface', 'NCCL_SOCKET_IFNAME=br-'),
                             ('loopback_selected', 'NCCL_SOCKET_IFNAME=^virbr'),
                             ('ifname_not_found', 'NCCL_SOCKET_IFNAME=eno9'),
                             ('ib_disabled', 'NCCL_IB_DISABLE=2'),
                             ('plugin_missing', 'NCCL_NET=other'),
                             ('gid_index', 'NCCL_IB_GID_INDEX=9'),
                             ('hca_mismatch_nodes', 'NCCL_IB_HCA==mlx5_0,mlx5_1'),
                             ('ib_hca_selection', 'NCCL_IB_HCA==mlx5_7'),
                             ('link_down', 'NCCL_IB_HCA==mlx5_0,mlx5_1'),
                             ('mixed_nic_speeds', 'NCCL_IB_HCA==mlx5_0,mlx5_1'),
                             ('pkey', 'NCCL_IB_PKEY=0'),
                             ('pfc_ecn', 'NCCL_IB_TC=32'),
                             ('too_few_sockets', 'NCCL_SOCKET_NTHREADS=8'),
                             ('ecmp_collision', 'NCCL_IB_QPS_PER_CONNECTION=1'),
                             ('cross_rail', 'NCCL_IB_TIMEOUT=22'),
                             ('shm_size', 'NCCL_CUMEM_HOST_ENABLE=0'),
                             ('address_family', 'NCCL_IB_HCA==mlx5_0')):
            files, environment = next(case[1:3] for case in CASES if case[0] == kind)
            self.write(files, environment)
            self.assertIn(kind, self.findings('--env', option), option)

    def test_a_release_that_does_not_read_the_variable(self):
        """2.23 is the first that takes host memory by cuMem."""
        text = '!Error while creating shared memory segment /dev/shm/nccl-aB (size 7340384)'
        for release, read in (('2.21.5', False), ('2.23.4', True)):
            self.write(logs(f'NCCL version {release}+cuda12.4', text), {})
            step = 'export NCCL_CUMEM_HOST_ENABLE=1   # 2.23 and newer: without /dev/shm'
            self.assertEqual(self.findings()['shm_size'], [step] if read else [])
            self.assertEqual('shm_size' in self.findings('--env', 'NCCL_CUMEM_HOST_ENABLE=1'),
                             not read)

    def test_wrong_options(self):
        result = run('preflight', str(self.folder), '--env', 'A', '--unset', 'B=1')
        self.assertEqual((result.returncode, result.stderr.splitlines()), (2, [
            "error: --env 'A' is not of the form NAME=VALUE",
            "error: --unset 'B=1' is not the name of a variable"]))
        result = run('preflight', str(self.folder), '--env', 'A=1', '--unset', 'A')
        self.assertEqual((result.returncode, result.stderr),
                         (2, 'error: --env and --unset both name A\n'))

    def test_variants_of_a_scenario(self):
        result = run('preflight', 'nic-misselection', '--unset', 'NCCL_IB_DISABLE', '--json', '-')
        jobs = {job['name']: job for job in json.loads(result.stdout)['jobs']}
        self.assertNotIn('ib_disabled', [one['kind'] for one in jobs['before']['findings']])


@unittest.skipUnless(SHARED.is_dir(), f'{SHARED} is not here')
class PublicCases(Model):
    """The first finding of each public case, and each step of its fix that sets a variable."""

    def values(self, report):
        """What the files of a case offer for <...>: an interface that is neither virtual nor
        loopback, the HCAs that all hosts (and the GIDs) name."""
        def of(name, field):
            return [fact['fields'][field] for fact in report['facts'] if fact['name'] == name]
        interfaces = [one for name, field in (('ip.interface', 'name'),
                                              ('nccl.socket_device', 'interface'),
                                              ('nccl.bootstrap', 'interface'))
                      for one in of(name, field) if not re.match('lo|veth|ip6tnl|docker|br-', one)]
        by_host = {}
        for fact in report['facts']:
            if fact['name'] == 'nccl.hca':
                by_host.setdefault(fact['host'], []).append(fact['fields']['hca'])
        down = {fact['fields']['hca'] for fact in report['facts']
                if fact['name'] == 'is.port_down'}
        failed = set(of('nccl.ib_open_failed', 'hca'))
        gids = set(of('rdma.gid', 'hca'))
        hcas = [hca for hca in dict.fromkeys(sum(by_host.values(), []))
                if hca not in down | failed and (not gids or hca in gids)]
        if len(hcas) < 2 and [one for one in report['findings'][:1]
                              if one['kind'] == 'ib_hca_selection']:
            hcas += ['mlx5_1']  # "all HCAs of the compute network": the files name one
        dscp = [fact['fields']['dscp'].split(',')[0] for fact in report['facts']
                if fact['name'] == 'qos.dscp']
        return {'NCCL_SOCKET_IFNAME': (interfaces + ['eth0'])[0],
                'NCCL_IB_HCA': ','.join(hcas or ['mlx5_0']), 'NCCL_IB_GID_INDEX': '3',
                'NCCL_TOPO_FILE': '/opt/vendor.xml', 'NCCL_HOSTID': 'one',
                'NCCL_IB_TC': str(4 * int((dscp or ['26'])[-1]))}

    def test_every_step_that_sets_a_variable_cures(self):
        applied = 0
        for case in sorted(SHARED.iterdir()):
            if not case.is_dir():
                continue
            self.write({}, {})
            for path in case.iterdir():
                if path.name != 'expected.json':
                    (self.folder / path.name).write_bytes(path.read_bytes())
            report = json.loads(run('diagnose', str(self.folder), '--json', '-').stdout)
            for finding in report['findings'][:1]:
                with self.subTest(case=case.name, kind=finding['kind']):
                    self.cures(finding['kind'], self.values(report))
                    applied += len(settings(finding['fix']))
        self.assertGreaterEqual(applied, 25)


if __name__ == '__main__':
    unittest.main()
