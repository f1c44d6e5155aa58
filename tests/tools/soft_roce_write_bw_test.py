"""`busbw write-bw` against perftest's ib_write_bw on one pair of soft-RoCE devices.

The two take turns, by a clock that counts the guest's instructions. Skipped where there are no
devices. Both keep 128 messages in flight; on the guest's one processor busbw sleeps until
completions come, by itself (a polling receiver would take half of it from the sender).
"""
import os
import re
import statistics
import sys
import unittest

import soft_roce

SIZE = 65536
MESSAGES = 300
ROUNDS = 5

SCRIPT = f'''
perftest() {{
  ib_write_bw -d rxe0 -x 1 -F -s {SIZE} -n {MESSAGES} -u 20 >&2 &
  listens && ib_write_bw -d rxe1 -x 1 -F -s {SIZE} -n {MESSAGES} -u 20 127.0.0.1 |
    awk '$1 == {SIZE} {{ print "perftest:", $4 * 1048576 / 1e9 }}' && wait "$!" || exit
}}
ours() {{
  "$BUSBW_PROGRAM" write-bw --sizes {SIZE} --iters {MESSAGES} --timeout 300 |
    tee /dev/stderr | awk '$1 == {SIZE} {{ print "busbw:", $6 }}
      /^write-bw/ && !/rank 0: RDMA WRITE on rxe0 .* rank 1: RDMA WRITE on rxe1 / {{ exit 1 }}'
  [ "${{PIPESTATUS[*]}}" = '0 0 0' ] || exit
}}
for ((round = 0; round < {ROUNDS}; ++round)); do perftest; ours; done
'''


class WriteBandwidth(unittest.TestCase):
    def test_at_least_90_percent_of_perftest(self):
        result = soft_roce.run(SCRIPT, '--icount')
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = {name: [float(figure)
                          for figure in re.findall(rf'^{name}: ([0-9.e-]+)$', result.stdout, re.M)]
                   for name in ('perftest', 'busbw')}
        self.assertEqual([len(values) for values in figures.values()], [ROUNDS, ROUNDS],
                         result.stdout + result.stderr)
        medians = {name: statistics.median(values) for name, values in figures.items()}
        print(f'GB/s, median of {ROUNDS} of {SIZE} bytes:', medians)
        self.assertGreaterEqual(medians['busbw'], 0.9 * medians['perftest'], figures)
        # Both see the same device: more than perftest by far would be a wrong clock.
        self.assertLessEqual(medians['busbw'], 1.1 * medians['perftest'], figures)


if __name__ == '__main__':
    if not os.access(os.environ['BUSBW_PROGRAM'], os.X_OK):
        sys.exit(f'{os.environ["BUSBW_PROGRAM"]} is not built')
    unittest.main()
