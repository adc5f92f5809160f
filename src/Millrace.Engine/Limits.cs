using Millrace.Interop.Memory;

namespace Millrace.Engine;

/// <summary>All limits of the engine, each with the reason for its default.</summary>
public sealed record Limits
{
    /// <summary>The clock's resolution: less would be no pause at all, and a busy loop.</summary>
    private static readonly TimeSpan MinTime = TimeSpan.FromMilliseconds(1);

    /// <summary>
    /// Connections of all reactors together; the newest beyond it are turned away. Each costs a descriptor, some hundred bytes in this
    /// process and some kilobytes in the kernel, so that this many idle ones fit into half a gigabyte.
    /// </summary>
    public int Connections { get; init; } = 65_536;

    /// <summary>
    /// Connections of one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber has. 0: as many as
    /// <see cref="Connections"/>. The default is a quarter of all, so that no client can exclude all others, and above what proxies,
    /// carriers' NATs and load tests need; a server that faces the public directly may use some hundreds. Unix sockets have no address and
    /// are not counted; nor is a connection whose last response is completely with the kernel, which sends it, from a bounded buffer, after
    /// the close.
    /// </summary>
    public int ConnectionsPerClient { get; init; } = 16_384;

    /// <summary>
    /// Connections beyond a limit that are given to their listener's refusal handler at one time (a 503 needs a request to respond to);
    /// further ones are reset. Enough for well-behaved clients, few compared with the connections that are served.
    /// </summary>
    public int Refusals { get; init; } = 256;

    /// <summary>
    /// Memory that connections hold, of all reactors together: native memory for input and output, the state of sessions, streams and
    /// requests, and 4 KB per connection, most of it the kernel's. At three quarters a reactor reports overload
    /// (<see cref="Reactor.IsOverloaded"/>), and new requests of clients that hold much should be refused; beyond the limit, connections of
    /// the clients (by address) that hold most are reset. 0: a quarter of what this process may use, including a cgroup's limit. A reader
    /// that is slower than its file holds up to 600 KB.
    /// </summary>
    public long BufferBytes { get; init; }

    /// <summary>Connections that the kernel queues before they are accepted; it cuts the number to <c>net.core.somaxconn</c>.</summary>
    public int Backlog { get; init; } = 4_096;

    /// <summary>
    /// Unconsumed input in bytes at which a connection stops receiving, until half of it was consumed or the handler has seen it all and
    /// waits for more: the handler limits what it keeps.
    /// </summary>
    public int InputHighWaterBytes { get; init; } = 64 * 1024;

    /// <summary>Unsent output in bytes up to which a pipe's flush completes at once (Kestrel's default).</summary>
    public int PipeUnsentBytes { get; init; } = 64 * 1024;

    /// <summary>
    /// Unsent bytes that the kernel queues for a slow reader (<c>TCP_NOTSENT_LOWAT</c>); beyond that a send waits in the ring.
    /// </summary>
    public int KernelUnsentBytes { get; init; } = 256 * 1024;

    /// <summary>
    /// How long a finished connection waits for the peer's end of stream, discarding further input: a close with unread bytes is a reset,
    /// which can destroy the response before the peer has read it (RFC 9112, 9.6). No wait for a peer that has announced that it sends
    /// nothing more: only the kernel still has bytes for it.
    /// </summary>
    public TimeSpan Linger { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>
    /// Input bytes discarded when the handler no longer reads: a peer that continues to send is throttled while its response goes out, and
    /// disconnected after it.
    /// </summary>
    public int LingerBytes { get; init; } = 1024 * 1024;

    /// <summary>
    /// A peer that takes no byte of a response for this long is disconnected, after at most five quarters of this time. Paused players and
    /// sleeping laptops resume with a range request.
    /// </summary>
    public TimeSpan WriteStall { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Average rate at which a peer must read a waiting response; a slower one uses up its <see cref="WriteStall"/> gradually (at half the
    /// rate, in twice that time). 0: no rate. The slowest links in use (GPRS, 20 kbit/s) carry more; a reader at 1 KB/s would hold buffers
    /// for a quarter of an hour per megabyte. Connections that <c>Reactor.ConnectAsync</c> opens have no rate.
    /// </summary>
    public int WriteBytesPerSecond { get; init; } = 2_048;

    /// <summary>
    /// Default time limit of a connect. A lost SYN is sent again after 1, 3 and 7 s (tcp_syn_retries): a host that does not respond to
    /// three is not reachable, while the kernel would continue for two minutes, as it does with <see cref="Timeout.InfiniteTimeSpan"/>.
    /// </summary>
    public TimeSpan ConnectTimeout { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>How long a listener waits to accept again after it ran out of descriptors or memory.</summary>
    public TimeSpan AcceptPause { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <exception cref="ArgumentOutOfRangeException">A limit is out of its range.</exception>
    internal void Validate()
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(Connections);
        ArgumentOutOfRangeException.ThrowIfNegative(ConnectionsPerClient);
        ArgumentOutOfRangeException.ThrowIfNegative(Refusals);
        ArgumentOutOfRangeException.ThrowIfNegative(BufferBytes);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(Backlog);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(InputHighWaterBytes);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(PipeUnsentBytes);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(KernelUnsentBytes);
        ArgumentOutOfRangeException.ThrowIfNegative(LingerBytes);
        ArgumentOutOfRangeException.ThrowIfNegative(WriteBytesPerSecond);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(Linger, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(WriteStall, MinTime);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(WriteStall, TimeSpan.FromDays(1));
        ArgumentOutOfRangeException.ThrowIfLessThan(AcceptPause, MinTime);
        if (ConnectTimeout != Timeout.InfiniteTimeSpan)
        {
            ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(ConnectTimeout, TimeSpan.Zero);
        }
    }

    /// <summary>The limits of one of so many reactors: each manages its share of the memory.</summary>
    internal Limits ForOneOf(int reactors)
    {
        long all = BufferBytes > 0 ? BufferBytes : ProcessMemory.Bytes / 4;
        return this with { BufferBytes = all / reactors };
    }
}
