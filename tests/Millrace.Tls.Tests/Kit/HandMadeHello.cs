using System.Buffers.Binary;
using System.Security.Cryptography;

namespace Millrace.Tls.Tests.Kit;

/// <summary>A ClientHello (RFC 8446, section 4.1.2) with what no library would put in it.</summary>
internal sealed record HandMadeHello
{
    private const byte ClientHello = 1;
    private const byte HandshakeRecord = 22;

    /// <summary>SNI's; null for none.</summary>
    public byte[]? ServerName { get; init; }

    public byte[] Compressions { get; init; } = [0];

    /// <summary>TLS 1.3, with a key; otherwise TLS 1.2, where the certificate comes for all to read.</summary>
    public bool IsTls13 { get; init; }

    public bool AnnouncesEarlyData { get; init; }

    /// <summary>ALPN's list; null for none.</summary>
    public byte[]? Protocols { get; init; }

    /// <summary>QUIC's; null for none.</summary>
    public byte[]? TransportParameters { get; init; }

    public byte[] SessionId { get; init; } = [];

    /// <summary>Null for one that every server has.</summary>
    public byte[]? CipherSuites { get; init; }

    /// <summary>The message, its header included.</summary>
    public byte[] Message
    {
        get
        {
            byte[] extensions =
            [
                .. ServerName is null ? [] : Extension(0, Counted(2, [0, .. Counted(2, ServerName)])),
                .. Extension(10, Counted(2, [0, 29, 0, 23])),
                .. Extension(11, [1, 0]),
                .. Extension(13, Counted(2, [4, 3, 8, 4])),
                .. Protocols is null ? [] : Extension(16, Counted(2, Protocols)),
                .. TransportParameters is null ? [] : Extension(57, TransportParameters),
                .. AnnouncesEarlyData ? Extension(42, []) : [],
                .. IsTls13 ? Extension(43, [2, 3, 4]) : [],
                .. IsTls13 ? Extension(51, Counted(2, [0, 29, .. Counted(2, RandomNumberGenerator.GetBytes(32))])) : [],
            ];
            byte[] body =
            [
                3, 3, .. RandomNumberGenerator.GetBytes(32), .. Counted(1, SessionId),
                .. Counted(2, CipherSuites ?? (IsTls13 ? [0x13, 0x01] : [0xC0, 0x2B])),
                .. Counted(1, Compressions), .. Counted(2, extensions),
            ];
            return [ClientHello, .. Counted(3, body)];
        }
    }

    /// <summary>A message in records of so many bytes.</summary>
    public static byte[] InRecords(byte[] message, int recordBytes = 16_384) =>
        [.. message.Chunk(recordBytes).SelectMany(static part => (byte[])[HandshakeRecord, 3, 1, .. Counted(2, part)])];

    private static byte[] Extension(ushort type, byte[] content) => [(byte)(type >> 8), (byte)type, .. Counted(2, content)];

    private static byte[] Counted(int lengthBytes, byte[] content)
    {
        byte[] length = new byte[sizeof(int)];
        BinaryPrimitives.WriteInt32BigEndian(length, content.Length);
        return [.. length[^lengthBytes..], .. content];
    }
}
