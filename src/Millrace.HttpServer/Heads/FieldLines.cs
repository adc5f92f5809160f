using Millrace.Http;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Heads;

/// <summary>
/// The lines of a <see cref="FieldSet"/> in one coding. Its Content-Type is separate, because it replaces the asset's own.
/// </summary>
internal sealed class FieldLines
{
    /// <summary>The maximum size of a field in any coding, without its name and value.</summary>
    private const int BytesMaxBesides = 32;

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
        where TWriter : IHeadWriter, allows ref struct
    {
        bool isHttp1 = TWriter.Coding == HeadCoding.Http1;
        if ((isHttp1 ? fields.Http1Lines : fields.Http2Lines) is FieldLines made)
        {
            return made;
        }

        FieldLines lines = Make(fields, TWriter.Coding);
        if (isHttp1)
        {
            fields.Http1Lines = lines;
        }
        else
        {
            fields.Http2Lines = lines;
        }

        return lines;
    }

    private static FieldLines Make(FieldSet fields, HeadCoding coding)
    {
        var lines = new List<byte>();
        byte[] contentType = [];
        foreach (Field field in fields.Fields)
        {
            if (field == fields.ContentType)
            {
                contentType = LineOf(field, coding);
            }
            else
            {
                lines.AddRange(LineOf(field, coding));
            }
        }

        return new FieldLines([.. lines], contentType);
    }

    private static byte[] LineOf(Field field, HeadCoding coding)
    {
        byte[] room = new byte[field.Name.Length + field.Value.Length + BytesMaxBesides];
        if (coding == HeadCoding.Http1)
        {
            var writer = new ResponseHeadWriter(room);
            return LineOf(field, ref writer, room);
        }
        else
        {
            var writer = new FieldBlockWriter(room);
            return LineOf(field, ref writer, room);
        }
    }

    private static byte[] LineOf<TWriter>(Field field, ref TWriter writer, byte[] room)
        where TWriter : IHeadWriter, allows ref struct
    {
        writer.Field(field.NameBytes, field.ValueBytes);
        int bytes = writer.Written;
        return writer.Finish(out _) == ResponseHeadResult.Ok
            ? room[..bytes]
            : throw new InvalidOperationException($"The rule field {field.Name} cannot be written.");
    }
}
