using System.Buffers.Binary;
using System.Diagnostics;
using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Heads;

/// <summary>
/// The constant parts of an asset's response heads: status line of a 200, validators, Vary, Accept-Ranges, Content-Encoding, Content-Type,
/// Content-Length. Made on first use for each coding and cached with the asset as one array, with the offsets of the parts after the text:
/// a site of 200,000 files has as many of these arrays.
/// </summary>
internal readonly struct AssetHeadLines
{
    /// <summary>More than the text ever takes: its longest part is a content type.</summary>
    public const int BytesMax = 1024;

    private const int Starts = 6;
    private const int StartBytes = sizeof(ushort);

    private readonly byte[] _lines;

    private AssetHeadLines(byte[] lines) => _lines = lines;

    /// <summary>All parts: the start of a 200 response with the whole asset.</summary>
    public ReadOnlySpan<byte> Ok => Piece(0, TextBytes);

    /// <summary>ETag and Last-Modified.</summary>
    public ReadOnlySpan<byte> Validators => Piece(Start(0), Start(1));

    public ReadOnlySpan<byte> Vary => Piece(Start(1), Start(2));

    public ReadOnlySpan<byte> AcceptRanges => Piece(Start(2), Start(3));

    public ReadOnlySpan<byte> ContentEncoding => Piece(Start(3), Start(4));

    public ReadOnlySpan<byte> ContentType => Piece(Start(4), Start(5));

    private int TextBytes => _lines.Length - (Starts * StartBytes);

    public static AssetHeadLines Of<TWriter>(Asset asset)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        if (Cached<TWriter>(asset) is { } made)
        {
            return new AssetHeadLines(made);
        }

        byte[] lines = Make<TWriter>(asset);

        // Not cached for a file that is opened for each request: formatting takes a tenth of the time of the open.
        if (asset.Strategy == BodyStrategy.InMemory || asset.Descriptor != Asset.NoDescriptor)
        {
            Cache<TWriter>(asset, lines);
        }

        return new AssetHeadLines(lines);
    }

    private static byte[]? Cached<TWriter>(Asset asset)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        if (TWriter.Coding == HeadCoding.Http1)
        {
            return asset.Http1Fields as byte[];
        }

        var lines = asset.StreamFields as StreamHeadLines;
        return TWriter.Coding == HeadCoding.Hpack ? lines?.Hpack : lines?.Qpack;
    }

    private static void Cache<TWriter>(Asset asset, byte[] lines)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        if (TWriter.Coding == HeadCoding.Http1)
        {
            asset.Http1Fields = lines;
            return;
        }

        // A reactor that is overtaken by another one loses its lines, and makes them again.
        var present = asset.StreamFields as StreamHeadLines;
        asset.StreamFields = TWriter.Coding == HeadCoding.Hpack
            ? new StreamHeadLines(lines, present?.Qpack)
            : new StreamHeadLines(present?.Hpack, lines);
    }

    private static byte[] Make<TWriter>(Asset asset)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        Span<byte> room = stackalloc byte[BytesMax];
        TWriter writer = TWriter.Over(room);
        Span<ushort> starts = stackalloc ushort[Starts];
        writer.Status(200);
        starts[0] = (ushort)writer.Written;
        WriteValidators(ref writer, asset);
        starts[1] = (ushort)writer.Written;
        if (asset.IsNegotiable)
        {
            writer.Field("Vary"u8, asset.MayUseDictionary ? "Accept-Encoding, Available-Dictionary"u8 : "Accept-Encoding"u8);
        }

        starts[2] = (ushort)writer.Written;
        writer.Field("Accept-Ranges"u8, "bytes"u8);
        starts[3] = (ushort)writer.Written;
        if (asset.Coding != ContentCoding.Identity)
        {
            writer.Field("Content-Encoding"u8, ContentCodings.NameOf(asset.Coding));
        }

        starts[4] = (ushort)writer.Written;
        writer.Field("Content-Type"u8, asset.ContentType.Bytes);
        starts[5] = (ushort)writer.Written;
        writer.ContentLength(asset.Size);
        int textBytes = writer.Written;
        byte[] lines = new byte[textBytes + (Starts * StartBytes)];
        room[..textBytes].CopyTo(lines);
        for (int i = 0; i < Starts; i++)
        {
            BinaryPrimitives.WriteUInt16LittleEndian(lines.AsSpan(textBytes + (i * StartBytes)), starts[i]);
        }

        return lines;
    }

    private static void WriteValidators<TWriter>(ref TWriter writer, Asset asset)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        if (!asset.EntityTag.IsEmpty)
        {
            writer.Field("ETag"u8, asset.EntityTag);
        }

        if (asset.LastModified != Http.Validators.NoDate)
        {
            Span<byte> date = stackalloc byte[HttpDate.Bytes];
            bool written = HttpDate.TryWrite(asset.LastModified, date);
            Debug.Assert(written, "the snapshot has only dates that can be written");
            writer.Field("Last-Modified"u8, date);
        }
    }

    private int Start(int index) =>
        BinaryPrimitives.ReadUInt16LittleEndian(_lines.AsSpan(TextBytes + (index * StartBytes)));

    private ReadOnlySpan<byte> Piece(int start, int end) => _lines.AsSpan(start, end - start);
}

/// <summary>The lines of an asset for HTTP/2 and HTTP/3, null until first used. Immutable: any thread reads it.</summary>
internal sealed record StreamHeadLines(byte[]? Hpack, byte[]? Qpack);
