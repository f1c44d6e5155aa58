"""`busbw nccl log`: options, filters, exit codes and determinism of the printed log."""
import os
import tempfile
import unittest

import program

TOPOLOGY = os.path.join(program.SOURCE, 'tests/data/measured/h200x4-nccl-topology.xml')


def run(*arguments):
    return program.run('nccl', 'log', *arguments)


def lines(*arguments):
    result = run('--topology', TOPOLOGY, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


class NcclLog(unittest.TestCase):
    def test_default_subsystems_and_frame(self):
        log = lines('--nodes', '2', '--nccl-version', '2.28.9')
        self.assertEqual(log[0], 'node1:1000:1000 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>')
        self.assertIn('node1:1000:1000 [0] NCCL INFO NCCL version 2.28.9+cuda12.4', log)
        self.assertIn('node1:1000:1000 [0] NCCL INFO Using network Socket', log)
        self.assertIn('node1:1000:1000 [0] NCCL INFO comm 0x55d0c0000000 rank 0 nRanks 8 nNodes 2 '
                      'localRanks 4 localRank 0 MNNVL 0', log)
        self.assertFalse([line for line in log if 'Pattern' in line or 'Max NThreads' in line])
        self.assertTrue(all(line.startswith('node1:1000:1000 [0] NCCL INFO ') for line in log))

    def test_rank_of_another_host(self):
        log = lines('--nodes', '2', '--rank', '6')
        self.assertTrue(all(line.startswith('node2:1006:1006 [2] NCCL INFO ') for line in log))
        self.assertFalse([line for line in log if ' Channel ' in line])

    def test_version_line_before_2_22_has_no_frame(self):
        self.assertIn('NCCL version 2.21.5+cuda12.4', lines('--nccl-version', '2.21.5'))
        self.assertFalse([line for line in lines('--nccl-version', '2.21.5', '--rank', '1')
                          if 'NCCL version' in line])

    def test_subsystems(self):
        graph = lines('--debug-subsys', 'graph')
        self.assertTrue([line for line in graph if '=== System : maxBw' in line])
        self.assertFalse([line for line in graph if ' Trees ' in line])
        tuning = lines('--debug-subsys', 'TUNING', '--env', 'NCCL_DEBUG_SUBSYS=GRAPH')
        self.assertEqual(3, len([line for line in tuning if ' Max NThreads |' in line]))
        same = lines('--env', 'NCCL_DEBUG_SUBSYS=TUNING')
        self.assertEqual(tuning, same)
        self.assertEqual(2, len([line for line in lines('--debug-subsys', 'TUNING',
                                                        '--nccl-version', '2.22.3')
                                 if ' Max NThreads |' in line]))

    def test_levels(self):
        self.assertEqual(lines('--env', 'NCCL_DEBUG=WARN'), [])
        self.assertEqual(lines('--env', 'NCCL_DEBUG=VERSION', '--nccl-version', '2.20.5'),
                         ['NCCL version 2.20.5+cuda12.4'])

    def test_connections(self):
        self.assertFalse([line for line in lines() if ' via ' in line])
        log = lines('--connections', '--debug-subsys', 'INIT')
        self.assertTrue([line for line in log if '0[0] -> 1[1] via P2P/CUMEM' in line])
        self.assertTrue(log[-1].endswith('Connected all trees'))

    def test_network_of_a_plugin(self):
        self.assertTrue([line for line in lines('--network', 'IBext_v8')
                         if line.endswith('Using network IBext_v8')])

    def test_remarks_go_to_standard_error(self):
        result = run('--topology', TOPOLOGY, '--env', 'NCCL_SOCKET_IFNAM=eth0')
        self.assertEqual(result.returncode, 0)
        self.assertIn("did you mean 'NCCL_SOCKET_IFNAME'?", result.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'hca.xml')
            with open(TOPOLOGY, encoding='utf-8') as file:
                text = file.read()
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text.replace('name="eth0"', 'name="mlx5_0"').replace(
                    'port="0"', 'port="1"'))
            result = run('--topology', path, '--env', 'NCCL_IB_DISABLE=1')
            self.assertEqual(result.returncode, 0)
            self.assertIn('other devices than the topology lists', result.stderr)
            self.assertIn('Using network Socket', result.stdout)
            self.assertNotIn('other devices', run('--topology', path).stderr)

    def test_runs_are_equal(self):
        arguments = ('--nodes', '3', '--debug-subsys', 'ALL', '--connections')
        self.assertEqual(lines(*arguments), lines(*arguments))

    def test_wrong_options_all_at_once(self):
        result = run('--topology', '/nonexistent.xml', '--nodes', '0', '--mnnvl', '-1', '--env',
                     'X', '--nccl-version', '1.0', '--debug-subsys', 'GRAHP')
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, '')
        self.assertEqual(result.stderr.splitlines(), [
            "error: --debug-subsys: unknown subsystem 'GRAHP' in NCCL 2.30.7; "
            "did you mean 'GRAPH'?",
            'error: --nodes 0: allowed are 1 to 65536',
            'error: --mnnvl -1: must not be negative',
            "error: --env 'X' is not of the form NAME=VALUE",
            'error: --nccl-version 1.0: known are 2.18.1 to 2.30.7'])

    def test_a_machine_of_the_catalogue(self):
        log = run('--topology', 'dgx-h100', '--nodes', '2').stdout
        self.assertIn('NCCL INFO Using network IB\n', log)
        self.assertIn('NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB', log)

    def test_rank_out_of_range_and_missing_file(self):
        result = run('--topology', TOPOLOGY, '--rank', '4')
        self.assertEqual((result.returncode, result.stderr),
                         (2, 'error: --rank 4: allowed are 0 to 3\n'))
        result = run('--topology', '/nonexistent.xml')
        self.assertEqual(result.returncode, 2)
        self.assertIn('/nonexistent.xml: cannot be read: No such file', result.stderr)

    def test_subsystem_of_a_later_release(self):
        result = run('--topology', TOPOLOGY, '--nccl-version', '2.18.1', '--debug-subsys', 'RAS')
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown subsystem 'RAS' in NCCL 2.18.1", result.stderr)


if __name__ == '__main__':
    unittest.main()
