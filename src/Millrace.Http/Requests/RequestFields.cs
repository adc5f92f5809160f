namespace Millrace.Http;

/// <summary>
/// Takes the fields of an HTTP/2 request (RFC 9113 section 8) and writes the head of the HTTP/1.1 request that means the same,
/// together with the <see cref="RequestHead"/> that <see cref="RequestHeadParser"/> would make of it. So whatever answers one
/// version answers the other: it is given <see cref="Head"/> and <see cref="Bytes"/>.
/// </summary>
/// <remarks>
/// <para>
/// For each request: <see cref="Begin"/>, <see cref="HpackDecoder.Decode"/> with this as the sink, <see cref="Conclude"/>. One per
/// thread is enough; head and bytes hold until the next Begin. A request that has to wait is kept as a copy of the bytes, and
/// parsed from it when its time has come. Nothing is allocated per request.
/// </para>
/// <para>
/// :authority becomes the Host, and a Host beside it must agree with it. Crumbs of a Cookie become one line at the end. The limits
/// are those of HTTP/1.1 and count the bytes of its head. After a refusal all further fields are dropped; the table stays in step.
/// Whether Content-Length agrees with the DATA is the session's to judge.
/// </para>
/// </remarks>
internal sealed class RequestFields(HeadLimits limits) : IHpackSink
{
    private static readonly FieldName[] NamesByStaticIndex =
        [FieldName.Unknown, .. Enumerable.Range(1, StaticTable.Count).Select(index => FieldNames.Recognize(StaticTable.Name(index)))];

    private readonly byte[] _bytes = new byte[limits.HeadBytesMax];
    private readonly byte[] _cookie = new byte[limits.HeadBytesMax];
    private PseudoFields _pseudo = new(new byte[limits.HeadBytesMax]);
    private int _written;
    private int _cookieBytes;
    private bool _hasCookie;
    private bool _hasOtherHost;
    private FieldsRefusal _refusal;

    /// <summary>The request, as ranges of <see cref="Bytes"/>.</summary>
    public RequestHead Head { get; } = new(limits.FieldsMax);

