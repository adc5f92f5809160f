using Millrace.Quic.Protection;

namespace Millrace.Quic.Packets;

/// <summary>
/// Stateless resets (RFC 9000, section 10.3): what an end answers to packets of a connection that it does not know, if its id was its own.
/// They look like 1-RTT packets.
/// </summary>
internal static class StatelessReset
{
    public const int TokenLength = 16;

    /// <summary>38 unpredictable bits and the token.</summary>
    public const int MinimumLength = 5 + TokenLength;

    /// <summary>Long enough to look like a packet to any id; a longer one gains nothing.</summary>
    public const int MaximumLength = 43;

    /// <summary>
    /// Writes a reset that is shorter than the datagram that caused it, so that two ends do not answer each other for ever (section
    /// 10.3.3). Gives its length; 0: the cause was too short to answer.
    /// </summary>
    public static int Write(Span<byte> buffer, int causeLength, ReadOnlySpan<byte> token, QuicCryptography cryptography)
    {
        int length = Math.Min(Math.Min(causeLength - 1, MaximumLength), buffer.Length);
        if (length < MinimumLength)
        {
            return 0;
        }

        cryptography.FillRandom(buffer[..(length - TokenLength)]);
        buffer[0] = (byte)((buffer[0] & 0x3F) | 0x40);
        token[..TokenLength].CopyTo(buffer[(length - TokenLength)..]);
        return length;
    }

    /// <summary>
    /// Whether a datagram that could not be opened ends with a token that the peer gave for the id in use (section 10.3.1), whatever its
    /// first bits are.
    /// </summary>
    public static bool IsReset(ReadOnlySpan<byte> datagram, ReadOnlySpan<byte> token)
        => datagram.Length >= MinimumLength && FixedTime.AreEqual(datagram[^TokenLength..], token);
}
