using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// Writes the head of an upstream's response for the client, in both codings. The caller adds what is about the message between this server
/// and the client: the framing, Connection, and the Date if the upstream sent none.
/// </summary>
/// <param name="head">The upstream's head.</param>
/// <param name="bytes">What it was parsed from.</param>
/// <param name="fields">The operator's own fields, which replace those of the same name.</param>
internal readonly ref struct ProxyResponseHead(ResponseHead head, ReadOnlySpan<byte> bytes, FieldSet fields)
{
    /// <summary>Status line, framing, Connection, Date, Via and Alt-Svc.</summary>
    private const int OwnBytesMax = 256 + AlternativeService.BytesMax;

    private readonly ReadOnlySpan<byte> _bytes = bytes;
    private readonly HopByHopFields _hopByHop = HopByHopFields.Of(head.Fields, bytes);

    /// <summary>Whether it can be passed on; otherwise the upstream's response counts as malformed.</summary>
    public bool IsValid => !_hopByHop.IsTooLong;

    /// <summary>The room that suffices.</summary>
    public int BytesMax<TWriter>()
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        FieldLines own = FieldLines.Of<TWriter>(fields);
        return OwnBytesMax + _bytes.Length + (head.Fields.Length * FieldBlockWriter.FieldOverheadBytesMax) + own.Lines.Length
            + own.ContentType.Length;
    }

    /// <summary>Writes the status and the fields of a final response, or of an informational one.</summary>
    /// <param name="writer">The coding.</param>
    /// <param name="kind">What the head is for.</param>
    /// <param name="sendsVia">Whether a Via field is added.</param>
    /// <returns>Whether the upstream sent a Date.</returns>
    public bool Write<TWriter>(ref TWriter writer, ProxyHeadKind kind, bool sendsVia)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        bool hasDate = false;
        bool isFinal = kind == ProxyHeadKind.Final;
        WriteStatus(ref writer, kind);
        foreach (ref readonly FieldLine line in head.Fields)
        {
            ReadOnlySpan<byte> name = line.NameText.In(_bytes);
            bool isSkipped = _hopByHop.Contains(name)
                || (line.Name == FieldName.ContentLength && (!isFinal || head.Status == 204))
                || (isFinal && Replaces(name))
                || (kind == ProxyHeadKind.ExtendedConnect && Words.EqualsIgnoreCase(name, "sec-websocket-accept"u8));
            if (!isSkipped)
            {
                hasDate |= Words.EqualsIgnoreCase(name, "date"u8);
                Copy(ref writer, line);
            }
        }

        if (isFinal)
        {
            FieldLines own = FieldLines.Of<TWriter>(fields);
            writer.Lines(own.ContentType);
            writer.Lines(own.Lines);
            hasDate |= Replaces("Date"u8);
        }

        if (sendsVia)
        {
            writer.Field(ViaField.Name, ViaField.Value(head.Version));
        }

        return hasDate;
    }

    /// <summary>A line of text in the usual form is copied as it is: the parser has checked its name and value.</summary>
    private void Copy<TWriter>(ref TWriter writer, in FieldLine line)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        ReadOnlySpan<byte> text = _bytes[line.NameText.Start..];
        int colon = line.NameText.Length;
        int end = line.Value.End - line.NameText.Start;
        bool isUsual = TWriter.Coding == HeadCoding.Http1
            && line.Value.Start == line.NameText.End + 2
            && text[colon + 1] == ' '
            && text[end] == '\r';
        if (isUsual)
        {
            writer.Lines(text[..(end + 2)]);
        }
        else
        {
            writer.Field(text[..colon], line.Value.In(_bytes));
        }
    }

    private void WriteStatus<TWriter>(ref TWriter writer, ProxyHeadKind kind)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        writer.AnyStatus(kind == ProxyHeadKind.ExtendedConnect ? 200 : head.Status);
        if (TWriter.Coding == HeadCoding.Http1 && kind == ProxyHeadKind.Upgrade)
        {
            writer.Lines("Upgrade: websocket\r\nConnection: Upgrade\r\n"u8);
        }
    }

    private bool Replaces(ReadOnlySpan<byte> name)
    {
        foreach (Field field in fields.Fields)
        {
            if (field.NameBytes.Length == name.Length && Ascii.EqualsIgnoreCase(field.NameBytes, name))
            {
                return true;
            }
        }

        return false;
    }
}

/// <summary>What the head of an upstream's response is for.</summary>
internal enum ProxyHeadKind : byte
{
    /// <summary>The response.</summary>
    Final,

    /// <summary>A 1xx response before it.</summary>
    Informational,

    /// <summary>101 to an HTTP/1.1 client: bytes follow in both directions.</summary>
    Upgrade,

    /// <summary>The same to an HTTP/2 client: 200 (RFC 8441, section 5).</summary>
    ExtendedConnect,
}
