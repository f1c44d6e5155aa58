# shellcheck shell=bash
# Shell functions that make and remove the emulated hosts of tools/soft-roce: in the guest, or
# natively. Sourced, never run. Assumes root and a kernel with rdma_rxe.
#
# Host I (from 0): RDMA device rxeI on the veth roceI, and the veth mgmtI; each kind on a bridge of
# its own. MTU 9000, which gives the RDMA MTU 4096. All lie in the first network namespace, the only
# one that rxe of Linux 6.1 serves (devices of another one come up, but pass nothing). So the
# addresses of all hosts are local ones, which a kernel never sends; rules of routing make it:
# what comes from an address, or leaves by an interface, of a host takes that host's table, and the
# table of local addresses comes after these, but for what arrives on an interface. Neighbours are
# permanent: an unresolved one costs a second in ibv_modify_qp.

# hex I: two digits.
hex() { printf '%02x' "$1"; }

# can_be_native N: whether devices for N hosts can be made here, without touching existing ones, or
# rules of routing that are more than the kernel's three.
can_be_native() {
  local kind host
  [ "$(id -u)" -eq 0 ] || return 1
  command -v rdma >/dev/null && command -v ip >/dev/null && command -v tc >/dev/null || return 1
  [ "$(ip rule list | cut -d: -f1 | paste -sd' ')" = '0 32766 32767' ] || return 1
  [ -d /sys/module/rdma_rxe ] || modprobe rdma_rxe 2>/dev/null || return 1
  for kind in roce mgmt; do
    [ ! -e "/sys/class/net/br$kind" ] || return 1
    for ((host = 0; host < $1; ++host)); do
      [ ! -e "/sys/class/net/$kind$host" ] && [ ! -e "/sys/class/net/p$kind$host" ] &&
        [ ! -e "/sys/class/infiniband/rxe$host" ] || return 1
    done
  done
}

# veth_commands N KIND NET MAC: for `ip -batch`: the bridge and the veths of one kind, all down.
veth_commands() {
  local host
  echo "link add br$2 mtu 9000 type bridge mcast_snooping 0"
  for ((host = 0; host < $1; ++host)); do
    echo "link add $2$host mtu 9000 address $4:$(hex "$host") type veth peer name p$2$host mtu 9000"
    echo "link set p$2$host master br$2"
    echo "link set $2$host addrgenmode eui64"
  done
}

# address_commands N KIND NET MAC TABLE: up, addresses, neighbours, and table TABLE+I of host I.
address_commands() {
  local host peer mine name
  echo "link set br$2 up"
  for ((host = 0; host < $1; ++host)); do
    mine=$3.$((host + 1))
    name=$2$host
    echo "link set p$name up"
    echo "link set $name up"
    echo "address add $mine/24 dev $name"
    for ((peer = 0; peer < $1; ++peer)); do
      [ "$peer" -ne "$host" ] || continue
      echo "neigh replace $3.$((peer + 1)) lladdr $4:$(hex "$peer") dev $name nud permanent"
      echo "neigh replace fe80::ff:fe00:${4##*:}$(hex "$peer") lladdr $4:$(hex "$peer")" \
        "dev $name nud permanent"
    done
    echo "route add local $mine dev $name table $(($5 + host))"
    echo "route add $3.0/24 dev $name src $mine table $(($5 + host))"
    echo "rule add pref 10 iif $name lookup local"
    echo "rule add pref 20 from $mine lookup $(($5 + host))"
    echo "rule add pref 21 oif $name lookup $(($5 + host))"
  done
}

# quiet_addresses DEVICE...: no IPv6 but the link-local address, and that at once; IPv4 accepts what
# comes from a local address.
quiet_addresses() {
  local device key
  for device in "$@"; do
    for key in accept_dad accept_ra router_solicitations; do
      echo 0 >"/proc/sys/net/ipv6/conf/$device/$key" || return 1
    done
    echo 1 >"/proc/sys/net/ipv4/conf/$device/accept_local" &&
      echo 2 >"/proc/sys/net/ipv4/conf/$device/rp_filter" || return 1
  done
}

