"""Tests of tools/soft-roce with devices, natively or in its guest; skipped where it has neither."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import soft_roce

HOSTS = 8

# What COMMAND finds, and what it may do; each answer is a line `name: value`.
FINDINGS = '''
ping() {
  timeout 100 ibv_rc_pingpong -d "$1" -g "$3" -n 20 -e >&2 &
  listens && timeout 100 ibv_rc_pingpong -d "$2" -g "$3" -n 20 -e 127.0.0.1 >&2 && wait "$!" &&
    echo "ping $1 $2 $3: passed"
}
state() { echo "$1: $(cat /sys/class/infiniband/rxe1/ports/1/state)"; }
echo "devices: $(ibv_devices | grep -o 'rxe[0-9]*' | paste -sd' ')"
for ((host = 0; host < SOFT_ROCE_HOSTS; ++host)); do
  echo "gids $host: $(cat /sys/class/infiniband/rxe$host/ports/1/gids/[01] | paste -sd' ')"
  for name in roce mgmt; do
    echo "$name $host: $(ip -4 -brief address show dev $name$host | tr -s ' ')"
  done
done
echo "mtu: $(ibv_devinfo -d rxe0 | grep active_mtu | tr -s '\\t ' ' ')"
ping rxe0 rxe1 0
ping rxe6 rxe7 0
ping rxe0 rxe7 1
python3 -c "$TCP"
echo "carried: $CARRIED"
echo "folder: $PWD"
echo "hosts: $SOFT_ROCE_HOSTS"
echo written >"$SOFT_ROCE_OUT/file"
if [ "$SOFT_ROCE_GUEST" = yes ]; then
  touch "$PWD/must-not-be" 2>/dev/null && echo 'wrote: outside of --out'
fi
ip link set proce1 down
sleep 0.5
state 'cable out'
ip link set proce1 up
sleep 0.5
state 'cable in'
ping rxe0 rxe1 1
if [ "$SOFT_ROCE_GUEST" = yes ]; then
  source "$ROOT/tools/soft_roce_hosts.sh"
  remove_hosts "$SOFT_ROCE_HOSTS"
  left() {
    echo "left $1: $(ls /sys/class/infiniband | wc -l) devices;" \
      "$(ls /sys/class/net | paste -sd' '); $(ip rule list | cut -d: -f1 | paste -sd' ')"
  }
  left 'by the guest'
  "$ROOT/tools/soft-roce" --hosts 3 --shape rxe1=40mbit -- bash -c 'ibv_devices | grep -c rxe >&2
    echo "native: $SOFT_ROCE_GUEST $(tc qdisc show dev roce1 | cut -d" " -f2)"; exit 4'
  echo "native status: $?"
  left natively
fi
echo 'to standard error' >&2
exit 3
'''

# Bytes that two sockets exchange, and those that the interfaces counted meanwhile.
TCP = '''
import pathlib, socket

def counted(name):
    return int(pathlib.Path("/sys/class/net", name, "statistics/tx_bytes").read_text())

before = [counted("mgmt0"), counted("pmgmt3"), counted("roce0")]
server = socket.create_server(("10.77.0.4", 5000))
client = socket.create_connection(("10.77.0.4", 5000), source_address=("10.77.0.1", 0))
connection, _ = server.accept()
left = 500000
while left:
    client.sendall(bytes(10000))
    left -= len(connection.recv(10000, socket.MSG_WAITALL))
after = [counted("mgmt0"), counted("pmgmt3"), counted("roce0")]
print("tcp:", *(end - start for start, end in zip(before, after)))
'''

# Payload through shaped devices, bytes per second by the guest's clock.
RATES = '''
ib_write_bw -d rxe0 -x 0 -F -s 65536 -n 60 -u 20 >&2 &
listens && ib_write_bw -d rxe1 -x 0 -F -s 65536 -n 60 -u 20 127.0.0.1 |
  awk '$1 == 65536 { print "rdma:", $4 * 1048576 }'
wait "$!"
python3 -c "$STREAM"
echo 'ready: yes'
sleep 1000
'''
STREAM = '''
import socket, time
server = socket.create_server(("10.77.0.2", 5000))
client = socket.create_connection(("10.77.0.2", 5000), source_address=("10.77.0.1", 0))
connection, _ = server.accept()
client.settimeout(0)
start, left, received = time.monotonic(), 4000000, 0
while received < 4000000:
    try:
        left -= client.send(bytes(min(left, 65536))) if left else 0
    except BlockingIOError:
        pass
    received += len(connection.recv(65536))
print("tcp:", received / (time.monotonic() - start))
'''


def answers(text):
    """Lines `name: value` as a dict."""
    return dict(re.findall('^(.+?): (.*)$', text, re.M))


class Devices(unittest.TestCase):
    """One start with all hosts; each test looks at some of the answers."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.here = pathlib.Path(holder.name, 'here')
        cls.here.mkdir()
        cls.out = pathlib.Path(holder.name, 'out')
        cls.result = soft_roce.run(FINDINGS, '--hosts', str(HOSTS), '--out', str(cls.out),
                                   environment={'CARRIED': 'carried over', 'TCP': TCP,
                                                'ROOT': str(soft_roce.ROOT)},
                                   cwd=cls.here)
        cls.found = answers(cls.result.stdout)

    def test_the_status_is_that_of_the_command(self):
        self.assertEqual(self.result.returncode, 3, self.result.stderr)

    def test_streams_are_kept_apart(self):
        self.assertIn('to standard error\n', self.result.stderr)
        self.assertNotIn('standard error', self.result.stdout)

    def test_every_host_has_its_devices_and_addresses(self):
        self.assertEqual(self.found['devices'], ' '.join(f'rxe{host}' for host in range(HOSTS)))
        for host in range(HOSTS):
            self.assertEqual(self.found[f'gids {host}'],
                             f'fe80:0000:0000:0000:0000:00ff:fe00:{host:04x} '
                             f'0000:0000:0000:0000:0000:ffff:0a4e:{host + 1:04x}')
            for name, net in (('roce', '10.78.0'), ('mgmt', '10.77.0')):
                self.assertEqual(self.found[f'{name} {host}'],
                                 f'{name}{host}@p{name}{host} UP {net}.{host + 1}/24 ')
        self.assertIn('4096', self.found['mtu'])

    def test_verbs_reach_other_hosts_over_both_gids(self):
        for pair in ('rxe0 rxe1 0', 'rxe6 rxe7 0', 'rxe0 rxe7 1', 'rxe0 rxe1 1'):
            self.assertEqual(self.found.get(f'ping {pair}'), 'passed', self.result.stderr)

    def test_tcp_between_management_addresses_crosses_the_wire(self):
        sent, arrived, elsewhere = map(int, self.found['tcp'].split())
        self.assertGreater(sent, 500000)
        self.assertGreater(arrived, 500000)
        self.assertLess(elsewhere, 5000)

    def test_a_cable_goes_out_and_in(self):
        self.assertEqual((self.found['cable out'], self.found['cable in']),
                         ('1: DOWN', '4: ACTIVE'))

    def test_devices_are_made_and_removed_natively(self):
        """The guest is a machine with rdma_rxe: without its devices the tool is native there."""
        if 'native' not in self.found:
            self.skipTest('this was native already')
        for who in ('by the guest', 'natively'):
            self.assertEqual(self.found[f'left {who}'], '0 devices; lo; 0 32766 32767')
        self.assertEqual(self.found['native'], 'no tbf')
        self.assertEqual(self.found['native status'], '4')

    def test_surroundings_of_the_command(self):
        self.assertEqual(self.found['carried'], 'carried over')
        self.assertEqual(self.found['folder'], str(self.here))
        self.assertEqual(self.found['hosts'], str(HOSTS))

    def test_only_the_out_folder_is_written_to(self):
        self.assertEqual((self.out / 'file').read_text(encoding='utf-8'), 'written\n')
        self.assertNotIn('wrote', self.found)
        self.assertEqual(list(self.here.iterdir()), [])


