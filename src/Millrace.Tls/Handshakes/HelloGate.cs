namespace Millrace.Tls.Handshakes;

/// <summary>
/// Looks at the first bytes of a connection, before OpenSSL does: whoever speaks HTTP is told so, and a ClientHello that says it is huge is
/// not waited for (OpenSSL would allocate all of it, up to 128 KiB, on the word of four bytes); nor is the second one, which a
/// HelloRetryRequest brings (RFC 8446, section 4.1.4). What may stand before either (warnings, empty records, early data, a
/// change_cipher_spec) is passed over.
/// </summary>
internal struct HelloGate
{
    /// <summary>
    /// Browsers' are below 2 KiB, with a key share of the post-quantum kind; a ticket with a client's certificate adds some.
    /// </summary>
    public const int HelloBytesMax = 32 * 1024;

    private const byte FirstRecordType = 20;
    private const byte HandshakeRecord = 22;
    private const byte LastRecordType = 23;
    private const byte ClientHello = 1;
    private const int RecordHeaderBytes = 5;
    private const int MessageHeaderBytes = 4;

    private byte _recordType;
    private int _recordHeader;
    private int _recordLeft;
    private int _messageHeader;
    private uint _message;
    private int _bodyLeft;
    private bool _hasBegun;
    private bool _hasHello;

    /// <summary>Looks at what comes next. Asked until it has decided.</summary>
    public HelloVerdict Look(ReadOnlySpan<byte> bytes)
    {
        var verdict = HelloVerdict.Undecided;
        while (bytes.Length > 0 && verdict == HelloVerdict.Undecided)
        {
            if (_recordHeader < RecordHeaderBytes)
            {
                verdict = LookAtRecordHeader(bytes[0]);
                bytes = bytes[1..];
            }
            else if (_recordType != HandshakeRecord || _bodyLeft > 0)
            {
                bytes = bytes[Skip(bytes.Length)..];
            }
            else
            {
                verdict = LookAtMessageHeader(bytes[0]);
                bytes = bytes[1..];
            }
        }

        return verdict;
    }

    private HelloVerdict LookAtRecordHeader(byte next)
    {
        if (!_hasBegun)
        {
            _hasBegun = true;
            if (char.IsAsciiLetter((char)next))
            {
                return HelloVerdict.PlainText;
            }

            if (next is < FirstRecordType or > LastRecordType)
            {
                // OpenSSL knows what to say to that.
                return HelloVerdict.Passed;
            }
        }

        if (_recordHeader == 0)
        {
            _recordType = next;
        }

        _recordLeft = (_recordLeft << 8 | next) & 0xFFFF;
        if (++_recordHeader == RecordHeaderBytes && _recordLeft == 0)
        {
            _recordHeader = 0;
        }

        return HelloVerdict.Undecided;
    }

    /// <summary>What is no header of a message, as far as it goes.</summary>
    private int Skip(int most)
    {
        int count = Math.Min(most, _recordLeft);
        if (_recordType == HandshakeRecord)
        {
            count = Math.Min(count, _bodyLeft);
            _bodyLeft -= count;
        }

        TakeOfRecord(count);
        return count;
    }

    private HelloVerdict LookAtMessageHeader(byte next)
    {
        TakeOfRecord(1);
        _message = _message << 8 | next;
        if (++_messageHeader < MessageHeaderBytes)
        {
            return HelloVerdict.Undecided;
        }

        int bytes = (int)(_message & 0xFFFFFF);
        if (_hasHello)
        {
            return _message >> 24 == ClientHello && bytes > HelloBytesMax ? HelloVerdict.TooLong : HelloVerdict.Passed;
        }

        _hasHello = true;
        _messageHeader = 0;
        _bodyLeft = bytes;
        return bytes > HelloBytesMax ? HelloVerdict.TooLong : HelloVerdict.Undecided;
    }

    private void TakeOfRecord(int count)
    {
        _recordLeft -= count;
        _recordHeader = _recordLeft == 0 ? 0 : _recordHeader;
    }
}

/// <summary>What the first bytes say.</summary>
internal enum HelloVerdict : byte
{
    /// <summary>Nothing is wrong so far.</summary>
    Undecided,

    /// <summary>Whether it is TLS is for OpenSSL to say.</summary>
    Passed,

    /// <summary>Letters: no record begins so, but a request does.</summary>
    PlainText,
    TooLong,
}
