using System.Buffers.Binary;

namespace Millrace.Tls.Tests.Kit;

/// <summary>Reads a ClientHello message (RFC 8446, section 4.1.2).</summary>
internal static class HelloReader
{
    private const int HeaderAndRandomBytes = 4 + 2 + 32;

    /// <summary>The content of each extension, by its type.</summary>
    public static Dictionary<ushort, byte[]> ExtensionsOf(ReadOnlySpan<byte> message)
    {
        ReadOnlySpan<byte> rest = message[HeaderAndRandomBytes..];
        rest = rest[(1 + rest[0])..];
        rest = rest[(2 + BinaryPrimitives.ReadUInt16BigEndian(rest))..];
        rest = rest[(1 + rest[0])..];
        Assert.Equal(rest.Length - 2, BinaryPrimitives.ReadUInt16BigEndian(rest));
        rest = rest[2..];
        var extensions = new Dictionary<ushort, byte[]>();
        while (!rest.IsEmpty)
        {
            int length = BinaryPrimitives.ReadUInt16BigEndian(rest[2..]);
            extensions.Add(BinaryPrimitives.ReadUInt16BigEndian(rest), rest.Slice(4, length).ToArray());
            rest = rest[(4 + length)..];
        }

        return extensions;
    }
}
