namespace Millrace.Tls.Records;

/// <summary>
/// Follows received records by their headers (RFC 8446, section 5.1), in pieces of any size: OpenSSL reports only those with data.
/// </summary>
internal struct RecordCounter
{
    private const int HeaderBytes = 5;
    private const int LengthOffset = 3;

    /// <summary>The record types of TLS (change_cipher_spec, alert, handshake, application_data).</summary>
    public const byte FirstType = 20;
    public const byte HandshakeType = 22;
    public const byte LastType = 23;

    /// <summary>With the largest expansion that TLS 1.2 allows for encryption (RFC 5246, section 6.2.3).</summary>
    private const int RecordBytesMax = RecordSizes.Most + 2048;

    private int _headerBytes;

    public byte Type { get; private set; }

    /// <summary>The bytes of its body that have not arrived; valid after its header.</summary>
    public int BodyLeft { get; private set; }

    public readonly bool IsInHeader => _headerBytes < HeaderBytes;

    /// <summary>Whether no partial record was received.</summary>
    public readonly bool IsBetweenRecords => _headerBytes == 0;

    /// <summary>Counts on; returns how many records end in these bytes.</summary>
    public int Advance(ReadOnlySpan<byte> bytes)
    {
        int ended = 0;
        while (bytes.Length > 0)
        {
            bytes = bytes[Take(bytes, int.MaxValue)..];
            ended += IsBetweenRecords ? 1 : 0;
        }

        return ended;
    }

    /// <summary>Takes one byte of a header, or at most so many of a body; returns how many.</summary>
    public int Take(ReadOnlySpan<byte> bytes, int bodyBytesMax)
    {
        int count = 1;
        if (IsInHeader)
        {
            Type = _headerBytes == 0 ? bytes[0] : Type;
            BodyLeft = _headerBytes >= LengthOffset ? (BodyLeft << 8) | bytes[0] : 0;
            _headerBytes++;
        }
        else
        {
            count = Math.Min(Math.Min(BodyLeft, bodyBytesMax), bytes.Length);
            BodyLeft -= count;
        }

        if (!IsInHeader && BodyLeft == 0)
        {
            _headerBytes = 0;
        }

        return count;
    }

    /// <summary>
    /// The length of the whole records at the start of these bytes. All of them if they do not begin with a record: OpenSSL then reports
    /// the error.
    /// </summary>
    public static int WholeBytes(ReadOnlySpan<byte> bytes)
    {
        int whole = 0;
        while (bytes.Length - whole >= HeaderBytes)
        {
            ReadOnlySpan<byte> header = bytes[whole..];
            int length = (header[LengthOffset] << 8) | header[LengthOffset + 1];
            if (header[0] is < FirstType or > LastType || length > RecordBytesMax)
            {
                return bytes.Length;
            }

            if (header.Length < HeaderBytes + length)
            {
                break;
            }

            whole += HeaderBytes + length;
        }

        return whole;
    }
}
