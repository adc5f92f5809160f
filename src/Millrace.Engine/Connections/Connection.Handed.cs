using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>
/// How far the output has come, counted in the bytes that the handler wrote, whatever stages make of them: for who has to know when an
/// answer is with the kernel, and how much of one that was cut. Bytes sent elsewhere (<see cref="SendElsewhere"/>) are in none of these.
/// </content>
public sealed partial class Connection
{
    /// <summary>Bytes of the handler's that have left what is being filled, those of a send under way included.</summary>
    private long _takenBytes;
    private long _sendingPlainBytes;
    private long _sendingBytesWhole;

    /// <summary>
    /// Told how far the output has come, until the connection is gone; null where nobody asks, which costs a look a send.
    /// </summary>
    internal IOutputWitness? Witness { get; set; }

    /// <summary>Bytes written in all, and not taken back. Of what can reach the peer no more only what had reached the kernel.</summary>
    internal long WrittenBytes => _takenBytes + (_filling?.Bytes ?? 0);

    /// <summary>
    /// Bytes of these that the kernel has taken. Exact without stages; of one send that a stage has rewritten, and that is cut, it is the
    /// share of what went out.
    /// </summary>
    internal long HandedBytes => _takenBytes - PlainBytesOf(_sending?.Bytes ?? 0);

    /// <summary>
    /// Bytes of these that the peer has acknowledged: what the kernel has may be on its way for long. Two system calls. Rather too few than
    /// too many, with stages because they make more bytes of those that are on their way.
    /// </summary>
    internal long AcknowledgedBytes()
    {
        // Of a send under way only the first tells what was acknowledged; kernels that do not count it (as gVisor) know the second.
        long acknowledged = Math.Max(BytesTaken(), _sentBytes - Math.Max(0, Backend.UnacknowledgedBytes(_socket)));
        return _takenBytes - ((_sending?.Bytes ?? 0) + _sentBytes - acknowledged);
    }

    /// <summary>Whether nothing that is written can reach the peer any more.</summary>
    internal bool HasLostOutput => IsOutputLost;

    private void OpenAccount()
    {
        _takenBytes = 0;
        Witness = null;
    }

    private void AccountFor(long plainBytes, long encodedBytes)
    {
        _takenBytes += plainBytes;
        _sendingPlainBytes = plainBytes;
        _sendingBytesWhole = encodedBytes;
    }

    /// <summary>
    /// How many of the handler's bytes are among so many of the send under way that are left: rather too many than too few.
    /// </summary>
    private long PlainBytesOf(long leftBytes) =>
        leftBytes == 0 ? 0
        : _outermostStage is null ? leftBytes
        : (long)Math.Ceiling((double)_sendingPlainBytes * leftBytes / _sendingBytesWhole);
}