# shape_commands SHAPE...: for `tc -batch`: token buckets at both ends of the veth, so that DEV
# sends and receives at the rate. The bucket holds one frame and a little: a frame that is larger
# than the bucket would be lost, and a larger bucket would let short messages pass at once. Nothing
# is dropped for a full queue, as on a fabric with flow control: 32 MB hold what 60 queue pairs may
# have in flight.
shape_commands() {
  local shape device end
  for shape in "$@"; do
    device=${shape%%=*}
    device=${device/#rxe/roce}
    for end in "$device" "p$device"; do
      echo "qdisc replace dev $end root tbf rate ${shape#*=} burst $(bucket "${shape#*=}")" \
        "limit 32000000"
    done
  done
}

# bucket RATE: bytes; one frame, or what the rate sends in a millisecond, the grain of a busy timer.
bucket() {
  local number=${1%?bit} bytes
  case $1 in
    *kbit) bytes=$((number / 8)) ;;
    *mbit) bytes=$((number * 1000 / 8)) ;;
    *) bytes=$((number * 1000000 / 8)) ;;
  esac
  echo $((bytes > 10000 ? bytes : 10000))
}

# are_up N: whether all ports are active, with the GIDs 0 (link-local) and 1 (IPv4).
are_up() {
  local host port text
  for ((host = 0; host < $1; ++host)); do
    port=/sys/class/infiniband/rxe$host/ports/1
    read -r text <"$port/state" && [[ $text == *ACTIVE ]] || return 1
    read -r text <"$port/gids/0" && [[ $text == fe80:* ]] || return 1
    read -r text <"$port/gids/1" && [[ $text == *ffff:* ]] || return 1
    grep -q "^fe80.* [0-9a-f][0-9a-f] 20 80 *roce$host\$" /proc/net/if_inet6 || return 1
  done
} 2>/dev/null

# make_hosts N [SHAPE]...: everything up and ready, or an error.
make_hosts() {
  local count=$1 host try
  shift
  {
    veth_commands "$count" roce 10.78.0 02:00:00:00:00
    veth_commands "$count" mgmt 10.77.0 02:00:00:00:01
  } | ip -batch - || return 1
  for ((host = 0; host < count; ++host)); do
    quiet_addresses "roce$host" "mgmt$host" || return 1
    echo 1 >"/proc/sys/net/ipv6/conf/proce$host/disable_ipv6"
    echo 1 >"/proc/sys/net/ipv6/conf/pmgmt$host/disable_ipv6"
  done
  {
    echo 'rule add pref 100 lookup local'
    address_commands "$count" roce 10.78.0 02:00:00:00:00 7800
    address_commands "$count" mgmt 10.77.0 02:00:00:00:01 7700
    echo 'rule del pref 0 lookup local'
  } | ip -batch - || return 1
  for ((host = 0; host < count; ++host)); do
    echo "link add rxe$host type rxe netdev roce$host"
  done | rdma --batch - || return 1
  [ "$#" -eq 0 ] || shape_commands "$@" | tc -batch - || return 1
  for ((try = 0; try < 200; ++try)); do
    ! are_up "$count" || return 0
    sleep 0.05
  done
  echo 'the ports of the rxe devices are not active after 10 s' >&2
  return 1
}

# remove_hosts N: what make_hosts made, as far as it came; tables and neighbours go with the links.
remove_hosts() {
  local host kind
  # First of all: without it the machine would not know its own addresses.
  ip rule list | grep -q '^0:.*lookup local' || ip rule add pref 0 lookup local || return 1
  {
    echo 'rule del pref 100 lookup local'
    for ((host = 0; host < $1; ++host)); do
      for kind in roce mgmt; do
        echo "rule del pref 10 iif $kind$host lookup local"
        echo "rule del pref 21 oif $kind$host"
      done
      echo "rule del pref 20 from 10.78.0.$((host + 1))"
      echo "rule del pref 20 from 10.77.0.$((host + 1))"
      echo "link del roce$host"
      echo "link del mgmt$host"
    done
    echo 'link del brroce'
    echo 'link del brmgmt'
  } | ip -force -batch - 2>/dev/null
}
