using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>
/// Several ranges of one file as multipart/byteranges (RFC 9110, section 14.6), the length of the whole known before the first byte. Rare
/// (zsync, some PDF readers), so it allocates.
/// </summary>
internal sealed class MultipartBody
{
    private static ReadOnlySpan<byte> TypePrefix => "multipart/byteranges; boundary="u8;

    private readonly ByteRange[] _ranges;
    private readonly byte[][] _heads;
    private readonly byte[] _end;

    public MultipartBody(ReadOnlySpan<ByteRange> ranges, long size, ReadOnlySpan<byte> partType, ReadOnlySpan<byte> boundary)
    {
        _ranges = ranges.ToArray();
        _heads = new byte[ranges.Length][];
        _end = Encoding.Latin1.GetBytes($"\r\n--{Encoding.Latin1.GetString(boundary)}--\r\n");
        ContentType = [.. TypePrefix, .. boundary];
        Bytes = _end.Length;
        for (int i = 0; i < ranges.Length; i++)
        {
            _heads[i] = Head(ranges[i], size, partType, boundary);
            Bytes += _heads[i].Length + ranges[i].Length;
        }
    }

    /// <summary>The value of the answer's Content-Type.</summary>
    public byte[] ContentType { get; }

    /// <summary>The length of the whole body.</summary>
    public long Bytes { get; }

    public async ValueTask<bool> SendAsync(Connection connection, BodySource source)
    {
        try
        {
            for (int i = 0; i < _ranges.Length; i++)
            {
                connection.Write(_heads[i]);
                if (!await SendPartAsync(connection, source, _ranges[i]))
                {
                    return false;
                }
            }

            connection.Write(_end);
            return true;
        }
        finally
        {
            source.Close();
        }
    }

    private static ValueTask<bool> SendPartAsync(Connection connection, BodySource source, ByteRange range)
    {
        if (source.Asset.Strategy != BodyStrategy.Baked)
        {
            return StreamBody.SendPartAsync(connection, source, range.First, range.Length);
        }

        // Small by definition, and copied: then nothing needs to be kept until it is sent.
        connection.Write(source.Asset.BakedBody.Slice((int)range.First, (int)range.Length));
        return new ValueTask<bool>(true);
    }

    private static byte[] Head(ByteRange range, long size, ReadOnlySpan<byte> partType, ReadOnlySpan<byte> boundary)
    {
        Span<byte> contentRange = stackalloc byte[ContentRange.MaxBytes];
        int contentRangeBytes = ContentRange.Write(contentRange, range, size);
        return
        [
            // Also before the first: zsync finds no boundary without it, and nginx and Apache send it.
            .. "\r\n--"u8,
            .. boundary,
            .. "\r\nContent-Type: "u8,
            .. partType,
            .. "\r\nContent-Range: "u8,
            .. contentRange[..contentRangeBytes],
            .. "\r\n\r\n"u8,
        ];
    }
}
