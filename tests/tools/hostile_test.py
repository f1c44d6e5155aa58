"""`busbw run` and `busbw select`: missing files, odd options, records without a prediction."""
import json
import os
import tempfile
import unittest

from program import run


def record(name, env=None, **other):
    """Two hosts with one shaped NIC."""
    return {'id': name, 'nccl_version': '2.28.9', 'hosts': 2, 'gpus_per_host': 1, 'env': env or {},
            'interfaces': [{'name': 'lo', 'address': '127.0.0.1/8'},
                           {'name': 'eth0', 'address': '10.0.0.{host}/24', 'shaped_gbit': 10}],
            'reported_interface_speed_mbit': 10000,
            'points': [{'collective': 'all_reduce', 'bytes': 4194304, 'busbw_GBps': 1.18}], **other}


class Files(unittest.TestCase):
    def test_records_that_are_not_there_are_wrong_input(self):
        result = run('select', '--records', '/nonexistent/r.json')
        self.assertEqual((result.returncode, result.stderr),
                         (2, 'error: /nonexistent/r.json: cannot be read: '
                             'No such file or directory\n'))
        result = run('select', '--records', '/')
        self.assertEqual((result.returncode, result.stderr),
                         (2, 'error: /: cannot be read: it is a folder\n'))

    def test_output_that_cannot_be_written_is_a_system_error(self):
        result = run('run', 'nic-misselection', '--brief', '--json', '/nonexistent/o.json')
        self.assertEqual((result.returncode, result.stderr),
                         (3, 'error: write failed: No such file or directory '
                             '(on /nonexistent/o.json)\n'))


class Options(unittest.TestCase):
    def test_a_seed_out_of_range_is_not_cut(self):
        for seed in ('-1', 'x', '9223372036854775808'):
            result = run('run', 'nic-misselection', '--seed', seed)
            self.assertEqual((result.returncode, result.stderr),
                             (2, 'error: --seed must be a whole number from 0 to '
                                 f"9223372036854775807, found '{seed}'\n"))

    def test_channels_are_counted_and_listed(self):
        answer = json.loads(run('run', 'nic-misselection', '--json', '-').stdout)
        decision = answer['variants'][0]['decision']
        self.assertEqual(decision['channels'], 2)
        self.assertEqual(decision['channel_devices'], [{'channel': 0, 'net_device': 0},
                                                       {'channel': 1, 'net_device': 0}])


class Records(unittest.TestCase):
    def select(self, *records):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'r.json')
            with open(path, 'w', encoding='utf-8') as file:
                json.dump(records, file)
            result = run('select', '--records', path, '--json', '-')
            self.assertEqual((result.returncode, result.stderr), (0, ''))
            return json.loads(result.stdout)

    def predicted(self, answer):
        return [point['predicted_busbw_GBps'] for point in answer['points']]

    def test_one_record_without_a_prediction_leaves_the_others(self):
        huge = [{'collective': 'all_reduce', 'bytes': 1 << 48, 'busbw_GBps': 1.0}]
        answers = self.select(record('nvls', {'NCCL_ALGO': 'NVLS'}), record('huge', points=huge),
                              record('plain'))
        self.assertEqual([answer['outcome'] for answer in answers], ['ran'] * 3)
        self.assertEqual(self.predicted(answers[0]), [None])
        self.assertEqual(self.predicted(answers[1]), [None])
        # 10 Gb/s shaped, 1448 of 1514 bytes are payload: 1.195 GB/s, less the start.
        self.assertAlmostEqual(self.predicted(answers[2])[0], 1.195, delta=0.05)

    def test_odd_sizes_and_names(self):
        odd = [{'collective': 'all_reduce', 'bytes': n} for n in (1, 5)]
        odd.append({'collective': 'broadcast', 'bytes': 1024})
        names = [{'name': name, 'address': f'10.{i}.0.{{host}}/24', 'shaped_gbit': 10}
                 for i, name in enumerate(('gpu0', 'cpu0', 'eth0:1', 'node0'))]
        predicted = self.predicted(self.select(record('odd', points=odd, interfaces=names))[0])
        self.assertGreater(predicted[0], 0)
        self.assertGreater(predicted[1], predicted[0])
        self.assertIsNone(predicted[2])

    def test_any_number_of_gpus_a_host(self):
        answers = self.select(*(record(f'gpus{n}', gpus_per_host=n) for n in (1, 2, 3, 8)))
        for answer in answers:
            self.assertGreater(self.predicted(answer)[0], 1.0, answer['id'])


if __name__ == '__main__':
    unittest.main()
