namespace Millrace.Http;

/// <summary>
/// Reads the peer's decoder stream, RFC 9204 section 4.4, for an encoder without a dynamic table: its peer has nothing to acknowledge, and
/// may only cancel streams.
/// </summary>
internal struct QpackDecoderStreamReader
{
    /// <summary>The bytes of an incomplete instruction so far.</summary>
    private Incomplete _incomplete;
    private int _incompleteBytes;

    /// <summary>Takes all of some bytes. Returns the code of the connection's error, or None.</summary>
    public long Read(ReadOnlySpan<byte> bytes)
    {
        foreach (byte next in bytes)
        {
            _incomplete[_incompleteBytes++] = next;
            int at = 0;
            bool isCancellation = (_incomplete[0] & 0xC0) == 0x40;
            QpackResult result = QpackInteger.Read(_incomplete[.._incompleteBytes], prefixBits: 6, ref at, out _);
            if (!isCancellation || result is not (QpackResult.Ok or QpackResult.Truncated))
            {
                return Http3Error.QpackDecoderStreamError;
            }

            _incompleteBytes = result == QpackResult.Ok ? 0 : _incompleteBytes;
        }

        return Http3Error.None;
    }

    [System.Runtime.CompilerServices.InlineArray(QpackInteger.BytesMax)]
    private struct Incomplete
    {
        private byte _first;
    }
}
