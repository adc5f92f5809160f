using System.Security.Cryptography;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>Reads the frames of a message of HTTP/3 from any pieces: the content is counted and hashed, all else is skipped.</summary>
internal sealed class MessageReader : IDisposable
{
    private readonly IncrementalHash _hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
    private readonly List<byte> _header = [];
    private long _type;
    private long _left;

    /// <summary>Bytes of content.</summary>
    public long Length { get; private set; }

    public int HeaderFrames { get; private set; }

    /// <summary>SHA-256 of the content, in hexadecimal digits.</summary>
    public string Hash => Convert.ToHexString(_hash.GetCurrentHash());

    public void Read(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            if (_left > 0)
            {
                int count = (int)Math.Min(_left, bytes.Length);
                if (_type == Http3Text.Data)
                {
                    _hash.AppendData(bytes[..count]);
                    Length += count;
                }

                _left -= count;
                bytes = bytes[count..];
                continue;
            }

            _header.Add(bytes[0]);
            bytes = bytes[1..];
            if (TryParse(0, out _type, out int typeLength) && TryParse(typeLength, out _left, out _))
            {
                HeaderFrames += _type == Http3Text.Headers ? 1 : 0;
                _header.Clear();
            }
        }
    }

    public void Dispose() => _hash.Dispose();

    private bool TryParse(int at, out long value, out int length)
    {
        (value, length) = (0, 0);
        if (at >= _header.Count)
        {
            return false;
        }

        length = 1 << (_header[at] >> 6);
        if (at + length > _header.Count)
        {
            return false;
        }

        value = _header[at] & 0x3F;
        for (int i = 1; i < length; i++)
        {
            value = value << 8 | _header[at + i];
        }

        return true;
    }
}
