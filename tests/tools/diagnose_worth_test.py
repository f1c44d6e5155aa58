"""`busbw diagnose`: what the fix is worth, against `busbw perf` for the same machine, which builds
it from the catalogue and not from a user's files."""
import json
import pathlib
import tempfile
import unittest

from program import run

NODES, GPUS = 2, 8
SIZE = 1 << 30
HEAD = '''# nThread 1 nGpus 1 minBytes {0} maxBytes {0} step: 1048576(bytes) warmup iters: 5
# Using devices
'''
TABLE = '''#       size         count      type   redop    root     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)
  {0}     268435456     float     sum      -1    16500   65.08  {1}      0
# Out of bounds values : 0 OK
'''
PORT = ("CA 'mlx5_{0}'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {1}\n"
        '\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: {0}\n'
        '\t\tLink layer: InfiniBand\n')


def nccl_tests(busbw, gpu='NVIDIA H100 80GB HBM3', nodes=NODES, gpus=GPUS):
    ranks = ''.join(f'#  Rank {rank:2} Group  0 Pid {100 + rank} on node{rank // gpus} device '
                    f'{rank % gpus:2} [0x{rank:02x}] {gpu}\n' for rank in range(nodes * gpus))
    return HEAD.format(SIZE) + ranks + TABLE.format(SIZE, busbw)


def log(hcas=GPUS, gdr='/GDRDMA'):
    """What two hosts with that many HCAs of InfiniBand print."""
    lines = ['node0:100:100 [0] NCCL INFO NCCL version 2.27.7+cuda12.4']
    for node in range(NODES):
        used = ' '.join(f'[{hca}]mlx5_{hca}:1/IB' for hca in range(hcas))
        lines.append(f'node{node}:100:100 [0] NCCL INFO NET/IB : Using {used} [RO]; '
                     f'OOB eth0:10.0.0.{node + 1}<0>')
        lines.append(f'node{node}:100:100 [0] NCCL INFO Using network IB')
        for gpu in range(GPUS):
            here, there = gpu + GPUS * node, gpu + GPUS * (1 - node)
            lines.append(f'node{node}:10{gpu}:100 [{gpu}] NCCL INFO Channel {gpu:02}/0 : '
                         f'{here}[{gpu}] -> {there}[{gpu}] [send] via NET/IB/{gpu % hcas}{gdr}')
            if not gdr:
                lines.append(f'node{node}:10{gpu}:100 [{gpu}] NCCL INFO NET/IB : '
                             f"GPU Direct RDMA Disabled for HCA {gpu} 'mlx5_{gpu}'")
    return '\n'.join(lines) + '\n'


def perf(*options, nodes=NODES):
    """busbw of an all-reduce of SIZE on DGX H100, GB/s."""
    result = run('perf', 'all_reduce', '--machine', 'dgx-h100', '--nodes', str(nodes), '-b', '1G',
                 '-e', '1G', '--nccl-version', '2.27.7', '--json', '-', *options)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)['results'][0]['busbw_GBps']


