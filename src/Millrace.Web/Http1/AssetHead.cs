using System.Buffers.Text;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Http1;

/// <summary>
/// The part of an asset's answer that is the same every time: status line and fields without Date and Connection. Made on
/// first use and kept with the asset. Content-Length stands last, so that its digits can be found again from the end.
/// </summary>
internal static class AssetHead
{
    public static byte[] Of(Asset asset)
    {
        if (asset.Http1Fields is byte[] made)
        {
            return made;
        }

        byte[] lines = Make(asset);
        asset.Http1Fields = lines;
        return lines;
    }

    /// <summary>
    /// Puts another length into a head that was written already: a file may have shrunk between the catalogue and the read. Right-aligned, as a
    /// field's value may have spaces before it (RFC 9112, 5.1); a longer one would not fit, but nothing longer is ever read.
    /// </summary>
    public static void PatchLength(Span<byte> lines, long length)
    {
        Span<byte> value = lines[(lines.LastIndexOf((byte)':') + 1)..^2];
        Span<byte> digits = stackalloc byte[20];
        _ = Utf8Formatter.TryFormat(length, digits, out int count);
        value.Fill((byte)' ');
        digits[..count].CopyTo(value[^count..]);
    }

    private static byte[] Make(Asset asset)
    {
        ReadOnlySpan<byte> type = asset.ContentType.Value;
        ReadOnlySpan<byte> statusLine = StatusLine.Of(200);
        Span<byte> room = new byte[
            statusLine.Length + ResponseHeadWriter.FieldBytes("Content-Type"u8, type) + ResponseHeadWriter.ContentLengthBytesMax + ResponseHeadWriter.EndBytes];
        var writer = new ResponseHeadWriter(room);
        writer.StatusLine(200);
        writer.Field("Content-Type"u8, type);
        writer.ContentLength(asset.Size);
        ResponseHeadResult result = writer.Finish(out int bytes);
        return result == ResponseHeadResult.Ok
            ? room[..(bytes - ResponseHeadWriter.EndBytes)].ToArray()
            : throw new InvalidOperationException($"The head of an asset cannot be written: {result}.");
    }
}
