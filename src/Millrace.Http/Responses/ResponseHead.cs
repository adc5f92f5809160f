namespace Millrace.Http;

/// <summary>
/// The head of one response of an upstream, as ranges of the bytes it was parsed from. <see cref="ResponseHeadParser"/> fills it; neither
/// allocates. After a refusal or an incomplete head it has no meaning.
/// </summary>
internal sealed class ResponseHead(int fieldsMax)
{
    private readonly FieldLine[] _lines = new FieldLine[fieldsMax];
    private int _count;
    private ResponseFraming _framing;

    public ResponseHead()
        : this(HeadLimits.Default.FieldsMax)
    {
    }

    /// <summary>Three digits; the classes are those of RFC 9110 section 15, and unknown codes are allowed.</summary>
    public int Status { get; internal set; }

    /// <summary>The reason phrase, perhaps empty.</summary>
    public TextRange Reason { get; internal set; }

    public HttpVersion Version { get; internal set; }

    /// <summary>How the body after this head is delimited.</summary>
    public ResponseBodyFraming Body { get; private set; }

    /// <summary>
    /// The value of Content-Length, or -1. With HEAD and 304 it is the length that a body would have had; otherwise it is the body's.
    /// </summary>
    public long ContentLength => _framing.ContentLength;

    /// <summary>Whether another response may follow on the connection.</summary>
    public bool KeepAlive => Body != ResponseBodyFraming.UntilClose && _framing.KeepsAlive(Version);

    public bool IsInformational => Status < 200;

    public ReadOnlySpan<FieldLine> Fields => _lines.AsSpan(0, _count);

    internal int FieldsMax => _lines.Length;

    /// <summary>The timeout of a Keep-Alive field (RFC 2068 section 19.7.1.1), in seconds up to a day; null if there is none.</summary>
    public int? KeepAliveSeconds(ReadOnlySpan<byte> bytes)
    {
        foreach (ref readonly FieldLine line in Fields)
        {
            if (line.NameText.Length != 10 || !Words.EqualsIgnoreCase(line.NameText.In(bytes), "keep-alive"u8))
            {
                continue;
            }

            foreach (ReadOnlySpan<byte> parameter in new ElementList(line.Value.In(bytes)))
            {
                ReadOnlySpan<byte> name = "timeout="u8;
                if (parameter.Length > name.Length
                    && Words.EqualsIgnoreCase(parameter[..name.Length], name)
                    && Digits.TryParse(parameter[name.Length..], out long seconds))
                {
                    return (int)Math.Min(seconds, 24 * 60 * 60);
                }
            }
        }

        return null;
    }

    internal void Reset()
    {
        _count = 0;
        _framing = ResponseFraming.Empty;
        Status = 0;
        Reason = default;
        Body = ResponseBodyFraming.None;
    }

    internal HeadRefusal Add(ReadOnlySpan<byte> bytes, FieldName name, TextRange nameText, TextRange value)
    {
        _lines[_count++] = new FieldLine { Name = name, NameText = nameText, Value = value };
        return _framing.Add(name, value.In(bytes));
    }

    internal HeadRefusal Conclude(bool isForHead)
    {
        HeadRefusal refusal = _framing.Conclude(Status, Version, isForHead, out ResponseBodyFraming body);
        Body = body;
        return refusal;
    }
}

/// <summary>How the body after a response's head is delimited, RFC 9112 section 6.3.</summary>
internal enum ResponseBodyFraming : byte
{
    /// <summary>There is none: by the method, by the status, or by a Content-Length of 0.</summary>
    None,
    Length,
    Chunked,

    /// <summary>It ends with the connection, so that a body that was cut looks whole.</summary>
    UntilClose,
}
