// TCP sockets with deadlines: addresses as text, connect, listen, accept, whole reads and writes.
#pragma once
#include <cstdint>
#include <string>
#include <sys/socket.h>

#include "real/base/system.h"

namespace busbw::real {

/// A socket address with its length.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// A numeric address ("10.0.0.1", "::1", "fe80::1%eth0"). Throws SystemError for other text.
SocketAddress socket_address(const std::string& text, std::uint16_t port);
/// The first address of a host name or numeric text, by the system's resolver.
SocketAddress resolve(const std::string& host, std::uint16_t port);
/// "10.0.0.1:5000", "[::1]:5000".
std::string to_string(const SocketAddress& address);
/// Port that the socket is bound to.
std::uint16_t local_port(int socket);

/// How a socket is bound to an interface.
struct Binding {
  std::string address;    // numeric; empty: any
  std::string interface;  // SO_BINDTODEVICE; empty: not
};

/// A listening, non-blocking socket; port 0 lets the system choose.
Descriptor listen_on(const Binding& binding, std::uint16_t port);
/// A connected, non-blocking socket with TCP_NODELAY. While the peer refuses, tries again until the
/// deadline: it may not listen yet.
Descriptor connect_to(const Binding& binding, const SocketAddress& target, const Patience& patience,
                      const std::string& peer);
/// Accepts one connection, nothing if none waits. The socket is non-blocking.
Descriptor accept_from(int listener);
/// TCP_NODELAY, keep-alive: a peer whose machine vanished is noticed in about half a minute.
void tune(int socket);

/// Writes all bytes. Returns 0, or the errno with which the connection was lost. Throws SystemError
/// when the deadline passes first.
int try_write_all(int socket, const std::string& bytes, const Patience& patience,
                  const std::string& peer);
/// The same; a lost connection is a SystemError too.
void write_all(int socket, const std::string& bytes, const Patience& patience,
               const std::string& peer);
/// Reads exactly `size` bytes. False when the peer closed or nothing came before the deadline.
bool read_exactly(int socket, char* bytes, std::size_t size, const Patience& patience);

/// 64 bits that a stranger cannot guess.
std::uint64_t random_token();

}  // namespace busbw::real
