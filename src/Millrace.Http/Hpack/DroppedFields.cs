namespace Millrace.Http;

/// <summary>
/// For blocks nobody wants: of a stream that was refused or reset, they still change the table (RFC 9113 section 4.3).
/// </summary>
internal readonly struct DroppedFields : IHpackSink
{
    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, FieldSensitivity sensitivity, int staticIndex)
    {
        // To drop them is all there is to do.
    }
}
