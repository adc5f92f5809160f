using System.Buffers.Binary;
using System.Text;

namespace Millrace.AspNetCore.Multiplexed.Tls;

/// <summary>What <see cref="ClientHelloName.Read"/> has found.</summary>
internal enum ClientHelloNameResult
{
    /// <summary>More bytes follow.</summary>
    Incomplete,

    /// <summary>The hello is complete. Whether it is valid in other respects, TLS decides.</summary>
    Complete,

    /// <summary>It is no ClientHello, or a larger one than clients send.</summary>
    Invalid,
}

/// <summary>Reads the host that a client asks for out of its ClientHello (RFC 8446, section 4.1.2; RFC 6066, section 3). Pure.</summary>
internal static class ClientHelloName
{
    /// <summary>Browsers' hellos are below 2 KiB, with a post-quantum key share.</summary>
    public const int HelloBytesMax = 32 * 1024;

    private const int HeaderBytes = 4;
    private const byte ClientHello = 1;
    private const int VersionAndRandomBytes = 34;
    private const ushort ServerNameExtension = 0;
    private const byte HostName = 0;

    /// <summary>Takes the handshake messages so far. The name is empty without one.</summary>
    public static ClientHelloNameResult Read(ReadOnlySpan<byte> message, out string name)
    {
        name = "";
        if (message.Length < HeaderBytes)
        {
            return ClientHelloNameResult.Incomplete;
        }

        int length = (int)(BinaryPrimitives.ReadUInt32BigEndian(message) & 0xFFFFFF);
        if (message[0] != ClientHello || length > HelloBytesMax || message.Length - HeaderBytes > length)
        {
            return ClientHelloNameResult.Invalid;
        }

        if (message.Length - HeaderBytes < length)
        {
            return ClientHelloNameResult.Incomplete;
        }

        var rest = new Reader(message[HeaderBytes..]);
        rest.Skip(VersionAndRandomBytes);
        rest.Take(1);
        rest.Take(2);
        rest.Take(1);
        var extensions = new Reader(rest.Take(2));
        while (!extensions.IsAtEnd && !rest.HasFailed && !extensions.HasFailed)
        {
            ushort type = extensions.TakeUInt16();
            ReadOnlySpan<byte> extension = extensions.Take(2);
            if (type == ServerNameExtension)
            {
                var list = new Reader(new Reader(extension).Take(2));
                if (list.TakeByte() == HostName)
                {
                    name = Encoding.ASCII.GetString(list.Take(2));
                }
            }
        }

        return rest.HasFailed || extensions.HasFailed ? ClientHelloNameResult.Invalid : ClientHelloNameResult.Complete;
    }

    /// <summary>Reads fields with their lengths before them. What is missing reads as empty, and is noted.</summary>
    private ref struct Reader(ReadOnlySpan<byte> bytes)
    {
        private ReadOnlySpan<byte> _rest = bytes;

        public bool HasFailed { get; private set; }

        public readonly bool IsAtEnd => _rest.IsEmpty;

        public ReadOnlySpan<byte> Skip(int count)
        {
            if (count > _rest.Length)
            {
                HasFailed = true;
                _rest = default;
                return default;
            }

            ReadOnlySpan<byte> skipped = _rest[..count];
            _rest = _rest[count..];
            return skipped;
        }

        public byte TakeByte() => Skip(1) is [var value] ? value : (byte)0;

        public ushort TakeUInt16() => Skip(2) is { Length: 2 } two ? BinaryPrimitives.ReadUInt16BigEndian(two) : (ushort)0;

        /// <summary>A field behind its length of one or two bytes.</summary>
        public ReadOnlySpan<byte> Take(int lengthBytes) => Skip(lengthBytes == 1 ? TakeByte() : TakeUInt16());
    }
}
