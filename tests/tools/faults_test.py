"""The scenarios of faults and Ethernet on the program's output: outcomes, times, lines, bytes."""
import json
import pathlib
import tempfile
import unittest

from program import run

TIMER = 4.096e-6 * 2**20  # of a queue pair, NCCL 2.23 and later


def one_line(text):
    """Text without its line breaks: the report wraps."""
    return ' '.join(text.split())


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        result = run('run', 'faults', '--json', '-')
        assert result.returncode == 0, result.stderr
        cls.variants = {v['name']: v for v in json.loads(result.stdout)['variants']}
        cls.report = one_line(run('run', 'faults').stdout)

    def call(self, name):
        """The one size of a variant, whether it came to its end or not."""
        variant = self.variants[name]
        return (variant['results'] + variant.get('failed', []))[0]

    def seconds(self, name):
        """Time of a variant that came to its end."""
        self.assertEqual(self.variants[name]['outcome'], 'runs')
        return self.call(name)['time_us'] / 1e6

    def test_every_byte_is_accounted_for(self):
        played = 0
        for name in self.variants:
            if not self.variants[name]['results'] and not self.variants[name].get('failed'):
                continue
            faults = self.call(name).get('faults')
            if faults:
                played += 1
                kept = faults['arrived_bytes'] + faults['lost_bytes']
                self.assertEqual(faults['asked_bytes'], kept, name)
                # 8 ranks send 14 eighths of 256 MiB, whatever happens.
                self.assertEqual(faults['asked_bytes'], 14 * (256 << 20), name)
                self.assertEqual(faults['completed'], faults['lost_bytes'] == 0, name)
        self.assertGreater(played, 10)

    def test_times_by_hand(self):
        healthy = self.seconds('healthy')
        # 448 MiB at 50 GB/s x 4096/4122 x 0.981.
        by_hand = 448 * 1.048576 / (50 * 4096 / 4122 * 0.981)
        self.assertAlmostEqual(healthy * 1e3, by_hand, delta=0.7)
        self.assertAlmostEqual(self.seconds('half the width') / healthy, 2, delta=0.1)
        self.assertAlmostEqual(self.seconds('flap of 2 s') - healthy, TIMER, delta=0.002)
        self.assertAlmostEqual(self.seconds('spine lost') - healthy, TIMER, delta=0.005)
        self.assertAlmostEqual(self.seconds('no subnet manager'), healthy, delta=1e-4)
        # 0.1 % of the packets: 0.999 / (0.999 + 98.66 x 0.001) = 91 %.
        self.assertAlmostEqual(self.seconds('lost packets') / healthy, 1 / 0.91, delta=0.04)

    def test_failures_by_hand(self):
        down = self.call('link down')['faults']
        self.assertAlmostEqual(down['end_us'] / 1e6, 8 * TIMER + 0.1, delta=0.02)
        texts = [line['text'] for line in down['lines']]
        line = 'NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)'
        self.assertIn(line, texts)
        older = self.call('link down, NCCL 2.18')['faults']
        self.assertAlmostEqual(older['end_us'] / 1e6, 8 * 4.096e-6 * 2**18 + 0.1, delta=0.02)
        gone = self.call('HCA gone')['faults']
        self.assertEqual(gone['end_us'], 103e3)
        self.assertEqual(self.call('HCA gone')['busbw_GBps'], 0)
        self.assertEqual(self.variants['nobody looks']['outcome'], 'hang')
        self.assertTrue(self.call('nobody looks')['faults']['hangs'])

    def test_the_report_has_times_lines_and_bytes(self):
        for words in ('link down, host 4 mlx5_0', 'routes go around ib/spine1',
                      'bytes asked', 'status=12', 'NCCL watchdog thread terminated',
                      'given up after', 'hangs; first failure after'):
            self.assertIn(words, self.report)

    def test_nothing_without_events(self):
        variant = self.variants['healthy']
        self.assertNotIn('faults', variant['results'][0])
        self.assertNotIn('failed', variant)


class Ethernet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        result = run('run', 'ethernet-faults', '--json', '-')
        assert result.returncode == 0, result.stderr
        cls.variants = {v['name']: v for v in json.loads(result.stdout)['variants']}

    def busbw(self, name):
        """Of a variant that came to its end."""
        self.assertEqual(self.variants[name]['outcome'], 'runs')
        return self.variants[name]['results'][0]['busbw_GBps']

    def test_spreading_beats_hashing(self):
        self.assertLess(self.busbw('one hash a connection'), self.busbw('spraying') * 0.8)
        self.assertLessEqual(self.busbw('one hash a connection'),
                             self.busbw('four queue pairs') * 1.01)

    def test_missing_flow_control_collapses(self):
        self.assertLess(self.busbw('tree, no PFC and no ECN'), self.busbw('tree, lossless') / 5)

    def test_a_pause_storm_halves(self):
        self.assertLess(self.busbw('pause storm'), self.busbw('one hash a connection'))

    def test_mtu_and_watchdog(self):
        self.assertIn('status=12', self.variants['switches with MTU 1500']['error'])
        sockets = self.variants['sockets, link down']['failed'][0]['faults']
        self.assertEqual(sockets['end_us'], 600e6)


class Hottest(unittest.TestCase):
    def test_the_busiest_links_with_their_ranks(self):
        value = json.loads(run('run', 'faults', '--hottest', '3', '--json', '-').stdout)
        links = value['variants'][0]['results'][0]['hottest_links']
        self.assertEqual(len(links), 3)
        self.assertEqual(links[0]['utilization'], max(link['utilization'] for link in links))
        for link in links:
            self.assertGreater(link['carried_bytes'], 0)
            for connection in link['connections']:
                # A ring in rank order: neighbours only.
                self.assertEqual((connection['from'] + 1) % 8, connection['to'])
        self.assertIn('hottest links of 256 MiB', run('run', 'faults', '--hottest', '1').stdout)

    def test_bad_numbers(self):
        result = run('run', 'faults', '--hottest', '-1')
        self.assertEqual(result.returncode, 2)
        self.assertIn('--hottest must be from 0 to 10000, found -1', result.stderr)


class BadEvents(unittest.TestCase):
    def test_unknown_nodes_are_located_and_nothing_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'bad.yaml'
            path.write_text('schema: busbw.scenario/1\nname: bad\nnccl: 2.28.9\n'
                            'cluster: {hosts: 2, machine: dgx-h100, networks: '
                            '[{name: ib, nics: [mlx5_0]}]}\n'
                            'workload: {collective: all_reduce, sizes: [1 MiB]}\n'
                            'events: [{fault: switch down, at: 0, switch: ib/spine}]\n',
                            encoding='utf-8')
            out = pathlib.Path(folder) / 'out.json'
            result = run('run', str(path), '--json', str(out))
            self.assertEqual(result.returncode, 2)
            self.assertIn("bad.yaml:6:10: error: the fabric has no node 'ib/spine'", result.stderr)
            self.assertFalse(out.exists())


if __name__ == '__main__':
    unittest.main()
