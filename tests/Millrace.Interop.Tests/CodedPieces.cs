using System.Buffers;

namespace Millrace.Interop.Tests;

/// <summary>Contents through an encoder in pieces.</summary>
internal static class CodedPieces
{
    public delegate OperationStatus Compress(
        ReadOnlySpan<byte> content, Span<byte> destination, out int consumed, out int written, bool isLast);

    /// <summary>All that comes out for a content that goes in by pieces, into a room of that size.</summary>
    public static byte[] Encode(Compress compress, byte[] content, int pieceBytes, int roomBytes)
    {
        var output = new MemoryStream();
        byte[] room = new byte[roomBytes];
        int at = 0;
        while (true)
        {
            int take = Math.Min(pieceBytes, content.Length - at);
            bool isLast = at + take == content.Length;
            OperationStatus status = compress(content.AsSpan(at, take), room, out int consumed, out int written, isLast);
            at += consumed;
            output.Write(room, 0, written);
            if (status == OperationStatus.Done && isLast)
            {
                return output.ToArray();
            }
        }
    }
}