def processes_with(text):
    """Numbers of the processes whose command line contains `text`."""
    found = []
    for entry in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            if text.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:  # it has just ended
            pass
    return found


class Guest(unittest.TestCase):
    def test_shaped_devices_carry_their_rate_and_an_interrupt_ends_all(self):
        options = ['--icount', '--shape', 'rxe1=40mbit', '--shape', 'mgmt1=40mbit']
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen(
                    soft_roce.arguments(RATES, *options), stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    env=dict(os.environ, STREAM=STREAM, TMPDIR=folder)) as process:
                found = {}
                for line in process.stdout:
                    found.update(answers(line))
                    if 'ready' in found:
                        break
                started = processes_with(folder)
                process.send_signal(signal.SIGINT)
                rest, error = process.communicate(timeout=60)
            soft_roce.skip_without_devices(process.returncode, error)
            self.assertEqual(found.get('ready'), 'yes', error)
            self.assertEqual((process.returncode, rest), (130, ''), error)
            self.assertNotEqual(started, [])
            self.assertEqual(processes_with(folder), [])
            self.assertEqual(os.listdir(folder), [])
        for path in ('rdma', 'tcp'):  # 5 MB/s on the wire, of which headers take up to 3 %
            self.assertGreater(float(found[path]), 0.92 * 5e6, found)
            self.assertLess(float(found[path]), 5e6, found)

    def test_time_out(self):
        result = soft_roce.run('sleep 1000', limit=3)
        self.assertEqual((result.returncode, result.stdout), (124, ''))
        self.assertTrue(re.search('^busbw: time-out: not done after 3 s$', result.stderr, re.M),
                        result.stderr)


if __name__ == '__main__':
    unittest.main()
