"""Tests of `busbw accuracy` from outside: text, JSON, CSV, Markdown, groups, folds, wrong input."""
import json
import pathlib
import tempfile
import unittest

from program import run


def record(name, points, **more):
    """An all-reduce over two small InfiniBand hosts."""
    return {'id': name, 'kind': 'nccl-tests', 'collective': 'all_reduce', 'source': f'o/{name}',
            'system': {'gpu': 'A100-SXM4-80GB', 'gpus_per_node': 2, 'nodes': 2,
                       'intra': {'nvlink': 'NVLink3', 'switch': 'NVSwitch'},
                       'nic': {'type': 'ConnectX-6', 'count': 2, 'Gbps': 200,
                               'link': 'InfiniBand HDR'}},
            'points': points, **more}


POINTS = [{'bytes': 1 << 20, 'time_us': 100}, {'bytes': 1 << 25, 'time_us': 1300}]


class Accuracy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.records = self.write('records.json', [record('a', POINTS), record('b', POINTS[1:])])

    def write(self, name, value):
        """A JSON file; its path."""
        path = self.folder / name
        path.write_text(json.dumps(value), encoding='utf-8')
        return str(path)

    def test_text(self):
        result = run('accuracy', self.records)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('2 records, 2 of collectives (2 modelled)', result.stdout)
        self.assertIn('2 x A100-SXM4-80GB, 2 x ConnectX-6 200 Gb/s', result.stdout)
        self.assertIn('NCCL', result.stdout)
        for line in result.stdout.splitlines():
            self.assertEqual(line, line.rstrip())

    def test_json_holds_what_the_text_says(self):
        value = json.loads(run('accuracy', self.records, '--json', '-').stdout)
        self.assertEqual(value['schema'], 'busbw.accuracy/1')
        self.assertEqual(value['overall']['large']['points'], 2)
        self.assertEqual(value['overall']['medium']['points'], 1)
        self.assertEqual([c['records'] for c in value['classes']], [['a', 'b']])
        points = value['records'][0]['points']
        # 1 MiB in 100 us on four ranks: 10.48576 GB/s x 1.5.
        self.assertAlmostEqual(points[0]['measured_GBps'], 15.72864)
        errors = [abs(p['predicted_GBps'] / p['measured_GBps'] - 1)
                  for r in value['records'] for p in r['points'] if p['bytes'] >= 1 << 24]
        self.assertAlmostEqual(value['overall']['large']['median'], sum(errors) / 2)

    def test_same_input_same_bytes(self):
        first = run('accuracy', self.records, '--json', '-').stdout
        self.assertEqual(first, run('accuracy', self.records, '--json', '-').stdout)

    def test_files(self):
        page, table, tree = (str(self.folder / name) for name in ('p.md', 't.csv', 'j.json'))
        result = run('accuracy', self.records, '--markdown', page, '--csv', table, '--json', tree,
                     '--plots', str(self.folder / 'plots'))
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertIn('Classes', result.stdout)
        text = pathlib.Path(page).read_text(encoding='utf-8')
        self.assertTrue(text.startswith('# Accuracy\n'))
        self.assertIn('](plots/overview.svg)', text)
        self.assertTrue((self.folder / 'plots/overview.svg').exists())
        self.assertEqual(len(pathlib.Path(table).read_text(encoding='utf-8').splitlines()), 4)
        self.assertEqual(json.loads(pathlib.Path(tree).read_text(encoding='utf-8'))['counts']
                         ['records'], 2)

    def test_groups_beside_the_records_and_by_flag(self):
        group = [{'pair': 'g', 'judged': True, 'members': [{'id': 'a'}, {'id': 'b'}]}]
        other = self.write('other.json', group)
        by_flag = json.loads(run('accuracy', self.records, '--groups', other, '--json', '-').stdout)
        self.write('comparison-groups.json', group)
        beside = json.loads(run('accuracy', self.records, '--json', '-').stdout)
        self.assertEqual(by_flag['groups'], beside['groups'])
        ratio = beside['groups'][0]['ratios'][0]
        self.assertEqual((ratio['id'], ratio['against'], ratio['bytes']), ('b', 'a', 1 << 25))
        self.assertAlmostEqual(ratio['measured_ratio'], 1)
        self.assertAlmostEqual(ratio['predicted_ratio'], 1)

    def test_folds_keep_sites_whole(self):
        value = json.loads(run('accuracy', self.records, '--fold-by', 'site', '--folds', '2',
                               '--json', '-').stdout)
        self.assertEqual([f['sites'] for f in value['folds']], [['o/a'], ['o/b']])

    def test_wrong_input(self):
        broken = self.write('broken.json', [{'id': 'x', 'kind': 'k', 'collective': 'c',
                                             'system': {}}])
        for arguments, message in [
                ([broken], f"{broken}:1:2: error: missing key 'points' in record 'x'\n"),
                ([str(self.folder / 'no.json')],
                 f"error: {self.folder / 'no.json'}: cannot be read: No such file or directory\n"),
                ([self.records, self.records],
                 f"{self.records}:1:2: error: second record with the id 'a'\n"),
                ([self.records, '--fold-by', 'x'],
                 "error: unknown --fold-by 'x'; allowed: 'site'\n"),
                ([self.records, '--fold-by', 'site', '--folds', '1'],
                 "error: --folds is '1'; allowed: 2 to 100\n")]:
            with self.subTest(arguments=arguments):
                result = run('accuracy', *arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ''))
                self.assertTrue(result.stderr.startswith(message), result.stderr)


if __name__ == '__main__':
    unittest.main()
