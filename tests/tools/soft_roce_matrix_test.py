"""Every collective and algorithm by every RDMA method on soft-RoCE devices: exact, on each rank.

Arguments: the numbers of ranks, 2 to 8. One start of the guest; one launch of `busbw measure` a
number of ranks, with each rank on a device of its own. Skipped where there are no devices.
"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

import soft_roce

MATRIX = {
    'all_reduce': ('Ring', 'Tree', 'Hierarchical'),
    'all_gather': ('Ring', 'Hierarchical'),
    'reduce_scatter': ('Ring', 'Hierarchical'),
    'broadcast': ('Ring', 'Tree'),
    'reduce': ('Ring', 'Tree'),
    'sendrecv': ('Direct',),
    'alltoall': ('Direct',),
}
METHODS = ('WRITE', 'READ', 'SEND')
# Hosts that the ranks count as, so that the hierarchy has two levels where it can; between ranks of
# one such host too everything goes over the devices.
HOSTS = {2: 2, 3: 3, 4: 2, 5: 5, 6: 3, 7: 7, 8: 4}

# launch RANKS HOSTS SIZES: its JSON goes to the out folder, with the packets that each device sent.
LAUNCH = '''
launch() {
  "$BUSBW_PROGRAM" measure --ranks "$1" --hosts "$2" --network verbs --env NCCL_SHM_DISABLE=1 \
    --completion event --timeout 900 --warmup 0 --iters 1 --sizes "$3" $MATRIX \
    --json "$SOFT_ROCE_OUT/$1.json" >&2 || exit
  for device in /sys/class/infiniband/*; do
    echo "${device##*/} $(cat "$device/ports/1/hw_counters/sent_pkts")"
  done >"$SOFT_ROCE_OUT/$1.packets"
}
'''


def sizes(count):
    """4 B, 4 B a rank, 4 KiB + 4, 1 MiB + 12; where each rank has a part, rounded down to parts."""
    return 4, 4 * count, 4100, 1048588


def choices():
    """Flags of the whole matrix: an algorithm goes with the collectives that have it."""
    flags = [f'--collective {collective}' for collective in MATRIX]
    algorithms = sorted({name for names in MATRIX.values() for name in names})
    flags += [f'--algorithm {name}' for name in algorithms]
    flags += [f'--method {method.lower()}' for method in METHODS]
    return ' '.join(flags)


class Matrix(unittest.TestCase):
    ranks = (2,)

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.out = pathlib.Path(holder.name)
        launches = '\n'.join(
            f'launch {count} {HOSTS[count]} {",".join(map(str, sizes(count)))}'
            for count in cls.ranks)
        cls.result = soft_roce.run(LAUNCH + launches, '--hosts', str(max(cls.ranks)),
                                   '--out', str(cls.out), limit=1500 * len(cls.ranks),
                                   environment={'MATRIX': choices()})

    def test_all_launches_end_well(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)

    def sections(self, count):
        """What one launch measured."""
        return json.loads((self.out / f'{count}.json').read_text(encoding='utf-8'))['sections']

    def test_every_combination_is_exact(self):
        for count in self.ranks:
            seen = set()
            for section in self.sections(count):
                self.assertEqual(section['ranks'], count)
                method = section['network'].split(' on ')[0].split(' ')[-1]
                self.assertEqual(len(section['results']), len(sizes(count)))
                for size, point in zip(sizes(count), section['results']):
                    what = (section['collective'], point['algorithm'], method, size)
                    with self.subTest(ranks=count, what=what):
                        self.assertEqual(point['wrong'], 0)
                        self.assertIn(size - point['bytes'], range(4 * count))
                        self.assertTrue(point['bytes'] > 0 or size == 4)
                    seen.add(what)
            self.assertEqual(seen, {(collective, algorithm, method, size)
                                    for collective, algorithms in MATRIX.items()
                                    for algorithm in algorithms
                                    for method in METHODS for size in sizes(count)})

    def test_each_rank_has_a_device_of_its_own_and_uses_it(self):
        before = {}
        for count in self.ranks:
            for section in self.sections(count):
                for rank in range(count):
                    self.assertRegex(section['network'],
                                     rf'\brank {rank}: RDMA [A-Z]+ on rxe{rank} port 1 GID index 1')
            text = (self.out / f'{count}.packets').read_text(encoding='utf-8')
            sent = {name: int(packets) for name, packets in map(str.split, text.splitlines())}
            for rank in range(count):
                # AlltoAll alone sends more than 1 MiB / 8 by each method, 4096 bytes a packet.
                self.assertGreater(sent[f'rxe{rank}'] - before.get(f'rxe{rank}', 0), 100)
            before = sent


if __name__ == '__main__':
    if not os.access(os.environ['BUSBW_PROGRAM'], os.X_OK):
        sys.exit(f'{os.environ["BUSBW_PROGRAM"]} is not built')
    Matrix.ranks = tuple(map(int, sys.argv[1:])) or Matrix.ranks
    unittest.main(argv=sys.argv[:1])
