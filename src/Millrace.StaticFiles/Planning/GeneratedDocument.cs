using System.Diagnostics;
using System.IO.Compression;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// A body that the server generated, whole in memory and in one content coding: a directory's listing, or the page of an error. Immutable;
/// any thread.
/// </summary>
internal sealed class GeneratedDocument
{
    /// <summary>Half the time of the best quality for text of this kind, and nearly as small.</summary>
    private const int BrotliQuality = 5;

    private const int BrotliWindowBits = 22;

    private readonly byte[] _entityTag;

    private GeneratedDocument(byte[] bytes, byte[] contentType, byte[] entityTag, ContentCoding coding)
    {
        Bytes = bytes;
        ContentType = contentType;
        _entityTag = entityTag;
        Coding = coding;
    }

    /// <summary>The codings that a document can be made in.</summary>
    public static CodingSet Codings => CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli;

    /// <summary>As sent: coded.</summary>
    public byte[] Bytes { get; }

    public byte[] ContentType { get; }

    public ContentCoding Coding { get; }

    /// <summary>As in the field, with quotes; another one for each coding. Empty if there is none.</summary>
    public ReadOnlySpan<byte> EntityTag => _entityTag;

    /// <summary>Without a validator, as the page of an error: conditions do not apply to it.</summary>
    public static GeneratedDocument WithoutTag(byte[] bytes, byte[] contentType) => new(bytes, contentType, [], ContentCoding.Identity);

    public static GeneratedDocument WithTag(byte[] bytes, byte[] contentType) =>
        new(bytes, contentType, TagOf(bytes), ContentCoding.Identity);

    /// <summary>
    /// The same in a coding: itself if that saves nothing. A listing of 1,000 names takes some milliseconds.
    /// </summary>
    public GeneratedDocument CodedAs(ContentCoding coding)
    {
        Debug.Assert(Coding == ContentCoding.Identity, "it is coded once");
        byte[]? coded = coding switch
        {
            ContentCoding.Identity => null,
            ContentCoding.Brotli => CodeBrotli(),
            ContentCoding.Gzip => CodeGzip(),
            _ => throw new ArgumentOutOfRangeException(nameof(coding), coding, "There is no encoder for it."),
        };
        return coded is null || coded.Length >= Bytes.Length ? this
            : new GeneratedDocument(coded, ContentType, _entityTag.Length == 0 ? [] : TagOf(coded), coding);
    }

    private static byte[] TagOf(byte[] bytes) => Encoding.ASCII.GetBytes($"\"{ContentDigest.Of(bytes):x32}\"");

    private byte[]? CodeBrotli()
    {
        byte[] room = new byte[Bytes.Length];
        return BrotliEncoder.TryCompress(Bytes, room, out int written, BrotliQuality, BrotliWindowBits) ? room[..written] : null;
    }

    /// <summary>Deterministic, as GZipStream leaves the header's time at zero.</summary>
    private byte[] CodeGzip()
    {
        using var output = new MemoryStream();
        using (var encoder = new GZipStream(output, CompressionLevel.Optimal))
        {
            encoder.Write(Bytes);
        }

        return output.ToArray();
    }
}
