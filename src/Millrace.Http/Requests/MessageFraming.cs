namespace Millrace.Http;

/// <summary>
/// Collects what a head says about its body and its connection, line by line. A head whose message end two readers could interpret
/// differently (RFC 9112 section 11.2, request smuggling) is refused, even if the RFC would let a server repair it.
/// </summary>
internal struct MessageFraming
{
    private bool _hasContentLength;
    private bool _hasTransferEncoding;
    private bool _endsChunked;
    private bool _hasOtherCoding;
    private bool _close;
    private bool _keepAlive;
    private bool _expectsContinue;

    public long ContentLength { get; private set; }

    public readonly BodyFraming Body
        => _hasTransferEncoding ? BodyFraming.Chunked
            : ContentLength > 0 ? BodyFraming.Length
            : BodyFraming.None;

    public static bool Reads(FieldName name) => name is > FieldName.Unknown and <= FieldName.Expect;

    /// <summary>Whether the connection persists, RFC 9112 section 9.3.</summary>
    public readonly bool KeepsAlive(HttpVersion version) => !_close && (version == HttpVersion.Http11 || _keepAlive);

    /// <summary>Whether the client awaits a 100; an HTTP/1.0 client cannot (RFC 9110 section 10.1.1).</summary>
    public readonly bool ExpectsContinue(HttpVersion version) => _expectsContinue && version == HttpVersion.Http11;

    /// <summary>Takes a field line for which <see cref="Reads"/> holds.</summary>
    public HeadRefusal Add(FieldName name, ReadOnlySpan<byte> value, bool isRepeated)
    {
        switch (name)
        {
            case FieldName.Host:
                return isRepeated ? HeadRefusal.RepeatedHost : UriHost.IsValidHostField(value) ? HeadRefusal.None : HeadRefusal.BadHost;
            case FieldName.Connection:
                AddConnection(value);
                return HeadRefusal.None;
            case FieldName.ContentLength:
                return AddContentLength(value);
            case FieldName.TransferEncoding:
                return AddTransferEncoding(value);
            default:
                AddExpect(value);
                return HeadRefusal.None;
        }
    }

    /// <summary>Checks the fields together, after the last one.</summary>
    public readonly HeadRefusal Conclude(HttpVersion version, bool hasHost)
    {
        if (_hasTransferEncoding)
        {
            HeadRefusal refusal = version == HttpVersion.Http10 ? HeadRefusal.TransferEncodingOnHttp10
                : _hasContentLength ? HeadRefusal.TransferEncodingWithContentLength
                // RFC 9112 section 6.3: without a final "chunked" the length cannot be known. This MUST takes precedence over the SHOULD of
                // 501.
                : !_endsChunked ? HeadRefusal.ChunkedNotFinal
                : _hasOtherCoding ? HeadRefusal.UnknownTransferCoding
                : HeadRefusal.None;
            if (refusal != HeadRefusal.None)
            {
                return refusal;
            }
        }

        return version == HttpVersion.Http11 && !hasHost ? HeadRefusal.MissingHost : HeadRefusal.None;
    }

    private void AddConnection(ReadOnlySpan<byte> value)
    {
        if (Words.EqualsIgnoreCase(value, "keep-alive"u8))
        {
            _keepAlive = true;
            return;
        }

        foreach (ReadOnlySpan<byte> option in new ElementList(value))
        {
            _close |= Words.EqualsIgnoreCase(option, "close"u8);
            _keepAlive |= Words.EqualsIgnoreCase(option, "keep-alive"u8);
        }
    }

    private void AddExpect(ReadOnlySpan<byte> value)
    {
        foreach (ReadOnlySpan<byte> expectation in new ElementList(value))
        {
            _expectsContinue |= Words.EqualsIgnoreCase(expectation, "100-continue"u8);
        }
    }

    private HeadRefusal AddContentLength(ReadOnlySpan<byte> value)
    {
        if (_hasContentLength)
        {
            return HeadRefusal.RepeatedContentLength;
        }

        _hasContentLength = true;
        bool isLength = Digits.TryParse(value, out long length);
        ContentLength = length;
        return isLength ? HeadRefusal.None : HeadRefusal.BadContentLength;
    }

    private HeadRefusal AddTransferEncoding(ReadOnlySpan<byte> value)
    {
        _hasTransferEncoding = true;
        foreach (ReadOnlySpan<byte> coding in new ElementList(value))
        {
            int semicolon = coding.IndexOf((byte)';');
            ReadOnlySpan<byte> name = semicolon < 0 ? coding : coding[..semicolon].TrimEnd(" \t"u8);
            bool isChunked = Words.EqualsIgnoreCase(name, "chunked"u8);
            if (name.IsEmpty || name.ContainsAnyExcept(ByteClasses.Token))
            {
                return HeadRefusal.BadTransferEncoding;
            }

            if (_endsChunked)
            {
                return isChunked ? HeadRefusal.RepeatedChunked : HeadRefusal.ChunkedNotFinal;
            }

            _endsChunked = isChunked;
            _hasOtherCoding |= !isChunked;

            // RFC 9112 section 7.1: chunked has no parameters; one is an error.
            if (isChunked && semicolon >= 0)
            {
                return HeadRefusal.BadTransferEncoding;
            }
        }

        return HeadRefusal.None;
    }
}

/// <summary>How the body after a head is delimited, RFC 9112 section 6.3. None also stands for a Content-Length of 0.</summary>
internal enum BodyFraming : byte
{
    None,
    Length,
    Chunked,
}
