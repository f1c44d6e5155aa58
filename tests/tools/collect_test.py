"""`busbw collect` from outside: this machine, other roots, tools that answer, fail and hang,
secrets, folders, ranks of one host."""
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import time
import unittest

from program import PROGRAM, SOURCE, run

LAUNCHERS = ('RANK', 'LOCAL_RANK', 'PMI_RANK', 'PMIX_RANK', 'SLURM_LOCALID',
             'OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID', 'MV2_COMM_WORLD_LOCAL_RANK')


# Without `ip`; the second where /sys is another network namespace's.
OWN = ('getifaddrs and sysfs', 'getifaddrs and ioctl')


def links(text):
    """Names, MTU and addresses of `ip addr`, in order."""
    found = []
    for words in (line.split() for line in text.splitlines()):
        if words[0][:-1].isdigit():
            name = words[1].split('@')[0].rstrip(':')
            found.append((name, words[words.index('mtu') + 1]))
        elif words[0] in ('inet', 'inet6'):
            found.append((words[0], words[1]))
    return found


class WithFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.out = self.folder / 'out'
        self.tools = self.folder / 'bin'
        self.tools.mkdir()

    def tool(self, name, script):
        """A tool that is found before any other."""
        path = self.tools / name
        path.write_text(f'#!/bin/sh\n{script}\n', encoding='utf-8')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def collect(self, *arguments, env=None, path=None):
        """Runs it with the tools of this test alone."""
        variables = {'PATH': path or str(self.tools), **(env or {})}
        return run('collect', '-o', str(self.out), *arguments, env=variables)

    def manifest(self, folder=None):
        return json.loads(((folder or self.out) / 'manifest.json').read_text(encoding='utf-8'))

    def sources(self):
        return {file['name']: file['source'] for file in self.manifest()['files']}

    def missing(self):
        return {fact['name']: fact['reason'] for fact in self.manifest()['missing']}

    def text(self, name):
        return (self.out / name).read_text(encoding='utf-8')

    def write(self, path, text):
        file = self.folder / 'root' / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding='utf-8')


class Machine(WithFolder):
    def test_without_any_tool(self):
        result = self.collect()
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertNotIn('\033', result.stdout)
        names = sorted(path.name for path in self.out.iterdir())
        manifest = self.manifest()
        self.assertEqual(manifest['schema'], 'busbw.collect/1')
        self.assertEqual(sorted([file['name'] for file in manifest['files']] + ['manifest.json']),
                         names)
        for file in manifest['files']:
            self.assertEqual(file['bytes'], (self.out / file['name']).stat().st_size)
            self.assertIn(file['name'], result.stdout)
        self.assertIn(self.sources()['ip-addr.txt'], OWN)
        self.assertIn('LOOPBACK', self.text('ip-addr.txt'))
        self.assertIn('open files', self.text('ulimit.txt'))
        self.assertTrue({'df_shm.txt', 'ibstat.txt'} <= set(names))

    def test_the_interfaces_agree_with_ip(self):
        if not os.path.exists('/usr/sbin/ip') and not os.path.exists('/sbin/ip'):
            self.skipTest('no ip here')
        self.collect()
        ours = self.text('ip-addr.txt')
        theirs = subprocess.run(['ip', 'addr'], capture_output=True, text=True, check=True,
                                env={'PATH': '/usr/sbin:/sbin:/usr/bin:/bin'}).stdout

        self.assertEqual(links(ours), links(theirs))

    def test_another_namespace_is_not_told_by_its_sysfs(self):
        """/sys stays that of the namespace that mounted it; `ip` and NCCL see this one's."""
        def inside(script):
            return subprocess.run(['unshare', '--map-root-user', '--net', 'sh', '-c', script],
                                  capture_output=True, text=True, timeout=60, check=False,
                                  env={'PATH': '/usr/sbin:/sbin:/usr/bin:/bin'})
        tried = inside('ip link set lo up')
        if tried.returncode != 0:
            self.skipTest(f'no network namespace of its own here: {tried.stderr.strip()[:200]}')
        result = inside(
            # Not every kernel has the dummy driver: then there is lo alone.
            f'ip link set lo up; ip link add busbw0 mtu 1450 type dummy; '
            f'ip addr add 10.20.30.40/24 dev busbw0; '
            f'PATH="{self.tools}" "{PROGRAM}" collect -o "{self.out}" >/dev/null && ip addr')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.sources()['ip-addr.txt'], 'getifaddrs and ioctl')
        ours = links(self.text('ip-addr.txt'))
        self.assertEqual(ours, links(result.stdout))
        self.assertIn(('lo', '65536'), ours)

    def test_json_is_the_manifest(self):
        result = self.collect('--json', '-')
        self.assertEqual(json.loads(result.stdout), self.manifest())

    def test_a_collection_is_an_input_of_a_scenario(self):
        hosts = self.folder / 'hosts'
        for host in ('node0', 'node1'):
            self.out = hosts / host
            self.assertEqual(self.collect().returncode, 0)
        interface = [line.split(':')[1].strip().split('@')[0]
                     for line in self.text('ip-addr.txt').splitlines() if line[0].isdigit()]
        scenario = self.folder / 'here.yaml'
        scenario.write_text(json.dumps({
            'schema': 'busbw.scenario/1', 'name': 'here', 'nccl': '2.28.9',
            'cluster': {'hosts': 2, 'machine': 'a100-40gb-x4',
                        'networks': [{'name': 'management', 'nics': ['eth0']}]},
            'inventory': {'tool_output': 'hosts'},
            'workload': {'collective': 'all_reduce', 'sizes': ['1 MiB']}}), encoding='utf-8')
        shown = run('show', 'ip-addr', str(scenario), env={'BUSBW_DATA': str(SOURCE)})
        self.assertEqual((shown.returncode, shown.stderr), (0, ''))
        self.assertEqual([line.split(':')[1].strip() for line in shown.stdout.splitlines()
                          if line[0].isdigit()], interface)


