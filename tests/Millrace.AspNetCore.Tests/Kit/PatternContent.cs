using System.Net;
using System.Security.Cryptography;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>How a body says where it ends.</summary>
internal enum Framing
{
    Sized,
    Chunked,
}

/// <summary>A long body that no two places of are alike, sent in pieces of odd sizes.</summary>
internal sealed class PatternContent(long bodyBytes, Framing framing) : HttpContent
{
    private const int PieceBytesMax = 100_003;

    /// <summary>The SHA-256 of such a body.</summary>
    public static string HashOf(long bodyBytes)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (ReadOnlyMemory<byte> piece in Pieces(bodyBytes))
        {
            hash.AppendData(piece.Span);
        }

        return Convert.ToHexString(hash.GetHashAndReset());
    }

    /// <summary>Its pieces; each is overwritten by the next.</summary>
    public static IEnumerable<ReadOnlyMemory<byte>> Pieces(long bodyBytes)
    {
        byte[] piece = new byte[PieceBytesMax];
        uint state = 2463534242;
        for (long sent = 0; sent < bodyBytes;)
        {
            int bytes = (int)Math.Min(1 + (state % PieceBytesMax), bodyBytes - sent);
            for (int i = 0; i < bytes; i++)
            {
                // Xorshift: quick, and the same in every run.
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                piece[i] = (byte)state;
            }

            yield return piece.AsMemory(0, bytes);
            sent += bytes;
        }
    }

    /// <summary>The SHA-256 of whatever a stream has until its end.</summary>
    public static async Task<string> HashAsync(Stream stream)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        byte[] buffer = new byte[81_920];
        int read;
        while ((read = await stream.ReadAsync(buffer)) > 0)
        {
            hash.AppendData(buffer, 0, read);
        }

        return Convert.ToHexString(hash.GetHashAndReset());
    }

    protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context)
    {
        foreach (ReadOnlyMemory<byte> piece in Pieces(bodyBytes))
        {
            await stream.WriteAsync(piece);
        }
    }

    protected override bool TryComputeLength(out long length)
    {
        length = bodyBytes;
        return framing == Framing.Sized;
    }
}
