using System.Buffers.Binary;
using System.Diagnostics;
using System.Numerics;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// SHA-1 (FIPS 180-4, section 6.1) of a short message, for the handshake of WebSockets, where it protects nothing (RFC 6455, section 10.8).
/// .NET's needs OpenSSL, which may be missing where plain HTTP is served.
/// </summary>
internal static class Sha1
{
    public const int HashBytes = 20;

    /// <summary>What fits two blocks, with its end mark and its length.</summary>
    public const int MessageBytesMax = (2 * BlockBytes) - 9;

    private const int BlockBytes = 64;
    private const int Rounds = 80;

    public static void Hash(ReadOnlySpan<byte> message, Span<byte> hash)
    {
        Debug.Assert(message.Length <= MessageBytesMax && hash.Length >= HashBytes);
        Span<byte> padded = stackalloc byte[2 * BlockBytes];
        padded.Clear();
        message.CopyTo(padded);
        padded[message.Length] = 0x80;
        int bytes = message.Length + 9 <= BlockBytes ? BlockBytes : 2 * BlockBytes;
        BinaryPrimitives.WriteUInt64BigEndian(padded[(bytes - sizeof(ulong))..], (ulong)message.Length * 8);
        Span<uint> state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
        for (int at = 0; at < bytes; at += BlockBytes)
        {
            Add(padded.Slice(at, BlockBytes), state);
        }

        for (int i = 0; i < state.Length; i++)
        {
            BinaryPrimitives.WriteUInt32BigEndian(hash[(sizeof(uint) * i)..], state[i]);
        }
    }

    private static void Add(ReadOnlySpan<byte> block, Span<uint> state)
    {
        Span<uint> words = stackalloc uint[Rounds];
        for (int i = 0; i < Rounds; i++)
        {
            words[i] = i < BlockBytes / sizeof(uint)
                ? BinaryPrimitives.ReadUInt32BigEndian(block[(sizeof(uint) * i)..])
                : BitOperations.RotateLeft(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
        }

        (uint a, uint b, uint c, uint d, uint e) = (state[0], state[1], state[2], state[3], state[4]);
        for (int i = 0; i < Rounds; i++)
        {
            uint mixed = i switch
            {
                < 20 => ((b & c) | (~b & d)) + 0x5a827999,
                < 40 => (b ^ c ^ d) + 0x6ed9eba1,
                < 60 => ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc,
                _ => (b ^ c ^ d) + 0xca62c1d6,
            };
            (a, b, c, d, e) = (BitOperations.RotateLeft(a, 5) + mixed + e + words[i], a, BitOperations.RotateLeft(b, 30), c, d);
        }

        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
    }
}
