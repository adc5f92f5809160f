using System.Buffers.Binary;
using System.Text;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>HTTP/3 (RFC 9114) as far as these tests need it: frames, and field sections of QPACK's static table (RFC 9204).</summary>
internal static class Http3Text
{
    public const byte Data = 0;
    public const byte Headers = 1;

    /// <summary>The type of a control stream, and an empty SETTINGS frame.</summary>
    public static readonly byte[] Control = [0, 4, 0];

    /// <summary>:status 200.</summary>
    public static readonly byte[] Success = [Headers, 3, 0, 0, 0xC0 | 25];

    /// <summary>:method, :scheme https, :authority, :path.</summary>
    public static byte[] Request(string path, bool hasBody)
    {
        byte[] fields =
        [
            0, 0, (byte)(0xC0 | (hasBody ? 20 : 17)), 0xC0 | 23, 0x50, .. Counted("localhost"), 0x51, .. Counted(path),
        ];
        return [Headers, (byte)fields.Length, .. fields];
    }

    /// <summary>The beginning of a DATA frame.</summary>
    public static byte[] DataFrame(long length)
    {
        byte[] frame = new byte[9];
        BinaryPrimitives.WriteInt64BigEndian(frame.AsSpan(1), length | (3L << 62));
        return frame;
    }

    private static byte[] Counted(string text) => [(byte)text.Length, .. Encoding.ASCII.GetBytes(text)];
}
