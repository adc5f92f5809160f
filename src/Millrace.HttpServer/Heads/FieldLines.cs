using Millrace.Http;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Heads;

/// <summary>
/// The lines of a <see cref="FieldSet"/> in one coding. Its Content-Type is separate, because it replaces the asset's own.
/// </summary>
internal sealed class FieldLines
{
    private readonly byte[] _lines;
    private readonly byte[] _contentType;

    private FieldLines(byte[] lines, byte[] contentType)
    {
        _lines = lines;
        _contentType = contentType;
    }

    public ReadOnlySpan<byte> Lines => _lines;

    /// <summary>The line of a Content-Type that a rule sets; empty if there is none.</summary>
    public ReadOnlySpan<byte> ContentType => _contentType;

    /// <summary>Callable on any thread: two threads that race create two equal values, and one is dropped.</summary>
    public static FieldLines Of<TWriter>(FieldSet fields)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        object? cached = TWriter.Coding switch
        {
            HeadCoding.Http1 => fields.Http1Lines,
            HeadCoding.Hpack => fields.Http2Lines,
            _ => fields.Http3Lines,
        };
        if (cached is FieldLines made)
        {
            return made;
        }

        FieldLines lines = Make<TWriter>(fields);
        switch (TWriter.Coding)
        {
            case HeadCoding.Http1:
                fields.Http1Lines = lines;
                break;
            case HeadCoding.Hpack:
                fields.Http2Lines = lines;
                break;
            default:
                fields.Http3Lines = lines;
                break;
        }

        return lines;
    }

    private static FieldLines Make<TWriter>(FieldSet fields)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        var lines = new List<byte>();
        byte[] contentType = [];
        foreach (Field field in fields.Fields)
        {
            Span<byte> room = new byte[field.Name.Length + field.Value.Length + FieldBlockWriter.FieldOverheadBytesMax];
            TWriter writer = TWriter.Over(room);
            writer.Field(field.NameBytes, field.ValueBytes);
            ReadOnlySpan<byte> line = room[..writer.Written];
            if (field == fields.ContentType)
            {
                contentType = line.ToArray();
            }
            else
            {
                lines.AddRange(line);
            }
        }

        return new FieldLines([.. lines], contentType);
    }
}
