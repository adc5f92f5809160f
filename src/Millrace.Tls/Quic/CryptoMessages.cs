using Millrace.Quic.Protection;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// Follows the handshake messages that a CRYPTO stream brings, before OpenSSL has them. It refuses what OpenSSL would take: a KeyUpdate,
/// which QUIC forbids, and a huge ClientHello, for whose first four bytes OpenSSL would allocate all of it.
/// </summary>
internal struct CryptoMessages
{
    private const byte ClientHello = 1;
    private const byte KeyUpdate = 24;
    private const int HeaderLength = 4;

    private int _headerLength;
    private uint _header;
    private int _bodyLeft;

    /// <summary>Takes the next bytes. Returns the alert to refuse them with, and why; 0 for none.</summary>
    public int Advance(EncryptionLevel level, ReadOnlySpan<byte> bytes, out string reason)
    {
        reason = "";
        while (!bytes.IsEmpty)
        {
            if (_bodyLeft > 0)
            {
                int taken = Math.Min(_bodyLeft, bytes.Length);
                _bodyLeft -= taken;
                bytes = bytes[taken..];
                continue;
            }

            _header = _header << 8 | bytes[0];
            bytes = bytes[1..];
            if (++_headerLength < HeaderLength)
            {
                continue;
            }

            _headerLength = 0;
            _bodyLeft = (int)(_header & 0xFFFFFF);
            if (Refuse((byte)(_header >> 24), level, out reason) is int alert and not 0)
            {
                return alert;
            }
        }

        return 0;
    }

    private readonly int Refuse(byte type, EncryptionLevel level, out string reason)
    {
        reason = "";
        if (type == KeyUpdate)
        {
            // RFC 9001, section 6.
            reason = "a KeyUpdate of TLS";
            return SslConstants.AlertUnexpectedMessage;
        }

        if (level == EncryptionLevel.Initial && type == ClientHello && _bodyLeft > ClientHelloInspector.HelloBytesMax)
        {
            reason = "its ClientHello is too long";
            return SslConstants.AlertIllegalParameter;
        }

        return 0;
    }
}