class Tools(WithFolder):
    def test_a_tool_that_answers_is_taken(self):
        self.tool('ibstat', "printf \"CA 'mlx5_9'\\n\\tCA type: MT4129\\n\"")
        self.collect()
        self.assertEqual(self.text('ibstat.txt'), "CA 'mlx5_9'\n\tCA type: MT4129\n")
        self.assertEqual(self.sources()['ibstat.txt'], 'ibstat')

    def test_one_that_fails_leaves_ours_and_says_why(self):
        self.tool('ip', 'echo "no such option" >&2; exit 255')
        self.tool('iblinkinfo', 'echo "ibwarn: [7] mad_rpc_open_port: cannot open"; exit 1')
        self.collect()
        self.assertIn(self.sources()['ip-addr.txt'], OWN)
        missing = self.missing()
        self.assertEqual(missing['ip-addr.txt'], "'ip addr': status 255: no such option")
        self.assertEqual(missing['iblinkinfo.txt'], "'iblinkinfo': status 1: ibwarn: [7] "
                         'mad_rpc_open_port: cannot open')
        self.assertEqual(missing['nvlink.txt'], "'nvidia-smi' is not installed")

    def test_one_that_hangs_stops_nothing(self):
        for name in ('nvidia-smi', 'ibv_devinfo', 'iblinkinfo'):
            self.tool(name, 'exec /bin/sleep 1000')
        start = time.monotonic()
        result = self.collect('--timeout', '2')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(self.missing()['nvidia-smi.txt'], "'nvidia-smi -q': nothing within 2 s")
        self.assertIn('ip-addr.txt', self.sources())

    def test_serial_numbers_and_processes_stay_here(self):
        self.tool('nvidia-smi', 'cat <<X\nGPU 0\n    Serial Number : 165\n    Product Name : H200\n'
                  '    Processes\n        Name : /home/eve/train.py\nX')
        self.collect(path=f'{self.tools}:/usr/bin:/bin')
        self.assertEqual(self.text('nvidia-smi.txt'), 'GPU 0\n    Product Name : H200\n')


class Secrets(WithFolder):
    def test_environment(self):
        self.collect(env={'NCCL_DEBUG': 'INFO', 'HF_TOKEN': 'hf_abcdefghijklmnopqrstuvwxyz',
                          'WANDB_API_KEY': '0' * 40, 'SLURM_JOB_USER': 'mallory',
                          'NCCL_TOPO_FILE': '/home/mallory/topo.xml', 'UCX_TLS': 'rc',
                          'NCCL_NET_PLUGIN': 'a1B2c3D4e5F6g7H8i9J0k1L2m3'})
        lines = self.text('env.txt').splitlines()
        for line in ('NCCL_DEBUG=INFO', 'NCCL_TOPO_FILE=~/topo.xml', 'UCX_TLS=rc',
                     'NCCL_NET_PLUGIN=<removed>'):
            self.assertIn(line, lines)
        everything = ''.join(path.read_text(encoding='utf-8') for path in self.out.iterdir())
        for secret in ('hf_abc', '0' * 40, 'mallory', 'a1B2c3'):
            self.assertNotIn(secret, everything)

    def test_files_that_may_not_be_read(self):
        self.write('sys/class/net/eth0/ifindex', '2\n')
        self.write('proc/modules', 'ib_core 1 0 - Live 0x0\n')
        if os.geteuid() == 0:
            self.skipTest('root may read everything')
        (self.folder / 'root/proc/modules').chmod(0)
        self.collect('--root', str(self.folder / 'root'))
        self.assertEqual(self.missing()['/proc/modules'], 'permission denied')


