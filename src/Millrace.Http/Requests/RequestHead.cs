using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Millrace.Http;

/// <summary>
/// The head of one request, as ranges of the bytes it was parsed from. One per thread is enough: <see cref="RequestHeadParser"/>
/// fills it, and it is used up before the next one is parsed. Neither allocates.
/// </summary>
/// <remarks>After a refusal or an incomplete head it holds what was understood up to there, good for a log line at most.</remarks>
internal sealed class RequestHead(int fieldsMax)
{
    private const int KnownNames = 64;

    private readonly FieldLine[] _lines = new FieldLine[fieldsMax];

    // The first and last line of each known field, meaningful only where its bit in _present is set; so nothing needs clearing.
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

    /// <summary>The method as it was sent; it tells unknown ones apart.</summary>
    public TextRange MethodText { get; internal set; }

    public HttpVersion Version { get; internal set; }

    public RequestTarget Target { get; internal set; }

    /// <summary>
    /// Whom the request is for: the target's own authority, or else Host (RFC 9112 section 3.2.2). Empty where neither says.
    /// </summary>
    public TextRange Authority { get; private set; }

    public BodyFraming Body => _framing.Body;

    /// <summary>The body's length where it is framed by one, otherwise 0.</summary>
    public long ContentLength => _framing.ContentLength;

    public bool KeepAlive => _framing.KeepsAlive(Version);

    public bool ExpectContinue => _framing.ExpectsContinue(Version);

    /// <summary>All field lines in the order they came.</summary>
    public ReadOnlySpan<FieldLine> Fields => _lines.AsSpan(0, _count);

    internal int FieldsMax => _lines.Length;

    public bool Has(FieldName name) => (_present & (1UL << (int)name)) != 0;

    /// <summary>The value of a field's first line. Fields that are lists may go on in others: see <see cref="ValuesOf"/>.</summary>
    public bool TryGet(FieldName name, out TextRange value)
    {
        bool has = Has(name);
        value = has ? _lines[_first[(int)name]].Value : default;
        return has;
    }

    /// <summary>The values of all lines of a known field.</summary>
    public FieldValues ValuesOf(FieldName name) => new(Fields, Has(name) ? _first[(int)name] : -1);

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
