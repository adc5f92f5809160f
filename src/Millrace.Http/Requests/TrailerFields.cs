namespace Millrace.Http;

/// <summary>The fields behind a request's content, RFC 9113 section 8.1: judged, and dropped as HTTP/1.1's trailers are.</summary>
internal struct TrailerFields : IHpackSink
{
    /// <summary>What was wrong first: these are malformed or nothing.</summary>
    public FieldsRefusal Refusal { get; private set; }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex)
    {
        if (Refusal == FieldsRefusal.None)
        {
            Refusal = !name.IsEmpty && name[0] == ':'
                ? FieldsRefusal.MisplacedPseudoField
                : FieldRules.Judge(name, value, staticIndex);
        }
    }
}
