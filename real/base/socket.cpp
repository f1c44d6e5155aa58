// See socket.h.
#include "real/base/socket.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/errors.h"

namespace busbw::real {
namespace {

constexpr Milliseconds kBetweenTries{50};

void set_option(int socket, int level, int name, int value) {
  if (::setsockopt(socket, level, name, &value, sizeof value) != 0)
    fail_call("setsockopt", errno);
}

SocketAddress lookup(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (status != 0)
    throw SystemError({"getaddrinfo", ::gai_strerror(status), host, ""});
  SocketAddress address;
  address.length = list->ai_addrlen;
  std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
  ::freeaddrinfo(list);
  return address;
}

/// The family whose "any" address takes both IPv6 and IPv4, if this kernel has it.
int family_of_any() {
  const Descriptor probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return probe.open() ? AF_INET6 : AF_INET;
}

/// A socket of this family, bound as asked.
Descriptor bound_socket(const Binding& binding, int family, std::uint16_t port) {
  Descriptor made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.open())
    fail_call("socket", errno);
  if (!binding.interface.empty() &&
      ::setsockopt(made.get(), SOL_SOCKET, SO_BINDTODEVICE, binding.interface.c_str(),
                   static_cast<socklen_t>(binding.interface.size())) != 0 &&
      errno != EPERM)  // without the privilege the address alone decides
    fail_call("setsockopt SO_BINDTODEVICE", errno, binding.interface);
  if (binding.address.empty() && port == 0)
    return made;
  set_option(made.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  SocketAddress own;
  if (!binding.address.empty()) {
    own = socket_address(binding.address, port);
  } else {
    if (family == AF_INET6)
      set_option(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    own = socket_address(family == AF_INET6 ? "::" : "0.0.0.0", port);
  }
  if (::bind(made.get(), own.get(), own.length) != 0)
    fail_call("bind", errno, to_string(own));
  return made;
}

}  // namespace

SocketAddress socket_address(const std::string& text, std::uint16_t port) {
  return lookup(text, port, AI_NUMERICHOST);
}

SocketAddress resolve(const std::string& host, std::uint16_t port) {
  return lookup(host, port, 0);
}

std::string to_string(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (::getnameinfo(address.get(), address.length, host.data(), host.size(), service.data(),
                    service.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "unknown address";
  return address.storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host.data(), service.data())
                                               : fmt::format("{}:{}", host.data(), service.data());
}

std::uint16_t local_port(int socket) {
  SocketAddress own;
  own.length = sizeof own.storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own.storage), &own.length) != 0)
    fail_call("getsockname", errno);
  return ntohs(own.storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&own.storage)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&own.storage)->sin_port);
}

void tune(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

Descriptor listen_on(const Binding& binding, std::uint16_t port) {
  const int family = binding.address.empty()
                         ? family_of_any()
                         : static_cast<int>(socket_address(binding.address, 0).storage.ss_family);
  Descriptor listener = bound_socket(binding, family, port);
  if (::listen(listener.get(), SOMAXCONN) != 0)
    fail_call("listen", errno, binding.address);
  return listener;
}

Descriptor connect_to(const Binding& binding, const SocketAddress& target, const Patience& patience,
                      const std::string& peer) {
  std::vector<int> watched;
  patience.watch.add_descriptors(watched);
  for (;;) {
    Descriptor made = bound_socket(binding, target.storage.ss_family, 0);
    int error = 0;
    if (::connect(made.get(), target.get(), target.length) != 0)
      error = errno;
    if (error == EINPROGRESS || error == EINTR) {
      wait_for(made.get(), Ready::kWrite, patience.deadline, patience.watch,
               {"connect", to_string(target), peer});
      socklen_t size = sizeof error;
      if (::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        fail_call("getsockopt", errno);
    }
    if (error == 0) {
      tune(made.get());
      return made;
    }
    if (error != ECONNREFUSED || patience.deadline.passed())
      fail_call("connect", error, to_string(target), peer);
    sleep_on(watched, std::min(kBetweenTries, patience.deadline.left()));
    patience.watch.check();
  }
}

Descriptor accept_from(int listener) {
  for (;;) {
    Descriptor made(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (made.open()) {
      tune(made.get());
      return made;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      return made;
    // A connection that ended before it was accepted is not this listener's failure.
    if (errno != EINTR && errno != ECONNABORTED)
      fail_call("accept", errno);
  }
}

int try_write_all(int socket, const std::string& bytes, const Patience& patience,
                  const std::string& peer) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_for(socket, Ready::kWrite, patience.deadline, patience.watch, {"send", "", peer});
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void write_all(int socket, const std::string& bytes, const Patience& patience,
               const std::string& peer) {
  if (const int error = try_write_all(socket, bytes, patience, peer); error != 0)
    fail_call("send", error, "", peer);
}

bool read_exactly(int socket, char* bytes, std::size_t size, const Patience& patience) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::recv(socket, bytes + done, size - done, MSG_DONTWAIT);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      continue;
    }
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
      return false;
    pollfd polled{socket, POLLIN, 0};
    patience.watch.check();
    const Milliseconds left = std::min(patience.deadline.left(), Milliseconds(100));
    static_cast<void>(::poll(&polled, 1, static_cast<int>(left.count())));
    if (polled.revents == 0 && patience.deadline.passed())
      return false;
  }
  return true;
}

std::uint64_t random_token() {
  std::uint64_t token = 0;
  if (::getrandom(&token, sizeof token, 0) != static_cast<ssize_t>(sizeof token))
    fail_call("getrandom", errno);
  return token;
}

}  // namespace busbw::real
