"""Ring, tree and hierarchical all-reduce over hosts and size, by the program, by closed forms."""
import json
import math
import pathlib
import tempfile
import unittest

from program import SOURCE, run

MIB = 1 << 20
LAUNCH = 10             # us, Simple
PRIMITIVE = 2 * 1.2     # us, synchronisation of a thread block, twice as long on A100
# us: a primitive, transport 11.5, four PCIe hops of 0.15, two adapters of 0.3, a switch of 0.13.
HOP = PRIMITIVE + 11.5 + 4 * 0.15 + 2 * 0.3 + 0.13
NIC = 12.5e3 * 4096 / 4122 * 0.981   # bytes per us of 100 Gb/s InfiniBand


def variants(name):
    """The variants of a scenario of the catalogue by name."""
    result = run('run', str(SOURCE / f'scenarios/catalog/{name}.yaml'), '--json', '-')
    assert result.returncode == 0, result.stderr
    return {variant['name']: variant for variant in json.loads(result.stdout)['variants']}


class RingOrTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.variants = variants('ring-or-tree')

    def row(self, algorithm, hosts, size):
        """The row of `size` bytes of one variant."""
        rows = self.variants[f'{algorithm}, {hosts} hosts']['results']
        return next(row for row in rows if row['bytes'] == size)

    def near(self, value, wanted, percent):
        self.assertLessEqual(abs(value / wanted - 1) * 100, percent, f'{value} against {wanted}')

    def test_latency_of_the_ring_is_linear(self):
        for hosts in (2, 4, 8, 16, 32):
            # The second slice of a chunk, and the last primitive, which only receives.
            self.near(self.row('ring', hosts, 4096)['time_us'],
                      LAUNCH + 2 * (hosts - 1) * HOP + 2 * PRIMITIVE, 1)

    def test_latency_of_the_tree_is_logarithmic(self):
        # 4 KiB in one chunk, stored and forwarded at each hop, and the leaf's last primitive.
        for hosts in (4, 8, 16, 32):
            self.near(self.row('tree', hosts, 4096)['time_us'],
                      LAUNCH + 2 * math.log2(hosts) * HOP + PRIMITIVE, 4)

    def test_bandwidth_of_the_ring_does_not_depend_on_the_hosts(self):
        for hosts in (2, 4, 8, 16, 32):
            row = self.row('ring', hosts, 256 * MIB)
            # A loop ends with a receive, after which the next one has to get going.
            self.near(row['busbw_GBps'], NIC / 1e3, 9 if hosts == 2 else 6)
            self.assertLessEqual(row['busbw_GBps'], NIC / 1e3)
            # NCCL's cut of ranks x chunk leaves whole bytes: 2(n-1)/n S leave each host.
            self.near(row['leaving_host_bytes'], 2 * (hosts - 1) / hosts * 256 * MIB, 0.1)

    def test_bandwidth_of_the_tree(self):
        # An inner host of one tree is a leaf of the other: it receives 2 x S/2 from children and
        # S/2 from its parent in one and S/2 in the other, 2 S in all.
        for hosts in (8, 16, 32):
            self.near(self.row('tree', hosts, 256 * MIB)['algbw_GBps'], NIC / 2e3, 3)

    def test_the_curves_meet_at_the_crossover(self):
        """Ring and tree, played at the size that is said, take the same time."""
        source = SOURCE / 'scenarios/catalog/ring-or-tree.yaml'
        report = run('run', str(source)).stdout
        for hosts in (8, 32):
            size = round(self.variants[f'either, {hosts} hosts']['tree_to_ring_bytes'] / 4) * 4
            self.assertIn(f'the tree is faster up to {size / 1e6:.3g} MB, the ring above\n', report)
            text = source.read_text()
            head = text.index('sizes: &sizes [')
            text = text[:head] + f'sizes: &sizes [{size} B' + text[text.index(']', head):]
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / 'at.yaml'
                copy.write_text(text)
                found = json.loads(run('run', str(copy), '--json', '-').stdout)['variants']
            times = {v['name']: v['results'][0]['time_us'] for v in found}
            self.near(times[f'ring, {hosts} hosts'], times[f'tree, {hosts} hosts'], 2)


class Hierarchical(unittest.TestCase):
    def test_least_traffic_over_the_slow_links(self):
        found = variants('hierarchical')
        size = 256 * MIB
        rows = {name: variant['results'][-1] for name, variant in found.items()}
        self.assertEqual({row['bytes'] for row in rows.values()}, {size})
        # n = 32 ranks on H = 4 hosts.
        self.assertAlmostEqual(rows['ring']['leaving_host_bytes'], 2 * 31 / 32 * size, delta=4096)
        self.assertEqual(rows['hierarchical']['leaving_host_bytes'], 2 * 3 / 4 * size)
        self.assertGreaterEqual(rows['tree']['leaving_host_bytes'], 2 * 3 / 4 * size)
        # So it is the fastest where the NIC is the limit, and no faster than the NIC allows.
        nic = 4 * NIC
        self.assertGreaterEqual(rows['hierarchical']['time_us'], 1.5 * size / nic)
        self.assertLess(rows['hierarchical']['time_us'], rows['ring']['time_us'])
        self.assertLess(rows['hierarchical']['time_us'], rows['tree']['time_us'])
        self.assertEqual([rows[name]['algorithm'] for name in ('ring', 'tree', 'hierarchical')],
                         ['Ring', 'Tree', 'Hierarchical'])


class TcpOrRdma(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = {name: variant['results']
                    for name, variant in variants('tcp-or-rdma').items()}

    def test_small_messages_by_hand(self):
        # Two hops of LL after a launch of 8.6 us; 1 KiB itself takes below 1 us.
        links = 4 * 0.15 + 2 * 0.3
        for name, transport in (('GPUDirect RDMA', 1.4), ('TCP', 15)):
            expected = 8.6 + 2 * (transport + links)
            found = self.rows[name][0]
            self.assertEqual((found['bytes'], found['protocol']), (1024, 'LL'))
            self.assertTrue(expected <= found['time_us'] <= expected + 1, found['time_us'])
        hops = [self.rows[name][0]['time_us'] - 8.6 for name in ('TCP', 'GPUDirect RDMA')]
        self.assertTrue(5 <= hops[0] / hops[1] <= 10, hops)

    def test_large_messages_name_what_limits_them(self):
        rdma, staged, tcp, helped = (self.rows[name][-1] for name in (
            'GPUDirect RDMA', 'RDMA through host memory', 'TCP', 'TCP with helper threads'))
        self.assertTrue(0.9 * NIC / 1e3 <= rdma['algbw_GBps'] <= NIC / 1e3, rdma['algbw_GBps'])
        self.assertLessEqual(rdma['time_us'], staged['time_us'])
        self.assertTrue(rdma['bottleneck']['link'].startswith('node0/mlx5_0->'))
        self.assertTrue(tcp['bottleneck']['link'].endswith('proxy thread'))
        self.assertTrue(2.3 <= tcp['algbw_GBps'] <= 2.5, tcp['algbw_GBps'])
        self.assertLess(helped['time_us'], 0.5 * tcp['time_us'])


if __name__ == '__main__':
    unittest.main()
