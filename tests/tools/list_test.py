"""Tests of `busbw list` from outside: tables, JSON, where the catalogue is found."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from program import PROGRAM, SOURCE, run

KINDS = ['machines', 'gpus', 'nics', 'cpus', 'switches', 'rates', 'scenarios']


def items(kind):
    """The items of one list, by JSON."""
    return json.loads(run('list', kind, '--json').stdout)['items']


class Lists(unittest.TestCase):
    def test_every_list_as_table_and_as_json(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                table = run('list', kind)
                self.assertEqual((table.returncode, table.stderr), (0, ''))
                self.assertNotIn('\033', table.stdout)
                for line in table.stdout.splitlines():
                    self.assertEqual(line, line.rstrip())
                value = json.loads(run('list', kind, '--json').stdout)
                self.assertEqual((value['schema'], value['list']), ('busbw.list/1', kind))
                for item in value['items']:
                    self.assertIn(item['name'], table.stdout)

    def test_unknown_and_missing_list(self):
        allowed = ("'machines', 'gpus', 'nics', 'cpus', 'switches', 'rates' or 'scenarios'")
        for arguments, message in [
                (['list', 'rats'], "error: unknown list 'rats'; did you mean 'rates'?\n"),
                (['list', 'x'], f"error: unknown list 'x'; allowed: {allowed}\n"),
                (['list'], f"error: no list named; allowed: {allowed}\n")]:
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout, result.stderr),
                                 (2, '', message))

    def test_machine_of_the_case(self):
        machine = {item['name']: item for item in items('machines')}['a100-40gb-x4']
        self.assertEqual((machine['gpus'], machine['gpu_model']), (4, 'A100-SXM4-40GB'))
        self.assertEqual([(nic['name'], nic['rate_Gbps']) for nic in machine['nics']],
                         [('eth0', 10), ('mlx5_0', 100)])

    def test_rates_by_hand(self):
        rates = {(item['kind'], item['name'], item['width']): item for item in items('rates')}
        # EDR: 4 lanes x 25.78125 Gb/s x 64/66 = 100 Gb/s. HDR doubles it, NDR doubles HDR.
        self.assertEqual(rates['InfiniBand', 'EDR', '4x']['data_rate_Gbps'], 100)
        self.assertEqual(rates['InfiniBand', 'HDR', '4x']['data_rate_Gbps'], 200)
        self.assertEqual(rates['InfiniBand', 'NDR', '4x']['data_rate_Gbps'], 400)
        # NDR carries what 400 GbE does, in about 1 us against 5 to 10 us.
        self.assertEqual(rates['Ethernet', '400GbE', '4x']['data_rate_Gbps'], 400)
        self.assertAlmostEqual(rates['InfiniBand', 'NDR', '4x']['latency_us'], 1, delta=0.3)
        self.assertTrue(5 <= rates['Ethernet', '400GbE', '4x']['latency_us'] <= 10)
        # QDR is named by signalling: 4 x 10 Gb/s x 8/10 = 32 Gb/s.
        self.assertEqual(rates['InfiniBand', 'QDR', '4x']['data_rate_Gbps'], 32)
        # NVLink 4: 18 links x 25 GB/s = 450 GB/s one way (900 both ways); PCIe Gen5 x16:
        # 32 GT/s x 16 x 128/130 / 8 = 63.02 GB/s one way. The ratio is 7.1.
        nvlink = rates['NVLink', 'NVLink4', 'x18']['data_rate_GBps']
        pcie = rates['PCIe', 'Gen5', 'x16']['data_rate_GBps']
        self.assertEqual(nvlink, 450)
        self.assertAlmostEqual(pcie, 63.015, places=3)
        self.assertAlmostEqual(nvlink / pcie, 7.14, places=2)

    def test_scenarios_are_those_of_the_folder(self):
        names = sorted(path.stem for path in (SOURCE / 'scenarios/catalog').glob('*.yaml'))
        self.assertEqual([item['name'] for item in items('scenarios')], names)


class DataFolder(unittest.TestCase):
    def test_works_from_another_folder_and_through_a_link(self):
        expected = run('list', 'gpus').stdout
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, 'busbw')
            os.symlink(PROGRAM, link)
            self.assertEqual(run('list', 'gpus', cwd=folder, program=link).stdout, expected)

    def test_busbw_data_wins_over_the_build_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            catalog = pathlib.Path(folder, 'topologies', 'catalog')
            shutil.copytree(SOURCE / 'topologies/catalog', catalog)
            text = (catalog / 'gpus.yaml').read_text(encoding='utf-8')
            (catalog / 'gpus.yaml').write_text(text.replace('name: L40S', 'name: L41S'),
                                               encoding='utf-8')
            self.assertIn('L41S', run('list', 'gpus', env={'BUSBW_DATA': folder}).stdout)
        self.assertNotIn('L41S', run('list', 'gpus').stdout)

    def test_busbw_data_without_a_catalogue(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run('list', 'gpus', env={'BUSBW_DATA': folder})
            self.assertEqual((result.returncode, result.stdout), (2, ''))
            self.assertEqual(result.stderr,
                             f"error: BUSBW_DATA is '{folder}', but there is no folder "
                             f"'{folder}/topologies/catalog'\n")

    def test_problems_of_the_catalogue_have_places(self):
        with tempfile.TemporaryDirectory() as folder:
            catalog = pathlib.Path(folder, 'topologies', 'catalog')
            shutil.copytree(SOURCE / 'topologies/catalog', catalog)
            text = (catalog / 'gpus.yaml').read_text(encoding='utf-8')
            (catalog / 'gpus.yaml').write_text(
                text.replace('memory: 48 GiB', 'memory: 48 GiX', 1)
                .replace('architecture: Volta', 'architectur: Volta', 1), encoding='utf-8')
            result = run('list', 'gpus', env={'BUSBW_DATA': folder})
            self.assertEqual((result.returncode, result.stdout), (2, ''))
            self.assertRegex(result.stderr, rf'{catalog}/gpus.yaml:\d+:\d+: error: .*GiX')
            self.assertRegex(result.stderr,
                             rf"{catalog}/gpus.yaml:\d+:\d+: error: unknown key 'architectur'")


if __name__ == '__main__':
    unittest.main()