class Worth(unittest.TestCase):
    def expected(self, kind, **files):
        """`expected` of the finding of that kind on these files; names with _ for the dot."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, text in files.items():
                (folder / file.replace('_', '.')).write_text(text, encoding='utf-8')
            result = run('diagnose', str(folder), '--json', '-')
        self.assertIn(result.returncode, (0, 1), result.stderr)
        findings = {one['kind']: one for one in json.loads(result.stdout)['findings']}
        self.assertIn(kind, findings)
        return findings[kind]['expected']

    def check(self, expected, measured, before, after):
        """What was measured times the ratio of the predictions, which stand beside it."""
        self.assertAlmostEqual(expected['before'], measured, places=6)
        self.assertAlmostEqual(expected['after'], measured * after / before, delta=measured / 1e4)
        self.assertIn(f'predicted {before:.2f},', expected['before_is'])
        self.assertIn(f'predicted {after:.2f},', expected['after_is'])

    def test_gpudirect_off(self):
        # At a level of LOC no GPU is near enough, so that NCCL stages in host memory as well.
        staged = perf('--env', 'NCCL_NET_GDR_LEVEL=LOC')
        self.check(self.expected('gdr_off', log_txt=log(gdr=''), test_txt=nccl_tests(122.0),
                                 ibstat_txt=''.join(PORT.format(i, 'Active') for i in range(8))),
                   122.0, staged, perf())

    def test_a_variable(self):
        slow = perf('--env', 'NCCL_PROTO=LL')
        self.check(self.expected('bad_tuning_env', log_txt=log(), env_txt='NCCL_PROTO=LL\n',
                                 test_txt=nccl_tests(50.0),
                                 ibstat_txt=''.join(PORT.format(i, 'Active') for i in range(8))),
                   50.0, slow, perf())

    def test_without_figures_both_are_predicted(self):
        files = {'log_txt': log(gdr='') +
                 'node0:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 '
                 'localRank 0 MNNVL 0\n',
                 'ibstat_txt': ''.join(PORT.format(i, 'Active') for i in range(8))}
        expected = self.expected('gdr_off', **files,
                                 smi_txt='==============NVSMI LOG==============\n\n'
                                 'GPU 00000000:1B:00.0\n'
                                 '    Product Name                          : NVIDIA H100 SXM5\n')
        self.assertAlmostEqual(expected['before'], perf('--env', 'NCCL_NET_GDR_LEVEL=LOC'),
                               places=3)
        self.assertAlmostEqual(expected['after'], perf(), places=3)
        self.assertIn('as predicted', expected['before_is'])
        # Without a name of the GPUs: a machine of the catalogue, and that is said.
        self.assertIn('GPUs as in ', self.expected('gdr_off', **files)['after_is'])

    def test_nics_that_are_not_used(self):
        # Two HCAs of four in the container: the network is the limit, all carry twice as much. A
        # fifth of another link layer does not count.
        expected = self.expected('container_partial_hca', log_txt=log(hcas=2),
                                 ls_txt='/dev/infiniband:\nrdma_cm\nuverbs0\nuverbs1\n',
                                 test_txt=nccl_tests(40.0),
                                 ibstat_txt=''.join(PORT.format(i, 'Active') for i in range(4)) +
                                 PORT.format(4, 'Active').replace('InfiniBand', 'Ethernet'))
        self.assertAlmostEqual(expected['after'] / expected['before'], 2, delta=0.1)

    def test_narrow_pcie(self):
        # Two L40S, no NVLink: half of the lanes, half of the rate.
        lspci = ('3b:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)\n'
                 '\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n'
                 '\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)\n')
        expected = self.expected('pcie_downgraded', lspci_txt=lspci,
                                 test_txt=nccl_tests(9.0, 'NVIDIA L40S', 1, 2))
        self.assertAlmostEqual(expected['after'] / expected['before'], 2, delta=0.2)

    def test_acs(self):
        lspci = ('00:01.0 PCI bridge: Intel Corporation Device 352a\n'
                 '\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n')
        expected = self.expected('acs_iommu', log_txt=log(), lspci_txt=lspci,
                                 test_txt=nccl_tests(180.0),
                                 ibstat_txt=''.join(PORT.format(i, 'Active') for i in range(8)))
        # Requests from GPU to NIC go up to the root complex and down again: twice over one link.
        self.assertAlmostEqual(expected['after'] / expected['before'], 2, delta=0.6)

    def test_nothing_where_the_files_do_not_say_enough(self):
        # No rate of a port; and a limit of channels, which NVLSTree does not have.
        self.assertIsNone(self.expected('gdr_off', log_txt=log(gdr=''),
                                        test_txt=nccl_tests(122.0)))
        self.assertIsNone(self.expected(
            'bad_tuning_env', log_txt=log(), env_txt='NCCL_MAX_NCHANNELS=2\n',
            test_txt=nccl_tests(450.0),
            ibstat_txt=''.join(PORT.format(i, 'Active') for i in range(8))))


if __name__ == '__main__':
    unittest.main()
