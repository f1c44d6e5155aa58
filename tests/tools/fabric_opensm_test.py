"""Our routing against the real subnet manager, and the real tools on emulated fabrics.

Needs ibsim-utils, opensm and infiniband-diags; says that it skips without them (exit status 77).
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from program import run

# hosts, children, parents, parallel cables of a generalised fat tree, cables that are missing.
FABRICS = [
    (16, '4, 4', '1, 4', '1, 1', ''),
    (32, '8, 4', '1, 4', '1, 1', ''),
    (64, '8, 8', '1, 8', '1, 1', ''),
    (64, '8, 8', '1, 4', '1, 2', ''),
    (128, '16, 8', '1, 4', '1, 4', ''),
    (324, '18, 18', '1, 18', '1, 1', ''),
    (648, '18, 36', '1, 18', '1, 1', ''),
    (100, '12, 9', '1, 6', '1, 1', ''),
    (27, '3, 3, 3', '1, 3, 3', '1, 1, 1', ''),
    (64, '4, 4, 4', '1, 4, 4', '1, 1, 1', ''),
    (216, '6, 6, 6', '1, 6, 6', '1, 1, 1', ''),
    (512, '8, 8, 8', '1, 8, 8', '1, 1, 1', ''),
    (96, '4, 4, 6', '1, 2, 2', '1, 1, 1', ''),
    (59, '4, 4, 4', '1, 4, 2', '1, 1, 2', ''),
    (16, '4, 4', '1, 4', '1, 1', '{from: leaf1, to: spine2}'),
    (64, '8, 8', '1, 8', '1, 1', '{from: node9}, {from: node10}, {from: node40}'),
    (64, '4, 4, 4', '1, 4, 4', '1, 1, 1', '{from: leaf5, to: spine6}'),
    (128, '16, 8', '1, 4', '1, 4', '{from: leaf3, to: spine1, number: 2}'),
    (216, '6, 6, 6', '1, 6, 6', '1, 1, 1', '{from: spine7, to: core8}, {from: node100}'),
    (64, '8, 8', '1, 8', '1, 1', '{from: leaf0, to: spine0}, {from: leaf7, to: spine7}'),
]


def fabric(number, engine):
    """The text of one of FABRICS with this routing engine."""
    hosts, children, parents, cables, missing = FABRICS[number]
    return (f'schema: busbw.fabric/1\nname: f{number}\ntopology: fat-tree\nswitches: QM8700\n'
            f'hosts: [{{count: {hosts}}}]\nxgft: {{children: [{children}], parents: [{parents}], '
            f'cables: [{cables}]}}\nmissing: [{missing}]\nsubnet_manager: {{routing: {engine}}}\n')


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def write(self, name, text):
        """A file with this text."""
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return str(path)

    def subnet(self, *arguments):
        """The only subnet of a report."""
        result = run('fabric', *arguments, '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        return json.loads(result.stdout)['subnets'][0]


class Differential(Folder):
    def test_hops_loads_and_reachability_equal_opensm(self):
        fell_back = 0
        for number in range(len(FABRICS)):
            for engine in ['ftree', 'minhop']:
                with self.subTest(fabric=FABRICS[number], engine=engine):
                    file = self.write('f.yaml', fabric(number, engine))
                    ours = self.subnet(file)
                    theirs = self.subnet(file, '--routes', 'opensm')
                    self.assertEqual('OpenSM ' + ours['routes'], theirs['routes'])
                    self.assertEqual(ours['reachability'], theirs['reachability'])
                    self.assertEqual(ours['fell_back'] == '', theirs['fell_back'] == '')
                    fell_back += ours['fell_back'] != ''
        self.assertGreater(fell_back, 2)  # where it refuses, so do we

    def test_its_tables_drive_a_simulation(self):
        text = fabric(0, 'ftree').replace('count: 16', 'count: 16, rate: 100 Gb/s')
        tables = str(self.folder / 't.lfts')
        result = run('fabric', self.write('f.yaml', text), '--routes', 'opensm', '--export', 'lfts',
                     '-o', tables)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        routed = self.write('g.yaml', text.replace('{routing: ftree}', '{tables: t.lfts}'))
        perf = ['perf', 'all_reduce', '--machine', 'a100-40gb-x4', '--nodes', '8', '-b', '64M',
                '-e', '64M', '--json', '-']
        with_tables = run(*perf, '--fabric', routed)
        self.assertEqual((with_tables.returncode, with_tables.stderr), (0, ''))
        ours = json.loads(run(*perf, '--fabric', str(self.folder / 'f.yaml')).stdout)
        theirs = json.loads(with_tables.stdout)
        self.assertAlmostEqual(ours['average_busbw_GBps'], theirs['average_busbw_GBps'], places=3)


class Shell(Folder):
    def test_the_real_tools_see_the_fabric(self):
        file = self.write('f.yaml', fabric(0, 'ftree'))

        def shell(command):
            result = run('fabric', file, '--shell', command)
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout

        self.assertIn('State: Active', shell('ibstat'))
        text = shell('ibnetdiscover')
        found = self.write('found.txt', text)
        again = self.subnet(found)
        self.assertEqual((again['switches'], again['ports']), (8, 16))
        links = self.write('links.txt', shell('iblinkinfo'))
        self.assertEqual(self.subnet(links)['switches'], 8)
        lids = [re.search(rf'"node{host}/mlx5_0" lid (\d+)', text).group(1) for host in (0, 15)]
        trace = shell(f'ibtracert {lids[0]} {lids[1]}')
        self.assertEqual(trace.count('->'), 4)

    def test_a_subnet_manager_answers(self):
        file = self.write('f.yaml', fabric(0, 'ftree'))
        result = run('fabric', file, '--shell',
                     'sminfo && saquery NR && ibtracert -G $(ibstat -p | head -1) 0x10001f')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('SMINFO_MASTER', result.stdout)
        self.assertIn('NodeRecord dump:', result.stdout)
        self.assertEqual(result.stdout.count('->'), 4)  # leaf, spine, leaf, host

    def test_a_second_subnet_manager_stands_by(self):
        file = self.write('f.yaml', fabric(0, 'ftree'))
        result = run('fabric', file, '--shell',
                     'opensm -D 0x43 -f $OSM_TMP_DIR/2.log >$OSM_TMP_DIR/2.out 2>&1 & '
                     'for i in $(seq 60); do sleep 0.5; '
                     'grep -q STANDBY $OSM_TMP_DIR/2.log && break; done; sminfo; kill $!; '
                     'cat $OSM_TMP_DIR/2.log')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('priority 14 state 3 SMINFO_MASTER', result.stdout)
        self.assertIn('Entering STANDBY state', result.stdout)
        self.assertNotIn('Entering MASTER state', result.stdout)

    def test_one_that_is_down_leaves_its_tables(self):
        def shell(state, command):
            file = self.write('f.yaml', fabric(0, 'ftree').replace('{routing', state + ', routing'))
            return run('fabric', file, '--shell', command)

        alive = '{state: down, ports: active'
        self.assertEqual(shell(alive, 'ibtracert 1 2').returncode, 0)
        self.assertNotEqual(shell(alive, 'saquery -t 200 NR').returncode, 0)
        self.assertIn('State: Active', shell(alive, 'ibstat').stdout)

    def test_hosts_that_come_up_later_stay_in_init(self):
        file = self.write('f.yaml', fabric(0, 'ftree').replace('{routing', '{state: down, routing'))
        result = run('fabric', file, '--shell', 'ibstat')
        self.assertIn('State: Initializing', result.stdout)
        self.assertIn('Physical state: LinkUp', result.stdout)
        self.assertIn('Base lid: 0\n', result.stdout)
        self.assertNotIn('State: Active', result.stdout)

    def test_status_time_out_and_no_process_left(self):
        file = self.write('f.yaml', fabric(0, 'minhop'))
        self.assertEqual(run('fabric', file, '--shell', 'exit 7').returncode, 7)
        result = run('fabric', file, '--timeout', '1', '--shell', 'sleep 50')
        self.assertEqual(result.returncode, 3)
        self.assertIn('no end after 1 s', result.stderr)
        self.assertEqual(list(pathlib.Path(tempfile.gettempdir()).glob('busbw-fabric-*')), [])


if __name__ == '__main__':
    missing = [name for name in ('ibsim', 'opensm', 'ibnetdiscover')
               if shutil.which(name, path='/usr/sbin:/usr/bin') is None]
    if missing:
        print(f'skipped: {", ".join(missing)} not installed')
        sys.exit(77)
    unittest.main()
