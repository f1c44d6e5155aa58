"""`busbw nccl decide` and `busbw nccl env` from outside: JSON, warnings, bad options and files."""
import json
import pathlib
import tempfile
import unittest

from program import SOURCE, run

RECORDS = SOURCE.parent / 'shared' / 'reference' / 'oracle'  # of NCCL's own code; may be absent
LINKS = '<nvlink target="0000:c1:00.0" count="12" tclass="0x068000"/>'


def gpu(dev):
    return (f'<pci busid="0000:{dev + 1}0:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" '
            f'link_width="16"><gpu dev="{dev}" sm="80" rank="{dev}" gdr="1">{LINKS}</gpu></pci>')


# Two A100 on an NVSwitch and a 200 Gb/s NIC behind one PCIe switch.
TOPOLOGY = (
    '<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" '
    'modelid="106"><pci busid="0000:01:00.0" class="0x060400" vendor="0x10b5" device="0x8747" '
    'link_speed="16.0 GT/s PCIe" link_width="16">' + gpu(0) + gpu(1) +
    '<pci busid="0000:a0:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="16"><nic>'
    '<net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" gdr="1"/></nic></pci>'
    '</pci></cpu></system>\n')

GRAPH = {name: None for name in ('pattern', 'nChannels', 'bwIntra', 'bwInter', 'typeIntra',
                                 'typeInter', 'crossNic', 'sameChannels')}
COSTS = {'LL': [None], 'LL128': [None], 'Simple': [None]}
GATHER = {'Ring': COSTS, 'CollNetDirect': COSTS}
SHAPE = {
    'nccl': None, 'nNodesGiven': None, 'gpusPerNode': None, 'nRanks': None, 'nNodes': None,
    'mnnvl': None, 'mnnvlDomainNodes': None,
    'system': {name: None for name in ('maxBw', 'totalBw', 'inter', 'gpus', 'devs', 'nets', 'nvs',
                                       'cpus', 'pcis')},
    'paths': {'gpu_gpu': [[None]], 'gpu_net': [[None]], 'gpu_ranks': [None], 'net_devs': [None]},
    'graphs': {'ring': {**GRAPH, 'channels': [{'gpus': [None], 'netDev': [None]}]},
               'tree': {**GRAPH, 'channels': [{'gpus': [None], 'netDev': [None]}]},
               'nvls': {**GRAPH, 'channels': []}},
    'comm': {**{name: None for name in ('nChannels', 'collChannels', 'nvlsChannels', 'p2pnChannels',
                                        'p2pnChannelsPerPeer', 'p2pChunkSize')},
             'buffSizes': {'LL': None, 'LL128': None, 'Simple': None}},
    'rings': {'channelToOrder': [None], 'orders': [[None]]},
    'trees': {'channelToTree': [None], 'depth': None, 'parents': [[None]]},
    'tuning': {'Broadcast': {'Ring': COSTS}, 'Reduce': {'Ring': COSTS}, 'AllGather': GATHER,
               'ReduceScatter': GATHER,
               'AllReduce': {'Tree': COSTS, 'Ring': COSTS, 'CollNetDirect': COSTS,
                             'CollNetChain': COSTS}},
    'choices': {name: [[None]] for name in ('Broadcast', 'Reduce', 'AllGather', 'ReduceScatter',
                                            'AllReduce')},
}


