namespace Millrace.Tls.Handshakes;

/// <summary>
/// Looks at the first bytes of a connection, before OpenSSL does: whoever speaks HTTP is told so, and a ClientHello that says it is huge is
/// not waited for (OpenSSL would allocate all of it, up to 128 KiB, on the word of four bytes); nor is the second one, which a
/// HelloRetryRequest brings (RFC 8446, section 4.1.4).
/// </summary>
internal struct HelloGate
{
    /// <summary>
    /// Browsers' are below 2 KiB, with a key share of the post-quantum kind; a ticket with a client's certificate adds some.
    /// </summary>
    public const int HelloBytesMax = 32 * 1024;

    private const byte ChangeCipherSpecRecord = 20;
    private const byte HandshakeRecord = 22;
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
            else if (_recordType == ChangeCipherSpecRecord || _bodyLeft > 0)
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
        }

        if (_recordHeader == 0)
        {
            _recordType = next;
            if (next != HandshakeRecord && !(next == ChangeCipherSpecRecord && _hasHello))
            {
                // OpenSSL knows what to say to that.
                return HelloVerdict.Passed;
            }
        }

        _recordLeft = (_recordLeft << 8 | next) & 0xFFFF;

        // An empty record: none that OpenSSL accepts.
        return ++_recordHeader == RecordHeaderBytes && _recordLeft == 0 ? HelloVerdict.Passed : HelloVerdict.Undecided;
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
