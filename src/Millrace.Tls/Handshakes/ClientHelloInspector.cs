using System.Text;
using Millrace.Tls.Records;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// Inspects the first bytes of a connection before OpenSSL does. Plain HTTP gets a response. A ClientHello that announces a huge length is
/// refused at once (OpenSSL would allocate all of it, up to 128 KiB, for four bytes), and so is a second one, after a HelloRetryRequest
/// (RFC 8446, section 4.1.4). Records that may precede either (warnings, empty records, early data, a change_cipher_spec) are skipped.
/// </summary>
internal struct ClientHelloInspector
{
    /// <summary>
    /// Browsers' hellos are below 2 KiB, with a post-quantum key share; a ticket with a client's certificate adds some.
    /// </summary>
    public const int HelloBytesMax = 32 * 1024;

    private const byte ClientHello = 1;
    private const int MessageHeaderBytes = 4;

    /// <summary>Records that may stand before a hello: OpenSSL refuses about as many.</summary>
    private const int OthersBeforeMax = 32;

    private const string PlainHttpText = "This port speaks HTTPS: write https:// in front of the address.\n";

    private static readonly byte[] PlainHttpBytes = Encoding.ASCII.GetBytes(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        + $"Content-Length: {PlainHttpText.Length}\r\nConnection: close\r\n\r\n{PlainHttpText}");

    private RecordCounter _records;
    private byte _othersBefore;
    private int _messageHeader;
    private uint _message;
    private int _bodyLeft;
    private bool _hasBegun;
    private bool _hasHello;

    /// <summary>The response to a client that sends HTTP to a TLS port: it could not read an alert.</summary>
    public static ReadOnlySpan<byte> PlainHttpResponse => PlainHttpBytes;

    /// <summary>Whether the first message, in TLS the ClientHello, is complete.</summary>
    public readonly bool HasWholeHello => _hasHello && _bodyLeft == 0;

    /// <summary>Inspects the next bytes. Called until it has decided.</summary>
    public ClientHelloResult Inspect(ReadOnlySpan<byte> bytes)
    {
        var result = ClientHelloResult.Undecided;
        while (bytes.Length > 0 && result == ClientHelloResult.Undecided)
        {
            byte next = bytes[0];
            bool isHeader = _records.IsInHeader;
            bool isHandshake = !isHeader && _records.Type == RecordCounter.HandshakeType;
            bool isMessageHeader = isHandshake && _bodyLeft == 0;
            int taken = _records.Take(bytes, isMessageHeader ? 1 : isHandshake ? _bodyLeft : int.MaxValue);
            bytes = bytes[taken..];
            if (isHeader)
            {
                result = InspectRecordHeader(next);
            }
            else if (isMessageHeader)
            {
                result = InspectMessageHeader(next);
            }
            else if (isHandshake)
            {
                _bodyLeft -= taken;
            }
        }

        return result;
    }

    private ClientHelloResult InspectRecordHeader(byte next)
    {
        if (!_hasBegun)
        {
            _hasBegun = true;
            if (char.IsAsciiLetter((char)next))
            {
                return ClientHelloResult.PlainText;
            }

            if (next is < RecordCounter.FirstType or > RecordCounter.LastType)
            {
                // OpenSSL sends the alert.
                return ClientHelloResult.Passed;
            }
        }

        if (_records.IsInHeader && !_records.IsBetweenRecords)
        {
            return ClientHelloResult.Undecided;
        }

        bool isOfHello = _records.Type == RecordCounter.HandshakeType && _records.BodyLeft > 0;
        return !_hasHello && !isOfHello && ++_othersBefore > OthersBeforeMax ? ClientHelloResult.Passed : ClientHelloResult.Undecided;
    }

    private ClientHelloResult InspectMessageHeader(byte next)
    {
        _message = _message << 8 | next;
        if (++_messageHeader < MessageHeaderBytes)
        {
            return ClientHelloResult.Undecided;
        }

        int bytes = (int)(_message & 0xFFFFFF);
        if (_hasHello)
        {
            return _message >> 24 == ClientHello && bytes > HelloBytesMax ? ClientHelloResult.TooLong : ClientHelloResult.Passed;
        }

        _hasHello = true;
        _messageHeader = 0;
        _bodyLeft = bytes;
        return bytes > HelloBytesMax ? ClientHelloResult.TooLong : ClientHelloResult.Undecided;
    }
}

/// <summary>The result of the inspection so far.</summary>
internal enum ClientHelloResult : byte
{
    Undecided,

    /// <summary>OpenSSL decides whether it is TLS.</summary>
    Passed,

    /// <summary>Letters: a request begins like this, a record does not.</summary>
    PlainText,
    TooLong,
}
