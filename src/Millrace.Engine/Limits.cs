namespace Millrace.Engine;

/// <summary>Every bound of the engine in one place, with the reason for its default.</summary>
public sealed record Limits
{
    /// <summary>
    /// Connections of all reactors together; the newest beyond it are turned away. Each costs a descriptor, some hundred bytes of ours
    /// and some kilobytes of the kernel's, so that as many idle ones fit half a gigabyte.
    /// </summary>
    public int Connections { get; init; } = 65_536;

    /// <summary>
    /// Connections of one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber has. 0: as many as there
    /// may be. A quarter of all, so that none can keep all others out, and proxies, carriers' NATs and load tests are below it;
    /// who serves the public directly may go down to some hundreds. Unix sockets have no address and are not counted; nor is a connection
    /// any more whose last answer the kernel has, which sends it, of a bounded buffer, behind the close.
    /// </summary>
    public int ConnectionsPerClient { get; init; } = 16_384;

    /// <summary>
    /// Connections beyond a limit that are given to their listener's refusal at one time (a 503 needs a request to answer); those
    /// beyond it too are reset. Enough for clients that mean well, little beside those that are served.
    /// </summary>
    public int Refusals { get; init; } = 256;

    /// <summary>
    /// Native memory lent to connections for input and output, of all reactors together. At three quarters a reactor says that it is
    /// overloaded (<see cref="Reactor.IsOverloaded"/>), beyond it a connection that wants more is reset. 0: a quarter of what this process
    /// may use, a cgroup's limit respected. A reader that is slower than its file holds up to 600 KB.
    /// </summary>
    public long BufferBytes { get; init; }

    /// <summary>Connections that the kernel queues before they are accepted; it cuts the number to <c>net.core.somaxconn</c>.</summary>
    public int Backlog { get; init; } = 4_096;

    /// <summary>
    /// Unconsumed input in bytes at which a connection stops receiving, until half of it was consumed or the handler has seen it
    /// all and waits for more: what a handler keeps is its own to limit.
    /// </summary>
    public int InputHighWaterBytes { get; init; } = 64 * 1024;

    /// <summary>Unsent output in bytes up to which a pipe's flush completes at once (Kestrel's default for the same).</summary>
    public int PipeUnsentBytes { get; init; } = 64 * 1024;

    /// <summary>
    /// Bytes that the kernel keeps queued for a slow reader (<c>TCP_NOTSENT_LOWAT</c>): beyond it a send waits in the ring.
    /// </summary>
    public int KernelUnsentBytes { get; init; } = 256 * 1024;

    /// <summary>
    /// How long an ended connection waits for the peer's own end, discarding what still comes: a close with unread bytes
    /// is a reset, which can destroy the answer before the peer has read it (RFC 9112, 9.6). Peers that have said that they send nothing
    /// more are not waited for: what they have not read yet is the kernel's alone.
    /// </summary>
    public TimeSpan Linger { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>
    /// Bytes discarded once nobody reads any more: a peer that goes on sending is held up while its answer goes out, and cut off behind it.
    /// </summary>
    public int LingerBytes { get; init; } = 1024 * 1024;

    /// <summary>
    /// A peer that takes not one byte of an answer for this long is gone; noticed within five quarters of it. Players that pause and
    /// laptops that sleep come back with a range.
    /// </summary>
    public TimeSpan WriteStall { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// What a peer must take of an answer that waits for it, on average; with less its <see cref="WriteStall"/> is used up little by
    /// little (one at half the rate is gone after twice that time). 0: no rate. The slowest links people use (GPRS, 20 kbit/s) carry more;
    /// a reader at 1 KB/s would hold buffers for a quarter of an hour per megabyte.
    /// </summary>
    public int WriteBytesPerSecond { get; init; } = 2_048;

    /// <summary>
    /// How long a connect may take that is not told otherwise. A SYN that was lost is sent again after 1, 3 and 7 s
    /// (tcp_syn_retries): whoever does not answer three is not there, while the kernel would go on for two minutes.
    /// </summary>
    public TimeSpan ConnectTimeout { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>How long a listener that ran out of descriptors or memory waits before it accepts again.</summary>
    public TimeSpan AcceptPause { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <exception cref="ArgumentOutOfRangeException">A bound is zero or less, and may not be.</exception>
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
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(WriteStall, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(WriteStall, TimeSpan.FromDays(1));
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(AcceptPause, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(ConnectTimeout, TimeSpan.Zero);
    }

    /// <summary>The limits of one of so many reactors: memory is lent by each on its own.</summary>
    internal Limits ForOneOf(int reactors)
    {
        long all = BufferBytes > 0 ? BufferBytes : GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 4;
        return this with { BufferBytes = all / reactors };
    }
}
