using System.Buffers.Binary;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>
/// Finds the protocol that a server selects in its EncryptedExtensions, the first message of its Handshake level: OpenSSL refuses one that
/// was not offered with decode_error, or does not look. Malformed bytes hold none; OpenSSL refuses them. One thread.
/// </summary>
internal struct SelectedProtocolReader
{
    private const byte EncryptedExtensions = 8;
    private const int HeaderLength = 4;
    private const int BytesMax = 16 * 1024;

    private List<byte>? _message;
    private bool _isOver;

    /// <summary>Takes the next bytes of the level. True, once: the message is complete and has a protocol.</summary>
    public bool TryRead(ReadOnlySpan<byte> bytes, out byte[] protocol)
    {
        protocol = [];
        if (_isOver)
        {
            return false;
        }

        _message ??= [];
        _message.AddRange(bytes);
        if (_message.Count < HeaderLength)
        {
            return false;
        }

        int length = HeaderLength + ((_message[1] << 16) | (_message[2] << 8) | _message[3]);
        bool isOther = _message[0] != EncryptedExtensions || length > BytesMax;
        if (!isOther && _message.Count < length)
        {
            return false;
        }

        _isOver = true;
        protocol = isOther ? [] : Find(_message[HeaderLength..length].ToArray());
        _message = null;
        return protocol.Length > 0;
    }

    private static byte[] Find(ReadOnlySpan<byte> body)
    {
        const int ListHeaderLength = 3;
        for (ReadOnlySpan<byte> rest = body.Length < 2 ? [] : body[2..]; rest.Length >= HeaderLength;)
        {
            int length = BinaryPrimitives.ReadUInt16BigEndian(rest[2..]);
            if (length > rest.Length - HeaderLength)
            {
                break;
            }

            // RFC 7301, section 3.1: a list of one name.
            ReadOnlySpan<byte> content = rest.Slice(HeaderLength, length);
            if (BinaryPrimitives.ReadUInt16BigEndian(rest) == SslConstants.ExtensionProtocols)
            {
                return length > ListHeaderLength && content[2] == length - ListHeaderLength ? content[ListHeaderLength..].ToArray() : [];
            }

            rest = rest[(HeaderLength + length)..];
        }

        return [];
    }
}
