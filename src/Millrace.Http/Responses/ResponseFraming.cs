namespace Millrace.Http;

/// <summary>
/// Collects what a response's head says about its body and its connection, line by line, as <see cref="MessageFraming"/> does for requests
/// and as strictly: a head whose message end two readers could interpret differently is refused, even if the RFC would let a client repair
/// it.
/// </summary>
internal struct ResponseFraming
{
    /// <summary>Its fields that frame a request do so for a response.</summary>
    private MessageFraming _fields;
    private bool _hasLength;
    private bool _hasTransferEncoding;

    public static ResponseFraming Empty => default;

    /// <summary>-1 if there is none.</summary>
    public readonly long ContentLength => _hasLength ? _fields.ContentLength : -1;

    public readonly bool KeepsAlive(HttpVersion version) => _fields.KeepsAlive(version);

    public HeadRefusal Add(FieldName name, ReadOnlySpan<byte> value)
    {
        if (name is not (FieldName.Connection or FieldName.ContentLength or FieldName.TransferEncoding))
        {
            return HeadRefusal.None;
        }

        _hasLength |= name == FieldName.ContentLength;
        _hasTransferEncoding |= name == FieldName.TransferEncoding;
        return _fields.Add(name, value, isRepeated: false);
    }

    /// <summary>Checks the fields together, after the last one.</summary>
    public readonly HeadRefusal Conclude(int status, HttpVersion version, bool isForHead, out ResponseBodyFraming body)
    {
        body = ResponseBodyFraming.None;
        HeadRefusal refusal = _fields.Conclude(version, hasHost: true);
        if (refusal != HeadRefusal.None)
        {
            return refusal;
        }

        if (status < 200 || status == 204)
        {
            // RFC 9112 section 6.1 and RFC 9110 section 8.6 forbid both fields here: a sender that announces a body may send it.
            return _hasTransferEncoding || ContentLength > 0 ? HeadRefusal.BodyNotAllowed : HeadRefusal.None;
        }

        if (!isForHead && status != 304)
        {
            body = _hasTransferEncoding ? ResponseBodyFraming.Chunked
                : !_hasLength ? ResponseBodyFraming.UntilClose
                : ContentLength > 0 ? ResponseBodyFraming.Length
                : ResponseBodyFraming.None;
        }

        return HeadRefusal.None;
    }
}
