namespace Millrace.Engine;

/// <summary>Every bound of the engine in one place, with the reason for its default.</summary>
public sealed record Limits
{
    /// <summary>
    /// Connections of one reactor; the newest beyond it are closed with a reset. Each costs a descriptor and some hundred bytes.
    /// </summary>
    public int ConnectionsPerReactor { get; init; } = 65_536;

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
    /// is a reset, which can destroy the answer before the peer has read it (RFC 9112, 9.6).
    /// </summary>
    public TimeSpan Linger { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>Bytes discarded while lingering: a peer that goes on sending beyond it is cut off.</summary>
    public int LingerBytes { get; init; } = 1024 * 1024;

    /// <summary>A peer that takes not one byte of an answer for this long is gone; noticed within twice the time.</summary>
    public TimeSpan WriteStall { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>How long a listener that ran out of descriptors or memory waits before it accepts again.</summary>
    public TimeSpan AcceptPause { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <exception cref="ArgumentOutOfRangeException">A bound is zero or less.</exception>
    internal void Validate()
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(ConnectionsPerReactor);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(Backlog);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(InputHighWaterBytes);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(PipeUnsentBytes);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(KernelUnsentBytes);
        ArgumentOutOfRangeException.ThrowIfNegative(LingerBytes);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(Linger, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(WriteStall, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(AcceptPause, TimeSpan.Zero);
    }
}
