"""The examples of the format pages, taken out of them and given to the program."""
import json
import pathlib
import re
import tempfile
import unittest

from program import SOURCE, run

# A key given to the reader of YAML: reader.text("title"), solve.required_number("...").
KEY = re.compile(r'\b\w+\.(?:required_)?(?:text|texts|node|mapping|sequence|choice|integer|number|'
                 r'boolean|bytes|bandwidth|duration)\("(\w+)"')


def examples(page, language):
    """The fenced blocks of one language on a page of docs/formats."""
    text = (SOURCE / 'docs/formats' / page).read_text(encoding='utf-8')
    return re.findall(rf'^```{language}\n(.*?)^```$', text, re.M | re.S)


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        """A file with the example."""
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return str(path)

    def test_scenarios_run(self):
        found = examples('scenario.md', 'yaml')
        self.assertEqual(len(found), 2)
        for number, text in enumerate(found):
            result = run('run', self.write(f'{number}.yaml', text), '--json', '-')
            self.assertEqual((result.returncode, result.stderr), (0, ''))
            self.assertEqual(json.loads(result.stdout)['schema'], 'busbw.run/1')

    def test_the_page_of_scenarios_names_every_key_that_is_read(self):
        text = (SOURCE / 'docs/formats/scenario.md').read_text(encoding='utf-8')
        keys = set()
        for path in (SOURCE / 'scenarios/spec').glob('read_*.cpp'):
            keys |= set(KEY.findall(path.read_text(encoding='utf-8')))
        keys |= set(KEY.findall((SOURCE / 'scenarios/spec/load.cpp').read_text(encoding='utf-8')))
        self.assertGreater(len(keys), 50)
        self.assertEqual(sorted(key for key in keys if f'`{key}' not in text), [])

    def test_fabrics_are_read_and_the_page_names_every_key(self):
        found = examples('fabric.md', 'yaml')
        self.assertEqual(len(found), 1)
        result = run('fabric', self.write('f.yaml', found[0]), '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(json.loads(result.stdout)['hosts'], 56)
        text = (SOURCE / 'docs/formats/fabric.md').read_text(encoding='utf-8')
        code = (SOURCE / 'topologies/networks/read_fabric.cpp').read_text(encoding='utf-8')
        keys = set(KEY.findall(code))
        self.assertGreater(len(keys), 30)
        self.assertEqual(sorted(key for key in keys if f'`{key}' not in text), [])

    def test_parameters_predict_and_the_page_names_every_key(self):
        found = examples('parameters.md', 'yaml')
        self.assertEqual(len(found), 1)
        result = run('run', 'soft-roce-wrong-nic', '--parameters', self.write('p.yaml', found[0]))
        # The example has RDMA WRITE alone: what it lacks is said, and nothing else.
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertIn("no parameters of the mover 'read'; it has those of 'write'", result.stderr)
        text = (SOURCE / 'docs/formats/parameters.md').read_text(encoding='utf-8')
        code = (SOURCE / 'models/params/measured_yaml.cpp').read_text(encoding='utf-8')
        keys = set(KEY.findall(code)) | set(
            re.findall(r'(?:read_rate|required_time)\(reader, "(\w+)"', code))
        self.assertGreater(len(keys), 20)
        self.assertEqual(sorted(key for key in keys if f'`{key}' not in text), [])

    def test_selection_records_are_decided_as_the_page_says(self):
        found = examples('selection-records.md', 'json')
        self.assertEqual(len(found), 1)
        result = run('select', '--records', self.write('r.json', found[0]), '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        answer = json.loads(result.stdout)[0]
        self.assertEqual((answer['outcome'], answer['network'], answer['bootstrap_interface']),
                         ('ran', 'Socket', 'eth0'))
        self.assertEqual(answer['data_interfaces'], ['eth0', 'rdma0'])
        self.assertEqual([channel['net_device'] for channel in answer['channels']], [0, 1, 0, 1])
        point = answer['points'][0]
        self.assertAlmostEqual(point['predicted_busbw_GBps'], point['measured_busbw_GBps'],
                               delta=0.1 * point['measured_busbw_GBps'])

    def test_measurement_records_are_predicted(self):
        text = (SOURCE / 'docs/formats/measurement-records.md').read_text(encoding='utf-8')
        found = examples('measurement-records.md', 'json')
        self.assertEqual(len(found), 1)
        result = run('accuracy', self.write('m.json', found[0]), '--json', '-')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        answer = json.loads(result.stdout)
        self.assertEqual(answer['counts']['judged_modelled'], 1)
        for key in list(answer) + ['folds']:
            self.assertTrue(key == 'schema' or f'`{key}`' in text, key)

    def test_the_page_names_every_key_of_the_answer(self):
        text = (SOURCE / 'docs/formats/selection-records.md').read_text(encoding='utf-8')
        record = self.write('r.json', examples('selection-records.md', 'json')[0])
        answer = json.loads(run('select', '--records', record, '--json', '-').stdout)[0]
        for key in answer:
            self.assertTrue(f'`{key}`' in text, key)


if __name__ == '__main__':
    unittest.main()