class OtherRoot(WithFolder):
    def test_only_its_own_files_count(self):
        self.tool('ibstat', 'echo this machine')
        self.write('sys/class/net/eth7/ifindex', '7\n')
        self.write('sys/class/net/eth7/flags', '0x1003\n')
        self.write('sys/class/net/eth7/operstate', 'up\n')
        self.write('sys/class/net/eth7/carrier', '1\n')
        self.write('sys/class/net/eth7/mtu', '4200\n')
        self.write('sys/class/net/eth7/type', '1\n')
        self.write('etc/hostname', 'gpu07\n')
        result = self.collect('--root', str(self.folder / 'root'), env={'NCCL_DEBUG': 'INFO'})
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertEqual(self.manifest()['host'], 'gpu07')
        self.assertEqual(self.text('ip-link.txt'),
                         '7: eth7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 4200 state UP mode '
                         'DEFAULT group default \n    link/ether\n')
        self.assertNotIn('this machine', self.text('ibstat.txt'))
        self.assertFalse((self.out / 'env.txt').exists())
        self.assertEqual(self.missing()['env.txt'], 'another root has no environment')


    def test_diagnose_knows_every_file(self):
        """Also of kernel options alone, and the manifest."""
        self.write('proc/cmdline', 'BOOT_IMAGE=/v root=/dev/sda2 quiet iommu=pt pci=realloc\n')
        self.write('proc/mounts', 'tmpfs /dev/shm tmpfs rw,size=1048576k 0 0\n')
        self.write('proc/modules', 'ib_core 1 0 - Live 0x0\n')
        self.write('sys/class/net/eth7/ifindex', '7\n')
        self.collect('--root', str(self.folder / 'root'))
        self.assertEqual(self.text('cmdline.txt'), 'iommu=pt pci=realloc\n')
        report = json.loads(run('diagnose', str(self.out), '--json', '-').stdout)
        self.assertEqual([one for one in report['unread'] if one['line'] == 0], [])
        kinds = {os.path.basename(one['file']): one['kinds'] for one in report['read']}
        self.assertEqual(kinds['cmdline.txt'], ['/proc/cmdline'])
        self.assertEqual(kinds['manifest.json'], ['JSON of busbw'])
        self.assertIn({'iommu': 'passthrough'}, [one['fields'] for one in report['facts']
                                                 if one['name'] == 'kernel.cmdline'])


class Folders(WithFolder):
    def test_a_second_collection_replaces_the_first(self):
        self.tool('iblinkinfo', 'echo CA: node0')
        self.collect()
        self.assertTrue((self.out / 'iblinkinfo.txt').exists())
        (self.tools / 'iblinkinfo').unlink()
        self.assertEqual(self.collect().returncode, 0)
        self.assertFalse((self.out / 'iblinkinfo.txt').exists())

    def test_a_folder_of_other_things_is_left_alone(self):
        self.out.mkdir()
        (self.out / 'thesis.txt').write_text('mine', encoding='utf-8')
        result = self.collect()
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertEqual(result.stderr, f"error: '{self.out}' holds files that are not of a "
                         'collection (no manifest.json); name another folder by -o\n')
        self.assertEqual([path.name for path in self.out.iterdir()], ['thesis.txt'])

    def test_wrong_options_and_folders(self):
        result = self.collect('--timeout', 'soon', '--root', '/no/such', '--all-nodes')
        self.assertEqual((result.returncode, result.stdout), (2, ''))
        self.assertEqual(
            result.stderr,
            "error: --timeout 'soon'; allowed: seconds above 0 and up to 3600\n"
            "error: --root '/no/such' is no folder\n"
            'error: --all-nodes: no launcher has started this; start it by srun or mpirun, once a '
            'host or more often\n')
        self.out = pathlib.Path('/proc/none')
        result = self.collect()
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr,
                         'error: mkdir failed: No such file or directory (on /proc/none)\n')


class AllNodes(WithFolder):
    def ranks(self, *variables):
        """One process for each set of variables, at the same time."""
        base = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
        started = [subprocess.Popen([PROGRAM, 'collect', '-o', str(self.out), '--all-nodes'],
                                    env={**base, 'PATH': str(self.tools), **own}, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE) for own in variables]
        outputs = [process.communicate(timeout=60) for process in started]
        for process, (_, errors) in zip(started, outputs):
            self.assertEqual((process.returncode, errors), (0, ''))
        return [out for out, _ in outputs]

    def test_the_first_of_each_host_writes(self):
        for first, second in (({'OMPI_COMM_WORLD_LOCAL_RANK': '0'},
                               {'OMPI_COMM_WORLD_LOCAL_RANK': '1'}),
                              ({'SLURM_LOCALID': '0'}, {'SLURM_LOCALID': '1'}),
                              ({'LOCAL_RANK': '0'}, {'LOCAL_RANK': '3'})):
            one, other = self.ranks(first, second)
            host = os.uname().nodename
            self.assertEqual([path.name for path in self.out.iterdir()], [host])
            self.assertIn(f' files in {self.out / host}\n', one)
            self.assertEqual(other, '')
            self.assertEqual(self.manifest(self.out / host)['host'], host)

    def test_without_local_numbers_one_wins(self):
        outputs = self.ranks(*[{'PMI_RANK': str(rank)} for rank in range(4)])
        self.assertGreaterEqual(sum(out != '' for out in outputs), 1)
        host = os.uname().nodename
        self.assertEqual([path.name for path in self.out.iterdir()], [host])
        self.assertTrue((self.out / host / 'ip-addr.txt').exists())


if __name__ == '__main__':
    unittest.main()
