using System.Buffers.Text;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Content;

namespace Millrace.Web.Http1;

/// <summary>
/// The part of an asset's answer that is the same every time: status line and fields without Date and Connection. Made on
/// first use and kept with the asset. Content-Length stands last, so that its digits can be found again from the end.
/// </summary>
internal static class AssetHead
{
    /// <param name="asset">What is answered with.</param>
    /// <param name="size">The body's length; of a file opened on demand it may differ from the asset's, and is then not kept.</param>
    public static byte[] Of(Asset asset, long size)
    {
        if (size != asset.Size)
        {
            return Make(asset.ContentType, size);
        }

        if (asset.Http1Fields is byte[] made)
        {
            return made;
        }

        byte[] lines = Make(asset.ContentType, size);
        asset.Http1Fields = lines;
        return lines;
    }

    /// <summary>
    /// Puts another length into a head that was written already: a file may have shrunk between the catalogue and the read.
    /// Right-aligned, as a field's value may have spaces before it (RFC 9112, 5.1); a longer one would not fit, but nothing
    /// longer is ever read.
    /// </summary>
    public static void PatchLength(Span<byte> lines, long length)
    {
        Span<byte> value = lines[(lines.LastIndexOf((byte)':') + 1)..^2];
        Span<byte> digits = stackalloc byte[20];
        _ = Utf8Formatter.TryFormat(length, digits, out int count);
        value.Fill((byte)' ');
        digits[..count].CopyTo(value[^count..]);
    }

    private static byte[] Make(ContentType contentType, long size)
    {
        ReadOnlySpan<byte> type = contentType.Bytes;
        ReadOnlySpan<byte> statusLine = StatusLine.Of(200);
        int bytesMax = statusLine.Length + ResponseHeadWriter.FieldBytes("Content-Type"u8, type)
            + ResponseHeadWriter.ContentLengthBytesMax + ResponseHeadWriter.EndBytes;
        Span<byte> room = new byte[bytesMax];
        var writer = new ResponseHeadWriter(room);
        writer.StatusLine(200);
        writer.Field("Content-Type"u8, type);
        writer.ContentLength(size);
        ResponseHeadResult result = writer.Finish(out int bytes);
        return result == ResponseHeadResult.Ok
            ? room[..(bytes - ResponseHeadWriter.EndBytes)].ToArray()
            : throw new InvalidOperationException($"The head of an asset cannot be written: {result}.");
    }
}
