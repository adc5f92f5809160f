using Millrace.Quic.Packets;

namespace Millrace.Quic.Protection;

/// <summary>
/// The keys of one direction at one encryption level (RFC 9001, section 5): authenticated encryption and header protection. The owner
/// disposes of it when the keys are discarded. One thread.
/// </summary>
internal abstract class PacketProtector : IDisposable
{
    public const int TagLength = 16;
    public const int SampleLength = 16;
    public const int MaskLength = 5;

    /// <summary>Packets that may be sealed with these keys before they must be updated (RFC 9001, section 6.6).</summary>
    public abstract long ConfidentialityLimit { get; }

    /// <summary>Packets that may fail to open, over all generations of keys, before the connection must end.</summary>
    public abstract long IntegrityLimit { get; }

    /// <summary>Encrypts in place. The last <see cref="TagLength"/> bytes of <paramref name="payloadAndTag"/> receive the tag.</summary>
    public abstract void Seal(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag);

    /// <summary>As the other overload, but reads these pieces of the payload where they are.</summary>
    public virtual void Seal(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag, PayloadPieces pieces)
    {
        pieces.CopyTo(payloadAndTag);
        Seal(packetNumber, header, payloadAndTag);
    }

    /// <summary>Decrypts in place, but for the tag. False: the bytes are not authentic, and their content is undefined.</summary>
    public abstract bool TryOpen(long packetNumber, ReadOnlySpan<byte> header, Span<byte> payloadAndTag);

    /// <summary>
    /// Makes now what the first <see cref="TryOpen"/> would make: without that its time would show that these keys are new (RFC 9001,
    /// section 6.3).
    /// </summary>
    public virtual void PrepareToOpen()
    {
    }

    /// <summary>The mask of header protection for a sample of the encrypted payload.</summary>
    public abstract void GetHeaderMask(ReadOnlySpan<byte> sample, Span<byte> mask);

    /// <summary>The keys of the next generation (RFC 9001, section 6), with the same key for headers. The caller owns them.</summary>
    public abstract PacketProtector Update();

    public abstract void Dispose();
}
