using System.Buffers;
using System.Diagnostics;
using System.IO.Compression;
using Millrace.Http;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Codes a whole body as small as it gets, at whatever it takes: seconds for the largest. The same body gives the same bytes, so that
/// replicas of a site agree on their entity-tags.
/// </summary>
internal static unsafe class BodyCoder
{
    /// <summary>
    /// What is compressed at least. Below, a coded body saves nothing: it all fits one packet with its head, and a coding's own frame takes
    /// some 20 bytes.
    /// </summary>
    public const int BytesMin = 256;

    /// <summary>
    /// What is compressed at most. The best coding of a larger file takes longer than it is of use, and its memory buys more
    /// elsewhere.
    /// </summary>
    public const int BytesMax = 8 * 1024 * 1024;

    /// <summary>A coding is stopped between two pieces: 64 KiB of brotli's best take some 60 ms.</summary>
    private const int PieceBytes = 64 * 1024;

    /// <summary>
    /// How far gzip can write past what is worth keeping before that is noticed: a piece, and the 64 KiB that deflate holds back.
    /// </summary>
    private const int OvershootBytes = 256 * 1024;

    /// <summary>What a coded body may have: a tenth less than the body. Otherwise it costs memory, and clients time, for nothing.</summary>
    public static int CodedBytesMax(int bodyBytes) => bodyBytes - ((bodyBytes + 9) / 10);

    /// <summary>False where too little is gained, or the coding was stopped.</summary>
    public static bool TryCode(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded)
    {
        Debug.Assert(body.Length is > 0 and <= BytesMax, "no coding of a larger one ends in time");

        // Native, for what is rarely needed and large: an array of 8 MiB would stay for as long as nothing makes the collector look.
        int roomBytes = CodedBytesMax(body.Length) + OvershootBytes;
        BodyMemory room = BodyMemory.Allocate(roomBytes, mayHoldDescriptor: false);
        try
        {
            int written = coding switch
            {
                ContentCoding.Brotli => CodeBrotli(body, room.Body, stop),
                ContentCoding.Gzip => CodeGzip(body, room.Address, roomBytes, stop),
                _ => throw new ArgumentOutOfRangeException(nameof(coding), coding, "There is no encoder for it."),
            };
            bool isWorthIt = written > 0 && written <= CodedBytesMax(body.Length);
            coded = isWorthIt ? room.Body[..written].ToArray() : [];
            return isWorthIt;
        }
        finally
        {
            room.Release();
        }
    }

    /// <summary>
    /// Of C headers, 11 takes 1.2 s a MiB and is a tenth smaller than 9, which takes 0.07 s; 10 is halfway in both. So the best is for
    /// bodies it takes a second for.
    /// </summary>
    private static int BrotliQuality(int bodyBytes) => bodyBytes switch
    {
        <= 1024 * 1024 => 11,
        <= 4 * 1024 * 1024 => 10,
        _ => 9,
    };

    /// <summary>The smallest window that the body fits in (RFC 7932, section 9.1), for its memory is the client's; 4 MiB at most.</summary>
    private static int BrotliWindowBits(int bodyBytes)
    {
        int bits = 10;
        while (bits < 22 && (1 << bits) - 16 < bodyBytes)
        {
            bits++;
        }

        return bits;
    }

    private static int CodeBrotli(ReadOnlySpan<byte> body, Span<byte> destination, CancellationToken stop)
    {
        using var encoder = new BrotliEncoder(BrotliQuality(body.Length), BrotliWindowBits(body.Length));
        int written = 0;
        while (!stop.IsCancellationRequested)
        {
            ReadOnlySpan<byte> piece = body[..Math.Min(PieceBytes, body.Length)];
            bool isLast = piece.Length == body.Length;
            OperationStatus status = encoder.Compress(piece, destination[written..], out int consumed, out int bytes, isLast);
            written += bytes;
            body = body[consumed..];
            if (status != OperationStatus.Done)
            {
                // The room is more than what is worth keeping.
                return 0;
            }

            if (isLast)
            {
                return written;
            }
        }

        return 0;
    }

    /// <summary>GZipStream leaves the header's time at zero: nothing but the body decides the bytes.</summary>
    private static int CodeGzip(ReadOnlySpan<byte> body, byte* room, int roomBytes, CancellationToken stop)
    {
        using var output = new UnmanagedMemoryStream(room, 0, roomBytes, FileAccess.Write);
        using (var encoder = new GZipStream(output, CompressionLevel.SmallestSize, leaveOpen: true))
        {
            while (!body.IsEmpty && output.Length <= roomBytes - OvershootBytes && !stop.IsCancellationRequested)
            {
                ReadOnlySpan<byte> piece = body[..Math.Min(PieceBytes, body.Length)];
                encoder.Write(piece);
                body = body[piece.Length..];
            }
        }

        return body.IsEmpty ? (int)output.Length : 0;
    }
}
