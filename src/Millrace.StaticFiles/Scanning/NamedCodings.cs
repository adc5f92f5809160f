using System.Buffers;
using System.IO.Compression;
using Millrace.Http;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// The files that have the coding of their own names: <c>x.svgz</c> is an SVG in gzip, and if the site's options say so, <c>x.js.gz</c> is
/// a script in gzip. Not archives, and not what begins otherwise than data of the coding.
/// </summary>
internal sealed class NamedCodings(ContentTypes types, bool isOfAllNames)
{
    /// <summary>What tells data of a coding from other data.</summary>
    private const int StartBytes = 4096;

    /// <summary>The type of a file's content, decoded if it has a coding.</summary>
    public ContentType TypeOf(ReadOnlySpan<byte> name, int fd, out ContentCoding coding)
    {
        if (name.Length > 5 && Words.EqualsIgnoreCase(name[^5..], ".svgz"u8))
        {
            coding = BeginsAs(ContentCoding.Gzip, fd) ? ContentCoding.Gzip : ContentCoding.Identity;
            return types.Of(name);
        }

        if (isOfAllNames
            && PrecompressedSiblings.TryParse(name, out ReadOnlySpan<byte> inner, out coding)
            && inner.LastIndexOf((byte)'.') > 0)
        {
            ContentType type = types.Of(inner);
            if (type.Kind != ContentKind.Archive && BeginsAs(coding, fd))
            {
                return type;
            }
        }

        coding = ContentCoding.Identity;
        return types.Of(name);
    }

    private static bool BeginsAs(ContentCoding coding, int fd)
    {
        Span<byte> start = stackalloc byte[StartBytes];
        start = start[..Math.Max(0, FileContent.Read(fd, start))];
        return coding switch
        {
            ContentCoding.Gzip => start.StartsWith((ReadOnlySpan<byte>)[0x1f, 0x8b, 8]),
            ContentCoding.Zstd => start.StartsWith((ReadOnlySpan<byte>)[0x28, 0xb5, 0x2f, 0xfd]),
            _ => !start.IsEmpty && BeginsAsBrotli(start),
        };
    }

    /// <summary>It has no mark of its own, but other data is soon not valid, or is over before its stream ends.</summary>
    private static bool BeginsAsBrotli(ReadOnlySpan<byte> start)
    {
        using var decoder = new BrotliDecoder();
        Span<byte> room = stackalloc byte[1024];
        bool isWholeFile = start.Length < StartBytes;
        OperationStatus status;
        do
        {
            status = decoder.Decompress(start, room, out int consumed, out _);
            start = start[consumed..];
        }
        while (status == OperationStatus.DestinationTooSmall);
        return status == OperationStatus.Done || (status == OperationStatus.NeedMoreData && !isWholeFile);
    }
}
