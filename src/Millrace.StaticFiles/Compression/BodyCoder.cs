using System.Buffers;
using System.Diagnostics;
using System.IO.Compression;
using Millrace.Http;
using Millrace.Interop.Brotli;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Compresses a whole body, as well as possible, which takes seconds for the largest, or quickly. Deterministic, so that replicas of a site
/// agree on entity-tags.
/// </summary>
internal static unsafe class BodyCoder
{
    /// <summary>
    /// The smallest body that is compressed. Below, nothing is saved: body and head fit one packet, and a coding's framing takes some 20
    /// bytes.
    /// </summary>
    public const int BytesMin = 256;

    /// <summary>
    /// The largest body that is compressed. Beyond, the best coding takes longer than it is of use, and the memory is better spent
    /// elsewhere.
    /// </summary>
    public const int BytesMax = 8 * 1024 * 1024;

    /// <summary>The unit between cancellation checks: 64 KiB of brotli's best take some 60 ms, of zstd's 20 ms.</summary>
    private const int PieceBytes = 64 * 1024;

    /// <summary>How far gzip can write past the useful size before that is noticed: a piece, and the 64 KiB that deflate buffers.</summary>
    private const int OvershootBytes = 256 * 1024;

    /// <summary>The codings that bodies are made in. Without libzstd there is no zstd.</summary>
    public static ReadOnlySpan<ContentCoding> Codings => ZstdLibrary.TryLoad(out _)
        ? [ContentCoding.Brotli, ContentCoding.Zstd, ContentCoding.Gzip]
        : [ContentCoding.Brotli, ContentCoding.Gzip];

    private static readonly ZLibCompressionOptions BestGzip = new() { CompressionLevel = 9 };

    /// <summary>
    /// Of C# source 138 MB/s, to 27 % of it. Level 1 (238 MB/s) leaves 38 %, as zlib-ng codes with fixed trees then, and 9 (36 MB/s) 25 %.
    /// </summary>
    public static ZLibCompressionOptions QuickGzip { get; } = new() { CompressionLevel = 3 };

    /// <summary>
    /// The most bytes of a useful coded body: a tenth less than the body. Otherwise it costs memory, and clients time, for nothing.
    /// </summary>
    public static int CodedBytesMax(int bodyBytes) => bodyBytes - ((bodyBytes + 9) / 10);

    /// <summary>As well as possible. False if too little is gained, or it was cancelled.</summary>
    public static bool TryCode(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded) =>
        TryCode(body, coding, BestGzip, stop, out coded);

    /// <summary>With gzip, the largest body in some 60 ms. False if too little is gained, or it was cancelled.</summary>
    public static bool TryCodeQuickly(ReadOnlySpan<byte> body, ContentCoding coding, CancellationToken stop, out byte[] coded) =>
        TryCode(body, coding, QuickGzip, stop, out coded);

    private static bool TryCode(
        ReadOnlySpan<byte> body, ContentCoding coding, ZLibCompressionOptions gzip, CancellationToken stop, out byte[] coded)
    {
        Debug.Assert(body.Length is > 0 and <= BytesMax, "no coding of a larger one ends in time");

        // Native memory, as this is rare and large: an array of 8 MiB would stay until the next collection.
        int bufferBytes = CodedBytesMax(body.Length) + OvershootBytes;
        BodyMemory buffer = BodyMemory.Allocate(bufferBytes, mayHoldDescriptor: false);
        try
        {
            int written = coding switch
            {
                ContentCoding.Brotli => CodeBrotli(body, buffer.Body, stop),
                ContentCoding.Zstd => CodeZstd(body, buffer.Body, stop),
                ContentCoding.Gzip => CodeGzip(body, buffer.Address, bufferBytes, gzip, stop),
                _ => throw new ArgumentOutOfRangeException(nameof(coding), coding, "There is no encoder for it."),
            };
            bool isWorthIt = written > 0 && written <= CodedBytesMax(body.Length);
            coded = isWorthIt ? buffer.Body[..written].ToArray() : [];
            return isWorthIt;
        }
        finally
        {
            buffer.Release();
        }
    }

    /// <summary>
    /// The best quality that takes about a second. For C headers, 11 takes 1.2 s per MiB and gives a tenth less than 9, which takes 0.07 s;
    /// 10 is halfway in both.
    /// </summary>
    private static int BrotliQuality(int bodyBytes) => bodyBytes switch
    {
        <= 1024 * 1024 => 11,
        <= 4 * 1024 * 1024 => 10,
        _ => 9,
    };

