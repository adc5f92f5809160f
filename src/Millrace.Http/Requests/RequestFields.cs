namespace Millrace.Http;

/// <summary>
/// Receives the fields of a request of HTTP/2 (RFC 9113 section 8) or HTTP/3 (RFC 9114 section 4) and writes the head of the equivalent
/// HTTP/1.1 request, with the <see cref="RequestHead"/> that <see cref="RequestHeadParser"/> would produce for it. Code that answers one
/// version thus answers the other: it uses <see cref="Head"/> and <see cref="Bytes"/>.
/// </summary>
/// <remarks>
/// <para>
/// For each request: <see cref="Begin"/>, <see cref="HpackDecoder.Decode"/> or <see cref="QpackDecoder.Decode"/> with this as the sink,
/// <see cref="Conclude"/>. One per
/// thread is enough; head and bytes are valid until the next Begin. A request that has to wait keeps a copy of the bytes, which is
/// parsed later. Nothing is allocated per request.
/// </para>
/// <para>
/// :authority becomes the Host, and a Host field beside it must agree with it. Crumbs of a Cookie become one line at the end. The
/// limits are those of HTTP/1.1 and count the bytes of its head. After a refusal all further fields are dropped; the table stays
/// synchronized. The session checks whether Content-Length agrees with the DATA.
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
    private bool _isHttp3;
    private HeadRefusal _refusal;

    /// <summary>The request, as ranges of <see cref="Bytes"/>.</summary>
    public RequestHead Head { get; } = new(limits.FieldsMax);

    /// <summary>The head in HTTP/1.1 form, including the empty line.</summary>
    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _written);

    /// <summary>The :scheme, which may differ from the connection's; Unknown for CONNECT.</summary>
    public UriScheme Scheme => _pseudo.Scheme;

    /// <summary>
    /// Whether the client asks for a tunnel (RFC 8441, RFC 9220); the head is then that of an HTTP/1.1 request for an upgrade.
    /// </summary>
    public bool IsConnect => _pseudo.Has(PseudoField.Protocol);

    /// <param name="allowsProtocol">Whether the client may ask for a tunnel.</param>
    /// <param name="isHttp3">Whether the rules of HTTP/3 apply, which has no empty authority (RFC 9114 section 4.3.1).</param>
    public void Begin(bool allowsProtocol = false, bool isHttp3 = false)
    {
        _isHttp3 = isHttp3;
        Head.Reset();
        Head.Version = HttpVersion.Http11;
        _pseudo.Reset(allowsProtocol, needsAuthorityText: isHttp3);
        _written = 0;
        _cookieBytes = 0;
        _hasCookie = false;
        _hasOtherHost = false;
        _refusal = HeadRefusal.None;
    }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        if (_refusal == HeadRefusal.None)
        {
            _refusal = !name.IsEmpty && name[0] == ':' ? AddPseudoField(name, value, staticIndex) : AddField(name, value, staticIndex);
        }
        else if (_written == 0 && name.SequenceEqual(":method"u8) && !_pseudo.Has(PseudoField.Method))
        {
            // Fields come in any order, and the response to a refusal depends on the method.
            _ = _pseudo.Add(name, value, staticIndex);
        }
    }

    /// <summary>Checks the request at the end of its block. If it is refused, the head contains at most what was understood.</summary>
    public HeadRefusal Conclude()
    {
        if (_refusal == HeadRefusal.None)
        {
            _refusal = ConcludePseudoFields();
        }

        if (_refusal == HeadRefusal.None && _hasCookie)
        {
            _refusal = WriteField(FieldName.Cookie, "cookie"u8, _cookie.AsSpan(0, _cookieBytes));
        }

        if (_refusal == HeadRefusal.None)
        {
            _refusal = !TryWrite("\r\n"u8) ? HeadRefusal.HeadTooLarge : Head.Conclude();
        }

        if (_refusal != HeadRefusal.None && _written == 0)
        {
            // There is no request line, but whether the response may have a body depends on the method.
            Head.Method = Methods.Of(_pseudo.Of(PseudoField.Method));
        }

        return _refusal;
    }

    private HeadRefusal AddPseudoField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        HeadRefusal refusal = _written > 0 ? HeadRefusal.MisplacedPseudoField : _pseudo.Add(name, value, staticIndex);
        bool isLargeMethod = refusal == HeadRefusal.HeadTooLarge
            && value.Length >= limits.RequestLineBytesMax
            && name.SequenceEqual(":method"u8);
        return !isLargeMethod ? refusal
            : IsTooLong(value) ? HeadRefusal.MethodTooLong
            : HeadRefusal.BadMethod;
    }

    private HeadRefusal AddField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        HeadRefusal refusal = FieldRules.Check(name, value, staticIndex);
        if (refusal == HeadRefusal.None)
        {
            refusal = ConcludePseudoFields();
        }

        if (refusal != HeadRefusal.None)
        {
            return refusal;
        }

        FieldName known = staticIndex != 0 ? NamesByStaticIndex[staticIndex] : FieldNames.Recognize(name);
        return known switch
        {
            FieldName.Cookie => AddCrumb(value),
            FieldName.Host when _pseudo.Has(PseudoField.Authority) => CompareHost(value),
            FieldName.Host when _isHttp3 && value.IsEmpty => HeadRefusal.BadHost,
            _ => WriteField(known, name, value),
        };
    }

    /// <summary>Once, as in HTTP/1.1: nothing is written for it, so no other limit would end it.</summary>
    private HeadRefusal CompareHost(ReadOnlySpan<byte> value)
    {
        if (_hasOtherHost)
        {
            return HeadRefusal.BadHost;
        }

        _hasOtherHost = true;
        return _pseudo.IsAuthority(value) ? HeadRefusal.None : HeadRefusal.OtherHost;
    }

    /// <summary>Section 8.2.3: joins what a client split for the sake of compression. Empty crumbs add nothing.</summary>
    private HeadRefusal AddCrumb(ReadOnlySpan<byte> value)
    {
        _hasCookie = true;
        ReadOnlySpan<byte> separator = _cookieBytes == 0 || value.IsEmpty ? default : "; "u8;
        if (separator.Length + value.Length > _cookie.Length - _cookieBytes)
        {
            return HeadRefusal.HeadTooLarge;
        }

        separator.CopyTo(_cookie.AsSpan(_cookieBytes));
        value.CopyTo(_cookie.AsSpan(_cookieBytes + separator.Length));
        _cookieBytes += separator.Length + value.Length;
        return HeadRefusal.None;
    }

    /// <summary>Writes the request line and the Host, once; later pseudo-fields are errors.</summary>
    private HeadRefusal ConcludePseudoFields()
    {
        if (_written > 0)
        {
            return HeadRefusal.None;
        }

        HeadRefusal refusal = _pseudo.Conclude();
        if (refusal == HeadRefusal.None)
        {
            refusal = WriteRequestLine();
        }

        if (refusal == HeadRefusal.None && _pseudo.Has(PseudoField.Authority))
        {
            refusal = WriteField(FieldName.Host, "host"u8, _pseudo.Of(PseudoField.Authority));
        }

        return refusal == HeadRefusal.None && IsConnect ? WriteUpgrade() : refusal;
    }

    private HeadRefusal WriteUpgrade()
    {
        HeadRefusal refusal = WriteField(FieldName.Unknown, "upgrade"u8, _pseudo.Of(PseudoField.Protocol));
        return refusal == HeadRefusal.None ? WriteField(FieldName.Connection, "connection"u8, "upgrade"u8) : refusal;
    }

    private HeadRefusal WriteRequestLine()
    {
        ReadOnlySpan<byte> method = IsConnect ? "GET"u8 : _pseudo.Of(PseudoField.Method);
        if (IsTooLong(method))
        {
            return HeadRefusal.MethodTooLong;
        }

        if (!TryWrite(method) || !TryWrite(" "u8) || Methods.Read(Bytes, 0, out Method known) != method.Length)
        {
            return HeadRefusal.BadMethod;
        }

        Head.Method = known;
        Head.MethodText = new TextRange(0, method.Length);
        ReadOnlySpan<byte> target = _pseudo.Of(known == Method.Connect ? PseudoField.Authority : PseudoField.Path);
        if (known != Method.Connect && !IsPath(target))
        {
            return HeadRefusal.BadPath;
        }

        var text = new TextRange(_written, target.Length);
        if (!TryWrite(target) || !TryWrite(" HTTP/1.1\r\n"u8) || _written > limits.RequestLineBytesMax)
        {
            return HeadRefusal.RequestLineTooLong;
        }

        int question = target.IndexOf((byte)'?');
        bool isTarget = RequestTarget.TryRead(Bytes, text, question < 0 ? -1 : text.Start + question, known, out RequestTarget read);
        Head.Target = read;
        return isTarget ? HeadRefusal.None
            : known == Method.Connect ? HeadRefusal.BadAuthority
            : HeadRefusal.BadPath;
    }

    /// <summary>Whether a method alone fills its request line, as the HTTP/1.1 parser checks it.</summary>
    private bool IsTooLong(ReadOnlySpan<byte> method)
        => method.Length >= limits.RequestLineBytesMax && !method[..limits.RequestLineBytesMax].ContainsAnyExcept(ByteClasses.Token);

    /// <summary>Section 8.3.1: origin-form, or the asterisk, which only some methods allow.</summary>
    private static bool IsPath(ReadOnlySpan<byte> text)
        => !text.IsEmpty && text[0] is (byte)'/' or (byte)'*' && !text.ContainsAnyExcept(ByteClasses.Target);

    private HeadRefusal WriteField(FieldName known, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (Head.Fields.Length == limits.FieldsMax)
        {
            return HeadRefusal.TooManyFields;
        }

        var nameText = new TextRange(_written, name.Length);
        var valueText = new TextRange(nameText.End + 2, value.Length);
        return TryWrite(name) && TryWrite(": "u8) && TryWrite(value) && TryWrite("\r\n"u8)
            ? Head.Add(Bytes, known, nameText, valueText)
            : HeadRefusal.HeadTooLarge;
    }

    private bool TryWrite(ReadOnlySpan<byte> text)
    {
        bool fits = text.TryCopyTo(_bytes.AsSpan(_written));
        _written += fits ? text.Length : 0;
        return fits;
    }
}
