using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Millrace.Http;

/// <summary>
/// The head of one request, as ranges of the bytes it was parsed from. One per thread is enough: <see cref="RequestHeadParser"/> fills it,
/// and it is used before the next one is parsed. Neither allocates.
/// </summary>
/// <remarks>After a refusal or an incomplete head it contains what was understood so far, which is useful only for a log line.</remarks>
internal sealed class RequestHead(int fieldsMax)
{
    private const int KnownNames = 64;

    private readonly FieldLine[] _lines = new FieldLine[fieldsMax];

    // The first and last line of each known field, valid only if its bit in _present is set; so nothing needs clearing.
    private readonly short[] _first = new short[KnownNames];
    private readonly short[] _last = new short[KnownNames];
    private ulong _present;
    private int _count;
    private MessageFraming _framing;

    public RequestHead()
        : this(HeadLimits.Default.FieldsMax)
    {
    }

    public Method Method { get; internal set; }

    /// <summary>The method as sent; distinguishes unknown methods.</summary>
    public TextRange MethodText { get; internal set; }

    public HttpVersion Version { get; internal set; }

    public RequestTarget Target { get; internal set; }

    /// <summary>
    /// The authority of the request: of the target itself, or else Host (RFC 9112 section 3.2.2). Empty if there is neither.
    /// </summary>
    public TextRange Authority { get; private set; }

    public BodyFraming Body => _framing.Body;

    /// <summary>The length of a body with a Content-Length, otherwise 0.</summary>
    public long ContentLength => _framing.ContentLength;

    public bool KeepAlive => _framing.KeepsAlive(Version);

    public bool ExpectContinue => _framing.ExpectsContinue(Version);

    public ReadOnlySpan<FieldLine> Fields => _lines.AsSpan(0, _count);

    internal int FieldsMax => _lines.Length;

    public bool Has(FieldName name) => (_present & (1UL << (int)name)) != 0;

    /// <summary>Whether there is a field of a set.</summary>
    public bool HasAny(ulong names) => (_present & names) != 0;

    /// <summary>The set of these fields.</summary>
    public static ulong SetOf(params ReadOnlySpan<FieldName> names)
    {
        ulong set = 0;
        foreach (FieldName name in names)
        {
            set |= 1UL << (int)name;
        }

        return set;
    }

    /// <summary>The value of a field's first line. Lists may continue in further lines: see <see cref="ValuesOf"/>.</summary>
    public bool TryGet(FieldName name, out TextRange value)
    {
        bool has = Has(name);
        value = has ? _lines[_first[(int)name]].Value : default;
        return has;
    }

    public FieldValues ValuesOf(FieldName name) => new(Fields, Has(name) ? _first[(int)name] : -1);

    /// <summary>Writes the values of all lines of a field as one list (RFC 9110 section 5.3); returns its length.</summary>
    public int Join(FieldName name, ReadOnlySpan<byte> bytes, Span<byte> destination)
    {
        int written = 0;
        foreach (TextRange value in ValuesOf(name))
        {
            ReadOnlySpan<byte> separator = written == 0 ? default : ", "u8;
            separator.CopyTo(destination[written..]);
            written += separator.Length;
            value.In(bytes).CopyTo(destination[written..]);
            written += value.Length;
        }

        return written;
    }

    internal void Reset()
    {
        _count = 0;
        _present = 0;
        _framing = default;
        Method = Method.Unknown;
        MethodText = default;
        Target = default;
        Authority = default;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal HeadRefusal Add(ReadOnlySpan<byte> bytes, FieldName name, TextRange nameText, TextRange value)
    {
        int index = _count++;
        _lines[index] = new FieldLine { Name = name, NameText = nameText, Value = value };
        if (name == FieldName.Unknown)
        {
            return HeadRefusal.None;
        }

        bool isRepeated = Has(name);
        Link(name, index, isRepeated);
        return MessageFraming.Reads(name) ? _framing.Add(name, value.In(bytes), isRepeated) : HeadRefusal.None;
    }

    internal HeadRefusal Conclude()
    {
        HeadRefusal refusal = _framing.Conclude(Version, Has(FieldName.Host));
        if (refusal == HeadRefusal.None)
        {
            Authority = !Target.Authority.IsEmpty || !TryGet(FieldName.Host, out TextRange host) ? Target.Authority : host;
        }

        return refusal;
    }

    private void Link(FieldName name, int index, bool isRepeated)
    {
        Debug.Assert((int)name < KnownNames);
        if (isRepeated)
        {
            _lines[_last[(int)name]].Next = (short)index;
        }
        else
        {
            _present |= 1UL << (int)name;
            _first[(int)name] = (short)index;
        }

        _last[(int)name] = (short)index;
    }
}

/// <summary>One field line of a request: its name as an integer and as text, and its value without surrounding whitespace.</summary>
internal struct FieldLine
{
    public TextRange NameText { get; init; }

    public TextRange Value { get; init; }

    public FieldName Name { get; init; }

    /// <summary>The index of the next line with the same known name; 0 for none, since a next line is never the first.</summary>
    internal short Next { get; set; }
}

/// <summary>Finds a field that has no <see cref="FieldName"/>, by comparing names.</summary>
internal static class FieldLineSearch
{
    /// <summary>The value of the first line with this name, which is given in lower case.</summary>
    public static bool TryFind(
        this ReadOnlySpan<FieldLine> lines, ReadOnlySpan<byte> bytes, scoped ReadOnlySpan<byte> lowerName, out ReadOnlySpan<byte> value)
    {
        foreach (ref readonly FieldLine line in lines)
        {
            if (line.Name == FieldName.Unknown && Words.EqualsIgnoreCase(line.NameText.In(bytes), lowerName))
            {
                value = line.Value.In(bytes);
                return true;
            }
        }

        value = default;
        return false;
    }
}

/// <summary>The values of all lines of one known field, in order of arrival (RFC 9110 section 5.3: together they are one list).</summary>
internal ref struct FieldValues(ReadOnlySpan<FieldLine> lines, int first)
{
    private readonly ReadOnlySpan<FieldLine> _lines = lines;
    private int _next = first;

    public TextRange Current { get; private set; }

    public readonly FieldValues GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_next < 0)
        {
            return false;
        }

        ref readonly FieldLine line = ref _lines[_next];
        Current = line.Value;
        _next = line.Next == 0 ? -1 : line.Next;
        return true;
    }
}

/// <summary>
/// The version a request is handled as: a minor version above 1 is handled as 1.1 (RFC 9110 section 2.5). The head of an HTTP/2 or HTTP/3
/// request is that of the equivalent HTTP/1.1 request.
/// </summary>
internal enum HttpVersion : byte
{
    Http10,
    Http11,
    Http2,
    Http3,
}

internal static class HttpVersions
{
    public static ReadOnlySpan<byte> NameOf(HttpVersion version) => version switch
    {
        HttpVersion.Http10 => "HTTP/1.0"u8,
        HttpVersion.Http11 => "HTTP/1.1"u8,
        HttpVersion.Http2 => "HTTP/2.0"u8,
        _ => "HTTP/3.0"u8,
    };
}