    /// <summary>
    /// For scripts and their earlier versions, 11 gives a tenth less than zstd 19 in twice its time. Qualities up to 9 find little of a
    /// large dictionary: of 3.4 MB, 9 gives three times as much as 10.
    /// </summary>
    private static int DictionaryBrotliQuality(int bodyBytes) => bodyBytes <= 1024 * 1024 ? 11 : 10;

    /// <summary>
    /// The smallest window that the body fits in (RFC 7932, section 9.1), because the client allocates it; 4 MiB at most.
    /// </summary>
    private static int BrotliWindowBits(int bodyBytes)
    {
        int bits = 10;
        while (bits < 22 && (1 << bits) - 16 < bodyBytes)
        {
            bits++;
        }

        return bits;
    }

    /// <summary>
    /// For documents and scripts, 19 takes 0.4 s per MiB and is a sixteenth larger than brotli's best. For the largest sources, 17 takes
    /// 0.5 s per MiB and 40 MiB of memory, as much as brotli 9, and is a fourteenth smaller; 19 takes 75 MiB to save another seventieth.
    /// </summary>
    private static int ZstdLevel(int bodyBytes) => bodyBytes <= 1024 * 1024 ? 19 : 17;

    private static int CodeBrotli(ReadOnlySpan<byte> body, Span<byte> destination, CancellationToken stop)
    {
        using var encoder = new BrotliEncoder(BrotliQuality(body.Length), BrotliWindowBits(body.Length));
        return CodeInPieces(encoder.Compress, body, destination, stop);
    }

    private static int CodeZstd(ReadOnlySpan<byte> body, Span<byte> destination, CancellationToken stop)
    {
        if (!ZstdLibrary.TryLoad(out ZstdLibrary? library))
        {
            throw new InvalidOperationException($"There is no zstd: {ZstdLibrary.Problem}.");
        }

        return CodeZstd(library, body, dictionary: default, destination, stop);
    }

    /// <summary>
    /// Codes a body into one frame of zstd, which may refer to a dictionary. Returns its size; 0 if it does not fit, or was cancelled.
    /// </summary>
    public static int CodeZstd(
        ZstdLibrary library, ReadOnlySpan<byte> body, ReadOnlyMemory<byte> dictionary, Span<byte> destination, CancellationToken stop)
    {
        using var encoder = new ZstdEncoder(library, ZstdLevel(body.Length), body.Length, dictionary);
        return CodeInPieces(encoder.Compress, body, destination, stop);
    }

    /// <summary>
    /// Codes a body into a stream of brotli, which may refer to a dictionary. Returns its size; 0 if it does not fit, or was cancelled.
    /// </summary>
    public static int CodeBrotli(
        BrotliLibrary library, ReadOnlySpan<byte> body, ReadOnlyMemory<byte> dictionary, Span<byte> destination, CancellationToken stop)
    {
        using var encoder = new BrotliDictionaryEncoder(library, DictionaryBrotliQuality(body.Length), body.Length, dictionary);
        return CodeInPieces(encoder.Compress, body, destination, stop);
    }

    private static int CodeInPieces(EncodePiece encode, ReadOnlySpan<byte> body, Span<byte> destination, CancellationToken stop)
    {
        int written = 0;
        while (!stop.IsCancellationRequested)
        {
            ReadOnlySpan<byte> piece = body[..Math.Min(PieceBytes, body.Length)];
            bool isLast = piece.Length == body.Length;
            OperationStatus status = encode(piece, destination[written..], out int consumed, out int bytes, isLast);
            written += bytes;
            body = body[consumed..];
            if (status != OperationStatus.Done)
            {
                // The buffer is larger than any useful result.
                return 0;
            }

            if (isLast)
            {
                return written;
            }
        }

        return 0;
    }

    private delegate OperationStatus EncodePiece(
        ReadOnlySpan<byte> piece, Span<byte> destination, out int consumed, out int written, bool isLast);

    /// <summary>Deterministic, as GZipStream leaves the header's time at zero.</summary>
    private static int CodeGzip(
        ReadOnlySpan<byte> body, byte* buffer, int bufferBytes, ZLibCompressionOptions options, CancellationToken stop)
    {
        using var output = new UnmanagedMemoryStream(buffer, 0, bufferBytes, FileAccess.Write);
        using (var encoder = new GZipStream(output, options, leaveOpen: true))
        {
            while (!body.IsEmpty && output.Length <= bufferBytes - OvershootBytes && !stop.IsCancellationRequested)
            {
                ReadOnlySpan<byte> piece = body[..Math.Min(PieceBytes, body.Length)];
                encoder.Write(piece);
                body = body[piece.Length..];
            }
        }

        return body.IsEmpty ? (int)output.Length : 0;
    }
}
