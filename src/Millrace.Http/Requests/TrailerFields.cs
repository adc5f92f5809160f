namespace Millrace.Http;

/// <summary>The trailer fields of a request, RFC 9113 section 8.1: checked, and dropped like HTTP/1.1 trailers.</summary>
/// <param name="bytesMax">The maximum size of a head: a byte of a block can refer to an entry of 4 KB, and each would be checked.</param>
internal struct TrailerFields(int bytesMax) : IHpackSink
{
    private long _bytesLeft = bytesMax;

    /// <summary>The first error: the trailers are too large, malformed, or valid.</summary>
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
