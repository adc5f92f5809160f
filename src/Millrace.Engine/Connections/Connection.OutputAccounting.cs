using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>
/// Output accounting: how much of the handler's output (plain bytes, before filters) the kernel has, to report when a response was
/// transferred and how much of a truncated one. Bytes sent by another thread (<see cref="SendDirect"/>) are not included.
/// </content>
public sealed partial class Connection
{
    /// <summary>The handler's bytes that were moved to a send, one in flight included.</summary>
    private long _takenBytes;
    private long _sendingPlainBytes;
    private long _sendingBytesWhole;

    /// <summary>Notified of output progress until the connection is gone; null for none, which costs one null check per send.</summary>
    internal IOutputObserver? Observer { get; set; }

    /// <summary>Bytes written, less those retracted. Once the output is lost, only what had reached the kernel.</summary>
    internal long WrittenBytes => _takenBytes + (_filling?.Bytes ?? 0);

    /// <summary>
    /// Bytes of <see cref="WrittenBytes"/> that the kernel has taken. Exact without filters; for a truncated send that a filter rewrote,
    /// the proportional share.
    /// </summary>
    internal long TransferredBytes => _takenBytes - PlainBytesOf(_sending?.Bytes ?? 0);

    /// <summary>
    /// Bytes of <see cref="WrittenBytes"/> that the peer has acknowledged; data can stay in the kernel's queue for long. Two system calls.
    /// A lower bound with filters, as they increase the number of bytes on the way.
    /// </summary>
    internal long AcknowledgedBytes()
    {
        // For a send in flight only the first term knows what was acknowledged; kernels without that counter (gVisor) know the second.
        long acknowledged = Math.Max(BytesTaken(), _sentBytes - Math.Max(0, Backend.UnacknowledgedBytes(_socket)));
        return _takenBytes - ((_sending?.Bytes ?? 0) + _sentBytes - acknowledged);
    }

    /// <summary>Whether no written byte can reach the peer any more.</summary>
    internal bool HasLostOutput => IsOutputLost;

    private void OpenOutputAccounting()
    {
        _takenBytes = 0;
        Observer = null;
    }

    private void AccountFor(long plainBytes, long encodedBytes)
    {
        _takenBytes += plainBytes;
        _sendingPlainBytes = plainBytes;
        _sendingBytesWhole = encodedBytes;
    }

    /// <summary>The handler's share of the remaining bytes of the send in flight, rounded up.</summary>
    private long PlainBytesOf(long leftBytes) =>
        leftBytes == 0 ? 0
        : _outermostFilter is null ? leftBytes
        : (long)Math.Ceiling((double)_sendingPlainBytes * leftBytes / _sendingBytesWhole);
}