def shape(value):
    """Key names and nesting: numbers and text become None, of a list the first item stays."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return None


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.topology = self.write('node.xml', TOPOLOGY)

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text, encoding='utf-8')
        return str(path)

    def decide(self, *options, nodes=2, topology=None):
        return run('nccl', 'decide', '--topology', topology or self.topology, '--nodes', str(nodes),
                   *options)

    def decision(self, *options, nodes=2):
        result = self.decide('--json', '-', *options, nodes=nodes)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def check_error(self, result, message):
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, '', message + '\n'))


class Json(WithFolder):
    def test_key_names_and_nesting(self):
        self.assertEqual(shape(self.decision()), SHAPE)
        one = self.decision(nodes=1)
        self.assertEqual(shape(one)['graphs']['ring']['channels'], [{'gpus': [None]}])
        self.assertNotIn('env', one)

    def test_figures_worked_out_by_hand(self):
        value = self.decision()
        self.assertEqual(value['paths']['gpu_gpu'][0], ['LOC/5000/0', 'NVL/240/4'])
        self.assertEqual(value['tuning']['AllReduce']['Ring']['Simple'], [50, 16])
        self.assertEqual([row[0] for row in value['choices']['AllReduce']],
                         [2 ** k for k in range(3, 34)])
        # 8 B: Ring LL 6.6 + 4 x 1 + 2 x 2.7 us and 8 bytes at 12 x 4 / 6 GB/s.
        self.assertEqual(value['choices']['AllReduce'][0], [8, 'Ring', 'LL', 16.001, 1])

    def test_equal_to_the_records(self):
        if not RECORDS.is_dir():
            self.skipTest(f'no records in {RECORDS}')
        for name, nodes in (('h100x8_azure_ndv5', 2), ('a100x2_simai_bcm', 4), ('a10x8_aws_g5', 1)):
            record = json.loads((RECORDS / 'nccl-2.30.7' / f'{name}-{nodes}.json').read_text())
            ours = json.loads(self.decide(
                '--json', '-', nodes=nodes,
                topology=str(RECORDS / 'topologies' / f'{name}.xml')).stdout)
            self.assertEqual(list(ours), list(record), name)
            self.assertEqual(shape(ours), shape(record), name)
            for field in ('system', 'comm', 'graphs'):
                self.assertEqual(ours[field], record[field], name)

    def test_environment_and_collnet_are_in_it(self):
        value = self.decision('--env', 'NCCL_COLLNET_ENABLE=1', '--env', 'NCCL_ALGO=^Tree',
                              '--collnet')
        self.assertEqual(value['env'], {'NCCL_ALGO': '^Tree', 'NCCL_COLLNET_ENABLE': '1'})
        self.assertEqual(list(value['graphs']), ['ring', 'tree', 'nvls', 'collnetChain',
                                                 'collnetDirect'])
        self.assertEqual(value['comm']['nChannels'], 3)

    def test_same_bytes_every_time(self):
        for options in ([], ['--json', '-'], ['--json', '-', '--nccl-version', '2.18.6']):
            first = self.decide(*options, nodes=5)
            self.assertEqual(first.returncode, 0)
            self.assertEqual(first.stdout, self.decide(*options, nodes=5).stdout)

    def test_file_for_json_leaves_the_report(self):
        path = self.write('out.json', '')
        result = self.decide('--json', path)
        self.assertIn('4 ranks on 2 hosts', result.stdout)
        self.assertEqual(json.loads(pathlib.Path(path).read_text()), self.decision())
        self.assertEqual(self.decide('--json', '/dev/full').returncode, 3)


class Warnings(WithFolder):
    def warnings(self, *settings, options=()):
        result = self.decide(*[word for setting in settings for word in ('--env', setting)],
                             *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr.splitlines()

    def test_unknown_names_and_values_that_count_as_something_else(self):
        self.assertEqual(
            self.warnings('NCCL_IB_TIMOUT=22', 'NCCL_P2P_LEVEL=sys', 'NCCL_P2P_DISABLE=yes',
                          'NCCL_NETDEVS_POLICY=ALL', options=['--nccl-version', '2.18.6']),
            ["warning: NCCL_IB_TIMOUT is no variable of NCCL; did you mean 'NCCL_IB_TIMEOUT'?",
             'warning: NCCL_NETDEVS_POLICY exists from 2.28.3 on; 2.18.6 does not read it',
             "warning: NCCL_P2P_DISABLE='yes' is no number: NCCL reads 0",
             "warning: NCCL_P2P_LEVEL='sys' is ignored: upper case is required, 'SYS'"])
        self.assertEqual(self.warnings('NCCL_WORK_FIFO_DEPTH=64'),
                         ['warning: NCCL_WORK_FIFO_DEPTH exists up to 2.21.5; 2.30.7 does not '
                          'read it'])
        self.assertEqual(self.warnings('NCCL_P2P_LEVEL=SYS', 'LD_PRELOAD=x'), [])

    def test_collnet_without_its_variable(self):
        self.assertEqual(self.warnings(options=['--collnet']),
                         ['warning: --collnet: NCCL reduces in the network only with '
                          'NCCL_COLLNET_ENABLE=1'])
        self.assertEqual(self.warnings('NCCL_COLLNET_ENABLE=1', options=['--collnet']), [])


class Options(WithFolder):
    def test_every_wrong_one_is_said(self):
        self.check_error(
            self.decide('--mnnvl', '-1', '--env', 'NCCL_ALGO', '--env', '=1', '--nccl-version',
                        '2.17.1', nodes=0),
            "error: --nodes 0: allowed are 1 to 65536\n"
            "error: --mnnvl -1: must not be negative\n"
            "error: --env 'NCCL_ALGO' is not of the form NAME=VALUE\n"
            "error: --env '=1' is not of the form NAME=VALUE\n"
            "error: --nccl-version 2.17.1: known are 2.18.1 to 2.30.7")

    def test_versions(self):
        self.check_error(self.decide('--nccl-version', '2.31.1'),
                         'error: --nccl-version 2.31.1: known are 2.18.1 to 2.30.7')
        self.check_error(self.decide('--nccl-version', 'newest'),
                         "error: --nccl-version 'newest' is no release such as 2.28.9")
        for version in ('2.18.1', '2.24.3', '2.30.7'):
            self.assertEqual(self.decision('--nccl-version', version)['nccl'], version)

    def test_words_that_nccl_refuses(self):
        self.check_error(self.decide('--env', 'NCCL_PROTO=LL12'),
                         "error: NCCL_PROTO: unknown word 'LL12', expected 'LL', 'LL128' or "
                         "'Simple'; did you mean 'LL128'?")
        self.assertEqual(self.decide('--env', 'NCCL_PROTO=LL12', '--nccl-version',
                                     '2.23.4').returncode, 0)


class Files(WithFolder):
    def test_topologies_that_cannot_be_read(self):
        folder = self.folder.name
        self.check_error(self.decide(topology=folder),
                         f'error: {folder}: cannot be read: it is a folder')
        self.check_error(self.decide(topology=folder + '/none.xml'),
                         f'error: {folder}/none.xml: cannot be read: No such file or directory')

    def test_malformed_topologies(self):
        whole = TOPOLOGY
        deep = ''.join(f'<pci busid="0000:{i:x}:00.0">' for i in range(1000))
        for text, message in (
                ('', ':1:1: error: not readable as XML: no document element found'),
                (whole[:len(whole) // 2], ': error: not readable as XML: '),
                ('<graphs version="1"/>', ":1:2: error: the root is 'graphs', expected 'system'"),
                (f'<system version="1"><cpu>{deep}{"</pci>" * 1000}</cpu></system>',
                 "error: more than 256 elements: NCCL's parser stops here"),
                (whole.replace('0000:20:00.0', '0000:10:00.0'),
                 "error: bus id '0000:10:00.0' is there twice"),
                (' ' * 9_000_000, 'more than 2097152 bytes, so it is no topology'),
                ('\0\1\2', 'error: ')):
            with self.subTest(message):
                result = self.decide(topology=self.write('bad.xml', text))
                self.assertEqual((result.returncode, result.stdout), (2, ''))
                self.assertIn(message, result.stderr)
                self.assertTrue(result.stderr.startswith(self.folder.name), result.stderr)

    def test_negative_speed_counts_as_nccl_counts_it(self):
        slow = self.write('slow.xml', TOPOLOGY.replace('speed="200000"', 'speed="-1"'))
        value = json.loads(self.decide('--json', '-', topology=slow).stdout)
        self.assertEqual(value['system']['maxBw'], 1.25)

    def test_graphs_out_and_in(self):
        path = self.write('graphs.xml', '')
        self.assertEqual(self.decide('--dump-graphs', path).returncode, 0)
        searched = self.decision()
        given = self.decision('--env', f'NCCL_GRAPH_FILE={path}')
        del given['env']
        self.assertEqual(given, searched)
        text = pathlib.Path(path).read_text(encoding='utf-8')
        self.assertIn('<graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="24"', text)
        half = self.write('half.xml', text.replace('speedintra="24" speedinter="24"',
                                                   'speedintra="12" speedinter="12"'))
        self.assertEqual(self.decision('--env', f'NCCL_GRAPH_FILE={half}')['graphs']['ring']
                         ['bwInter'], 12)

    def test_bad_graphs(self):
        self.check_error(self.decide('--env', 'NCCL_GRAPH_FILE=/none.xml'),
                         'error: /none.xml: cannot be read: No such file or directory')
        bad = self.write('bad.xml', '<graphs version="1">\n<graph id="0" nchannels="1"/></graphs>')
        result = self.decide('--env', f'NCCL_GRAPH_FILE={bad}')
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{bad}:2:2: error: 'graph' has no attribute 'pattern'\n", result.stderr)
        self.assertIn(f'{bad}:2:2: error: nchannels is 1, the graph has 0 channels\n',
                      result.stderr)
        self.assertEqual(self.decide('--dump-graphs', '/dev/full').returncode, 3)


class Variables(unittest.TestCase):
    def test_list_and_json_agree(self):
        value = json.loads(run('nccl', 'env', '--json').stdout)
        self.assertEqual(value['schema'], 'busbw.nccl-env/1')
        names = [item['name'] for item in value['variables']]
        self.assertEqual(names, sorted(set(names)))
        self.assertGreater(len(names), 170)
        lines = run('nccl', 'env').stdout.splitlines()
        self.assertEqual(lines[0].split(), ['variable', 'default', 'since', 'changes', 'meaning'])
        self.assertEqual([line.split()[0] for line in lines[1:]], names)
        for item, line in zip(value['variables'], lines[1:]):
            self.assertEqual(list(item), ['name', 'default', 'since', 'until', 'group', 'changes',
                                          'meaning'])
            for key in ('default', 'since', 'changes', 'meaning'):
                self.assertIn(item[key], line)
        known = {item['name']: item for item in value['variables']}
        self.assertEqual((known['NCCL_IB_TIMEOUT']['default'], known['NCCL_IB_TIMEOUT']['since']),
                         ('20 (18 up to 2.22)', '2.18.1'))
        self.assertEqual(known['NCCL_WORK_FIFO_DEPTH']['until'], '2.21.5')
        self.assertIsNone(known['NCCL_ALGO']['until'])
        for name, change in (('SOCKET_IFNAME', 'bootstrap'), ('IB_DISABLE', 'network'),
                             ('IB_HCA', 'devices'), ('P2P_LEVEL', 'paths'), ('ALGO', 'algorithm'),
                             ('CROSS_NIC', 'graphs'), ('MAX_NCHANNELS', 'channels'),
                             ('PROTO', 'protocol'), ('BUFFSIZE', 'chunk'), ('NTHREADS', 'threads'),
                             ('DEBUG', 'log only'), ('IB_SL', 'nothing in this model')):
            self.assertEqual(known['NCCL_' + name]['changes'], change)


if __name__ == '__main__':
    unittest.main()
