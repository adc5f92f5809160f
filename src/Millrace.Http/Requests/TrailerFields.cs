namespace Millrace.Http;

/// <summary>The fields behind a request's content, RFC 9113 section 8.1: judged, and dropped as HTTP/1.1's trailers are.</summary>
/// <param name="bytesMax">As much as a head may be: a byte of a block can name an entry of 4 KB, and each would be judged.</param>
internal struct TrailerFields(int bytesMax) : IHpackSink
{
    private long _bytesLeft = bytesMax;

    /// <summary>What was wrong first: these are too large, malformed or nothing.</summary>
    public FieldsRefusal Refusal { get; private set; }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex)
    {
        if (Refusal == FieldsRefusal.None)
        {
            _bytesLeft -= name.Length + value.Length;
            Refusal = _bytesLeft < 0 ? FieldsRefusal.HeadTooLarge
                : !name.IsEmpty && name[0] == ':' ? FieldsRefusal.MisplacedPseudoField
                : FieldRules.Judge(name, value, staticIndex);
        }
    }
}
