using System.Security.Cryptography;
using Millrace.Quic.Streams;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>Writes a head and content of a pattern to a stream, as there is room, and ends it.</summary>
internal sealed class MessageWriter(byte[] head, long length)
{
    private readonly byte[] _head = [.. head, .. length > 0 ? Http3Text.DataFrame(length) : []];
    private int _headSent;
    private long _sent;

    public static string HashOf(long length)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        byte[] piece = new byte[64 * 1024];
        for (long at = 0; at < length; at += piece.Length)
        {
            Fill(piece, at);
            hash.AppendData(piece.AsSpan(0, (int)Math.Min(piece.Length, length - at)));
        }

        return Convert.ToHexString(hash.GetCurrentHash());
    }

    public static void WriteFile(string path, long length)
    {
        using FileStream file = File.Create(path);
        byte[] piece = new byte[64 * 1024];
        for (long at = 0; at < length; at += piece.Length)
        {
            Fill(piece, at);
            file.Write(piece.AsSpan(0, (int)Math.Min(piece.Length, length - at)));
        }
    }

    public void Write(QuicStream stream)
    {
        _headSent += stream.Write(_head.AsSpan(_headSent));
        if (_headSent < _head.Length)
        {
            return;
        }

        while (_sent < length)
        {
            Span<byte> room = stream.GetSpan();
            if (room.IsEmpty)
            {
                return;
            }

            room = room[..(int)Math.Min(room.Length, length - _sent)];
            Fill(room, _sent);
            stream.Advance(room.Length);
            _sent += room.Length;
        }

        stream.Finish();
    }

    /// <summary>No two blocks of it are alike.</summary>
    private static void Fill(Span<byte> bytes, long offset)
    {
        for (int i = 0; i < bytes.Length; i++)
        {
            ulong at = (ulong)(offset + i);
            bytes[i] = (byte)(((at >> 3) * 0x9E3779B97F4A7C15) >> (int)(56 - ((at & 7) * 2)));
        }
    }
}
