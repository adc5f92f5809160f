using Millrace.Http;

namespace Millrace.HttpServer.Exchanges;

/// <summary>The parts of a request's head that an exchange keeps, in this order.</summary>
internal enum ExchangePart
{
    Method,
    Target,
    MalformedLine,
    Host,
    Referer,
    UserAgent,
    ForwardedFor,
    Forwarded,
}

/// <summary>Copies of parts of a head, one after the other in a buffer that grows as needed.</summary>
internal struct ExchangeStrings
{
    private const int Parts = (int)ExchangePart.Forwarded + 1;

    /// <summary>Browsers' heads need a tenth of this.</summary>
    private const int KeptBytesMax = 4 * 1024;

    /// <summary>The maximum length of a malformed request line that is kept: it may be the start of many megabytes.</summary>
    private const int MalformedBytesMax = 512;

    private byte[]? _bytes;
    private PartEnds _ends;
    private int _written;

    /// <summary>A part; empty if the head does not have it.</summary>
    public readonly ReadOnlySpan<byte> Of(ExchangePart part)
    {
        int start = part == 0 ? 0 : _ends[(int)part - 1];
        return _bytes.AsSpan(start, _ends[(int)part] - start);
    }

    public readonly int HeldBytes => _bytes?.Length ?? 0;

    public void Clear()
    {
        _ends = default;
        _written = 0;
    }

    /// <summary>Copies the parts of a head, or what is there of one that is refused or incomplete.</summary>
    public void Take(RequestHead head, ReadOnlySpan<byte> bytes, bool isRefused)
    {
        Clear();
        bool hasLine = !isRefused || (!head.MethodText.IsEmpty && !head.Target.Text.IsEmpty);
        Add(ExchangePart.Method, hasLine ? head.MethodText.In(bytes) : default);
        Add(ExchangePart.Target, hasLine ? head.Target.Text.In(bytes) : default);
        Add(ExchangePart.MalformedLine, hasLine ? default : FirstLine(bytes));

        // Of a refused head, whose Host may be the reason for the refusal, the authority is not known.
        Add(ExchangePart.Host, isRefused ? First(head, bytes, FieldName.Host) : head.Authority.In(bytes));
        Add(ExchangePart.Referer, First(head, bytes, FieldName.Referer));
        Add(ExchangePart.UserAgent, First(head, bytes, FieldName.UserAgent));
        AddList(ExchangePart.ForwardedFor, head, bytes, FieldName.XForwardedFor);
        AddList(ExchangePart.Forwarded, head, bytes, FieldName.Forwarded);
    }

    public void Trim()
    {
        if (_bytes?.Length > KeptBytesMax)
        {
            _bytes = null;
            Clear();
        }
    }

    private static ReadOnlySpan<byte> First(RequestHead head, ReadOnlySpan<byte> bytes, FieldName name) =>
        head.TryGet(name, out TextRange value) ? value.In(bytes) : default;

    private static ReadOnlySpan<byte> FirstLine(ReadOnlySpan<byte> bytes)
    {
        // Empty lines may precede a request (RFC 9112, section 2.2).
        bytes = bytes.TrimStart("\r\n"u8);
        int end = bytes.IndexOfAny((byte)'\r', (byte)'\n');
        bytes = end < 0 ? bytes : bytes[..end];
        return bytes[..Math.Min(bytes.Length, MalformedBytesMax)];
    }

    private void AddList(ExchangePart part, RequestHead head, ReadOnlySpan<byte> bytes, FieldName name)
    {
        int start = _written;
        foreach (TextRange value in head.ValuesOf(name))
        {
            Append(_written == start ? default : ", "u8);
            Append(value.In(bytes));
        }

        _ends[(int)part] = _written;
    }

    private void Add(ExchangePart part, ReadOnlySpan<byte> text)
    {
        Append(text);
        _ends[(int)part] = _written;
    }

    private void Append(ReadOnlySpan<byte> text)
    {
        int needed = _written + text.Length;
        if (_bytes is null || _bytes.Length < needed)
        {
            Array.Resize(ref _bytes, Math.Max(512, 2 * needed));
        }

        text.CopyTo(_bytes.AsSpan(_written));
        _written = needed;
    }

    [System.Runtime.CompilerServices.InlineArray(Parts)]
    private struct PartEnds
    {
        private int _first;
    }
}