    /// <summary>The head in the form of HTTP/1.1, the empty line included.</summary>
    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _written);

    /// <summary>The :scheme, which need not be that of the connection; Unknown for CONNECT.</summary>
    public UriScheme Scheme => _pseudo.Scheme;

    public void Begin()
    {
        Head.Reset();
        Head.Version = HttpVersion.Http11;
        _pseudo.Reset();
        _written = 0;
        _cookieBytes = 0;
        _hasCookie = false;
        _hasOtherHost = false;
        _refusal = FieldsRefusal.None;
    }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex)
    {
        if (_refusal == FieldsRefusal.None)
        {
            _refusal = !name.IsEmpty && name[0] == ':' ? AddPseudoField(name, value, staticIndex) : AddField(name, value, staticIndex);
        }
        else if (_written == 0 && name.SequenceEqual(":method"u8) && !_pseudo.Has(PseudoField.Method))
        {
            // They come in any order, and how a refusal is answered depends on it.
            _ = _pseudo.Add(name, value, staticIndex);
        }
    }

    /// <summary>Judges the request when its block is at its end. Where it is refused, the head says what was understood at most.</summary>
    public FieldsRefusal Conclude()
    {
        if (_refusal == FieldsRefusal.None)
        {
            _refusal = ConcludePseudoFields();
        }

        if (_refusal == FieldsRefusal.None && _hasCookie)
        {
            _refusal = WriteField(FieldName.Cookie, "cookie"u8, _cookie.AsSpan(0, _cookieBytes));
        }

        if (_refusal == FieldsRefusal.None)
        {
            _refusal = !TryWrite("\r\n"u8) ? FieldsRefusal.HeadTooLarge : RefusalOf(Head.Conclude());
        }

        if (_refusal != FieldsRefusal.None && _written == 0)
        {
            // No request line came of it, but whether the answer may have a body depends on its method.
            Head.Method = Methods.Of(_pseudo.Of(PseudoField.Method));
        }

        return _refusal;
    }

    private FieldsRefusal AddPseudoField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
        => _written > 0 ? FieldsRefusal.MisplacedPseudoField : _pseudo.Add(name, value, staticIndex);

    private FieldsRefusal AddField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        FieldsRefusal refusal = FieldRules.Judge(name, value, staticIndex);
        if (refusal == FieldsRefusal.None)
        {
            refusal = ConcludePseudoFields();
        }

        if (refusal != FieldsRefusal.None)
        {
            return refusal;
        }

        FieldName known = staticIndex != 0 ? NamesByStaticIndex[staticIndex] : FieldNames.Recognize(name);
        return known switch
        {
            FieldName.Cookie => AddCrumb(value),
            FieldName.Host when _pseudo.Has(PseudoField.Authority) => CompareHost(value),
            _ => WriteField(known, name, value),
        };
    }

    /// <summary>Once, as in HTTP/1.1: nothing is written of it, and so no other limit would end it.</summary>
    private FieldsRefusal CompareHost(ReadOnlySpan<byte> value)
    {
        if (_hasOtherHost)
        {
            return FieldsRefusal.BadHost;
        }

        _hasOtherHost = true;
        return _pseudo.IsAuthority(value) ? FieldsRefusal.None : FieldsRefusal.OtherHost;
    }

    /// <summary>Section 8.2.3: what a client split for the sake of compression becomes one again. Empty crumbs add nothing.</summary>
    private FieldsRefusal AddCrumb(ReadOnlySpan<byte> value)
    {
        _hasCookie = true;
        ReadOnlySpan<byte> separator = _cookieBytes == 0 || value.IsEmpty ? default : "; "u8;
        if (separator.Length + value.Length > _cookie.Length - _cookieBytes)
        {
            return FieldsRefusal.HeadTooLarge;
        }

        separator.CopyTo(_cookie.AsSpan(_cookieBytes));
        value.CopyTo(_cookie.AsSpan(_cookieBytes + separator.Length));
        _cookieBytes += separator.Length + value.Length;
        return FieldsRefusal.None;
    }

    /// <summary>Writes the request line and the Host, once; from then on pseudo-fields come too late.</summary>
    private FieldsRefusal ConcludePseudoFields()
    {
        if (_written > 0)
        {
            return FieldsRefusal.None;
        }

        FieldsRefusal refusal = _pseudo.Conclude();
        if (refusal == FieldsRefusal.None)
        {
            refusal = WriteRequestLine();
        }

        return refusal == FieldsRefusal.None && _pseudo.Has(PseudoField.Authority)
            ? WriteField(FieldName.Host, "host"u8, _pseudo.Of(PseudoField.Authority))
            : refusal;
    }

    private FieldsRefusal WriteRequestLine()
    {
        ReadOnlySpan<byte> method = _pseudo.Of(PseudoField.Method);
        bool isWritten = TryWrite(method) && TryWrite(" "u8);
        if (!isWritten || Methods.Read(Bytes, 0, out Method known) != method.Length)
        {
            return isWritten ? FieldsRefusal.BadMethod : FieldsRefusal.HeadTooLarge;
        }

        Head.Method = known;
        Head.MethodText = new TextRange(0, method.Length);
        ReadOnlySpan<byte> target = _pseudo.Of(known == Method.Connect ? PseudoField.Authority : PseudoField.Path);
        if (known != Method.Connect && !IsPath(target))
        {
            return FieldsRefusal.BadPath;
        }

        var text = new TextRange(_written, target.Length);
        if (!TryWrite(target) || !TryWrite(" HTTP/1.1\r\n"u8) || _written > limits.RequestLineBytesMax)
        {
            return FieldsRefusal.PathTooLong;
        }

        int question = target.IndexOf((byte)'?');
        bool isTarget = RequestTarget.TryRead(Bytes, text, question < 0 ? -1 : text.Start + question, known, out RequestTarget read);
        Head.Target = read;
        return isTarget ? FieldsRefusal.None
            : known == Method.Connect ? FieldsRefusal.BadAuthority
            : FieldsRefusal.BadPath;
    }

    /// <summary>Section 8.3.1: origin-form, or the asterisk; whether that may be is decided by the method.</summary>
    private static bool IsPath(ReadOnlySpan<byte> text)
        => !text.IsEmpty && text[0] is (byte)'/' or (byte)'*' && !text.ContainsAnyExcept(ByteClasses.Target);

    private FieldsRefusal WriteField(FieldName known, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (Head.Fields.Length == limits.FieldsMax)
        {
            return FieldsRefusal.TooManyFields;
        }

        var nameText = new TextRange(_written, name.Length);
        var valueText = new TextRange(nameText.End + 2, value.Length);
        return TryWrite(name) && TryWrite(": "u8) && TryWrite(value) && TryWrite("\r\n"u8)
            ? RefusalOf(Head.Add(Bytes, known, nameText, valueText))
            : FieldsRefusal.HeadTooLarge;
    }

    private bool TryWrite(ReadOnlySpan<byte> text)
    {
        bool fits = text.TryCopyTo(_bytes.AsSpan(_written));
        _written += fits ? text.Length : 0;
        return fits;
    }

    private static FieldsRefusal RefusalOf(HeadRefusal refusal) => refusal switch
    {
        HeadRefusal.None => FieldsRefusal.None,
        HeadRefusal.MissingHost => FieldsRefusal.MissingAuthority,
        HeadRefusal.BadHost or HeadRefusal.RepeatedHost => FieldsRefusal.BadHost,
        HeadRefusal.RepeatedContentLength => FieldsRefusal.RepeatedContentLength,
        HeadRefusal.BadContentLength => FieldsRefusal.BadContentLength,
        _ => throw new ArgumentOutOfRangeException(nameof(refusal), refusal, "Fields that could be refused so are refused before."),
    };
}
