namespace Millrace.Tls.Records;

/// <summary>
/// Counts received records by their headers (RFC 8446, section 5.1): OpenSSL reports only those with data.
/// </summary>
internal struct RecordCounter
{
    private const int HeaderBytes = 5;
    private const int LengthOffset = 3;

    /// <summary>The record types of TLS (change_cipher_spec, alert, handshake, application_data).</summary>
    private const byte FirstType = 20;
    private const byte LastType = 23;

    /// <summary>With the largest expansion that TLS 1.2 allows for encryption (RFC 5246, section 6.2.3).</summary>
    private const int RecordBytesMax = RecordSizes.Most + 2048;

    private int _headerBytes;
    private int _left;

    /// <summary>Whether no partial record was received.</summary>
    public readonly bool IsBetweenRecords => _headerBytes == 0;

    /// <summary>Counts on; returns how many records end in these bytes.</summary>
    public int Advance(ReadOnlySpan<byte> bytes)
    {
        int ended = 0;
        while (bytes.Length > 0)
        {
            if (_headerBytes < HeaderBytes)
            {
                _left = _headerBytes >= LengthOffset ? (_left << 8) | bytes[0] : 0;
                _headerBytes++;
                bytes = bytes[1..];
            }
            else
            {
                int count = Math.Min(_left, bytes.Length);
                _left -= count;
                bytes = bytes[count..];
            }

            if (_headerBytes == HeaderBytes && _left == 0)
            {
                _headerBytes = 0;
                ended++;
            }
        }

        return ended;
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
