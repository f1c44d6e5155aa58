"""`busbw nccl export` and the sources of `busbw nccl decide --topology`, from outside."""
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as ET

from program import SOURCE, run

MACHINE = """name: box
gpus: {model: A100, count: 2}
cpus: {model: AMD Rome}
pcie: {generation: 4}
nics:
  - {name: eth0, attach: virtual, rate: 25 Gb/s}
  - {name: mlx5_0, netdev: ib0, model: ConnectX-6, link_layer: infiniband, attach: cpu0}
"""


class Topology(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return str(path)

    def check_error(self, arguments, message):
        result = run('nccl', *arguments)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, '', message + '\n'))

    def exported(self, *arguments):
        result = run('nccl', 'export', *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        return ET.fromstring(result.stdout)

    def decided(self, *arguments):
        result = run('nccl', 'decide', *arguments, '--json', '-')
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)


class Export(Topology):
    def test_networks(self):
        path = self.write('box.yaml', MACHINE)
        hca = [(net.get('name'), net.get('speed'), net.get('gdr'))
               for net in self.exported(path).iter('net')]
        self.assertEqual(hca, [('mlx5_0', '200000', '1')])
        sockets = [(net.get('name'), net.get('speed'), net.get('gdr'))
                   for net in self.exported(path, '--net', 'socket').iter('net')]
        self.assertEqual(sockets, [('ib0', '200000', '0')])  # the stage ib* comes first

    def test_file(self):
        target = str(self.folder / 'out.xml')
        result = run('nccl', 'export', 'dgx-h100', '-o', target)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))
        root = ET.parse(target).getroot()
        self.assertEqual(len(list(root.iter('gpu'))), 8)
        self.assertEqual(len(list(root.iter('net'))), 8)

    def test_file_that_cannot_be_written(self):
        result = run('nccl', 'export', 'dgx-h100', '-o', str(self.folder / 'none' / 'out.xml'))
        self.assertEqual((result.returncode, result.stdout), (3, ''))

    def test_every_machine_of_the_catalogue_decides_as_its_export(self):
        machines = sorted((SOURCE / 'topologies/catalog/machines').glob('*.yaml'))
        self.assertGreater(len(machines), 15)
        for machine in machines:
            with self.subTest(machine.stem):
                text = run('nccl', 'export', machine.stem).stdout
                options = ['--nodes', '2']
                if machine.stem == 'rtx4090-x8':
                    options += ['--env', 'NCCL_P2P_LEVEL=NVL']
                want = self.decided('--topology', self.write('x.xml', text), *options)
                self.assertEqual(self.decided('--topology', machine.stem, *options), want)

    def test_peer_to_peer_stands_in_the_environment(self):
        result = run('nccl', 'export', 'rtx4090-x8')
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr,
                         'warning: GPUs of rtx4090-x8 do not reach each other over PCIe, which the '
                         'XML cannot say; NCCL_P2P_LEVEL=NVL stands for it\n')

    def test_errors(self):
        self.check_error(['export', 'dgx-h10'],
                         "error: no file 'dgx-h10', and no machine of that name in the catalogue; "
                         "did you mean 'dgx-h100'?")
        self.check_error(['export', 'dgx-h100', '--net', 'Sockets'],
                         "error: --net 'Sockets' is no network of dgx-h100; did you mean 'Socket'?")
        self.check_error(['export', 'aws-p4d', '--net', 'verbs'],
                         "error: --net 'verbs' is no network of aws-p4d; allowed: 'IB', 'Socket' "
                         "or 'Libfabric'")
        self.check_error(['export', 'dgx-h100', '--nccl-version', '2.9'],
                         'error: --nccl-version 2.9: known are 2.18.1 to 2.30.7')
        path = self.write('bad.yaml', MACHINE.replace('A100', 'A10O').replace('Rome', 'Roma'))
        self.check_error(['export', path],
                         f"{path}:2:15: error: unknown GPU model 'A10O'; did you mean 'A10'?\n"
                         f"{path}:3:15: error: unknown CPU model 'AMD Roma'; did you mean "
                         "'AMD Rome'?")
        path = self.write('x.xml', '<system version="1"/>')
        self.check_error(['export', path],
                         f'error: {path}: is XML already, or its name does not end in .yaml')


class Decide(Topology):
    def test_machine_file(self):
        path = self.write('box.yaml', MACHINE)
        value = self.decided('--topology', path, '--nodes', '2')
        self.assertEqual(value['graphs']['ring']['channels'][0]['netDev'], [0, 0])
        self.assertEqual(value['nRanks'], 4)
        slower = self.decided('--topology', path, '--nodes', '2', '--env', 'NCCL_IB_DISABLE=1',
                              '--env', 'NCCL_SOCKET_IFNAME=eth0')
        self.assertLess(slower['graphs']['ring']['bwInter'], value['graphs']['ring']['bwInter'])

    def test_errors(self):
        path = self.write('x.xml', '<system version="1"><cpu numaid="0"/></system>')
        self.check_error(['decide', '--topology', path, '--net', 'IB'],
                         "error: --net chooses a machine's network; an XML file has its network "
                         'in it')
        self.check_error(['decide', '--topology', 'dgx-h100', '--net', 'IB', '--env',
                          'NCCL_NET=IB'],
                         'error: --net and --env NCCL_NET both name the network')
        self.check_error(['decide', '--topology', 'aws-p4d', '--net', 'IB'],
                         'error: NCCL finds no network on aws-p4d: Failed to initialize any NET '
                         'plugin')
        gone = str(self.folder / 'gone.yaml')
        self.check_error(['decide', '--topology', gone],
                         f'error: {gone}: cannot be read: No such file or directory')
        self.check_error(['decide', '--topology', str(self.folder)],
                         f'error: {self.folder}: cannot be read: it is a folder')


if __name__ == '__main__':
    unittest.main()
